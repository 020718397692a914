//! What kind of object a document holds, from its lines alone: most documents of a repository need no parser.

/// What a look at the lines tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sniffed<'a> {
    /// An object of this kind; the name if the lines show it.
    Object { kind: &'a str, name: Option<&'a str> },
    /// Only a parser can tell.
    Unclear,
    /// No object: there is no `kind`.
    Nothing,
}

/// Looks at the lines of one document; no further than to a kind that is not `wanted`.
pub(super) fn sniff(text: &str, wanted: impl Fn(&str) -> bool) -> Sniffed<'_> {
    let mut root: Option<usize> = None;
    let mut kind = None;
    let mut name = None;
    let mut metadata: Option<Option<usize>> = None;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let content = content.trim_start_matches('\u{feff}').trim_end();
        if content.is_empty() || content.starts_with('#') || content == "---" || content == "..." {
            continue;
        }
        let root = *root.get_or_insert(indent);
        if indent == root {
            metadata = None;
            let Some((key, value)) = member(content) else {
                // A list at the root of a map may stand below its key; any other line is a text, a flow map or something rare.
                if content.starts_with("- ") && kind.is_some() {
                    continue;
                }
                return Sniffed::Unclear;
            };
            match key {
                "kind" if kind.is_some() => return Sniffed::Unclear,
                "kind" => match plain(value) {
                    Some(text) if wanted(text) => kind = Some(text),
                    Some(text) => return Sniffed::Object { kind: text, name: None },
                    None => return Sniffed::Unclear,
                },
                "metadata" if value.is_empty() => metadata = Some(None),
                "<<" => return Sniffed::Unclear,
                _ => {}
            }
        } else if let Some(inner) = &mut metadata {
            let inner = *inner.get_or_insert(indent);
            if let (true, Some(("name", value))) = (indent == inner, member(content)) {
                name = if name.is_some() { None } else { plain(value) };
            }
        }
    }
    kind.map_or(Sniffed::Nothing, |kind| Sniffed::Object { kind, name })
}

/// The kinds of a document, as far as lines show them: more than one where a `---` is missing between objects.
pub(super) fn kinds(text: &str) -> impl Iterator<Item = &str> {
    let indent_of = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let root = text.lines().find(|line| member(line.trim()).is_some()).map(indent_of).unwrap_or_default();
    text.lines().filter(move |line| indent_of(line) == root).filter_map(|line| match member(line.trim()) {
        Some(("kind", value)) => plain(value),
        _ => None,
    })
}

/// The texts that stand after `name:` anywhere.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| match member(line.trim_start_matches([' ', '-']).trim_end()) {
        Some(("name", value)) => plain(value),
        _ => None,
    })
}

fn member(content: &str) -> Option<(&str, &str)> {
    let (key, value) = content.split_once(':')?;
    if !(value.is_empty() || value.starts_with([' ', '\t'])) {
        return None;
    }
    let key = unquoted(key.trim_end())?;
    (!key.is_empty() && !key.starts_with(['-', '?', '[', '{', '!', '&', '*', '|', '>', '%', '@', '`']))
        .then(|| (key, without_comment(value.trim())))
}

fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    value.find(" #").map_or(value, |start| value[..start].trim_end())
}

/// A scalar on one line without anything that needs a parser.
fn plain(value: &str) -> Option<&str> {
    let text = unquoted(value)?;
    (!text.is_empty() && !text.starts_with(['*', '&', '!', '|', '>', '{', '[', '%', '@', '`', '?'])).then_some(text)
}

fn unquoted(text: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote)?;
            return (!inner.contains(['"', '\'', '\\'])).then_some(inner);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{Sniffed, kinds, names, sniff};

    #[track_caller]
    fn case(text: &str, expected: &Sniffed<'_>) {
        assert_eq!(sniff(text, |_| true), *expected, "{text}");
    }

    fn object<'a>(kind: &'a str, name: &'a str) -> Sniffed<'a> {
        Sniffed::Object { kind, name: Some(name) }
    }

    #[test]
    fn block_maps_show_kind_and_name() {
        case("kind: Service\nmetadata:\n  name: shop # ours\n", &object("Service", "shop"));
        case(
            "# a\n---\n\"kind\": 'Service'\nmetadata:\n    labels:\n        name: other\n    name: \"shop\"\n",
            &object("Service", "shop"),
        );
        case("  kind: Service\n  metadata:\n    name: shop\n  spec:\n    name: other\n", &object("Service", "shop"));
        case("kind: Service\nmetadata:\n  labels:\n  - a\n", &Sniffed::Object { kind: "Service", name: None });
        case("kind: Service\nmetadata: {name: shop}\n", &Sniffed::Object { kind: "Service", name: None });
        case("kind: List\nitems:\n- kind: Service\n", &Sniffed::Object { kind: "List", name: None });
        case("kind: Service\r\nmetadata:\r\n  name: shop\r\n", &object("Service", "shop"));
    }

    #[test]
    fn what_needs_a_parser_is_left_to_it() {
        for text in [
            "{\"kind\": \"Service\"}",
            "kind: &kind Service\n",
            "kind: \"Serv\\x69ce\"\n",
            "<<: *base\n",
            "kind: A\nkind: B\n",
            "? kind\n: Service\n",
        ] {
            case(text, &Sniffed::Unclear);
        }
    }

    #[test]
    fn other_yaml_is_nothing() {
        case("replicaCount: 1\nimage:\n  kind: x\n", &Sniffed::Nothing);
        case("", &Sniffed::Nothing);
    }

    #[test]
    fn kinds_are_found_at_the_root() {
        let text = "# kind: Not\nkind: A\nspec:\n  kind: B\n- kind: C\n'kind': D # d\nkind:\n";
        assert_eq!(kinds(text).collect::<Vec<_>>(), ["A", "D"]);
        assert_eq!(kinds("  kind: A\n  kind: B\nkind: C\n").collect::<Vec<_>>(), ["A", "B"]);
    }

    #[test]
    fn names_are_found_at_any_depth() {
        let text = "a:\n  name: x\nb:\n- name: 'y'\n- rename: z\n";
        assert_eq!(names(text).collect::<Vec<_>>(), ["x", "y"]);
    }
}
