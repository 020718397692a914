//! Conditions on texts of a request, and what can be said about them without running anybody's expressions.

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// It cannot be told.
    Unknown,
}

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// This one.
    Text(String),
    /// Some text that fits the expression.
    Fitting(String),
}

/// A condition on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// The whole text.
    Exact(&'a str),
    /// The text's start.
    Prefix(&'a str),
    /// A path, or one below it by whole elements.
    Below(&'a str),
    /// An expression.
    Pattern(&'a str),
    /// Any text.
    Present,
}

impl Verdict {
    /// `Yes` when the claim is true.
    pub(super) fn from_claim(claim: bool) -> Self {
        if claim { Self::Yes } else { Self::No }
    }

    /// Whether all hold. One that does not outweighs those that cannot be told.
    pub(super) fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::Yes;
        for verdict in verdicts {
            match verdict {
                Self::Yes => {}
                Self::No => return Self::No,
                Self::Unknown => all = Self::Unknown,
            }
        }
        all
    }

    /// Whether any holds. One that does outweighs those that cannot be told.
    pub(super) fn any(verdicts: impl IntoIterator<Item = Self>) -> Self {
        Self::all(verdicts.into_iter().map(Self::inverted)).inverted()
    }

    /// `Yes` for `No`, and the other way round.
    pub(super) fn inverted(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl Condition<'_> {
    /// Whether the text satisfies the condition; no text satisfies none.
    pub(super) fn holds(self, value: Option<&Value>) -> Verdict {
        match (self, value) {
            (_, None) => Verdict::No,
            (Self::Present, Some(_)) | (Self::Prefix("" | "/") | Self::Below("" | "/"), Some(Value::Fitting(_))) => Verdict::Yes,
            (Self::Exact(wanted), Some(Value::Text(text))) => Verdict::from_claim(text == wanted),
            (Self::Prefix(wanted), Some(Value::Text(text))) => Verdict::from_claim(text.starts_with(wanted)),
            (Self::Below(wanted), Some(Value::Text(text))) => Verdict::from_claim(is_below(text, wanted)),
            (Self::Pattern(pattern), Some(Value::Text(text))) => fits(pattern, text),
            (Self::Pattern(pattern), Some(Value::Fitting(known))) if pattern == known => Verdict::Yes,
            (Self::Exact(_) | Self::Prefix(_) | Self::Below(_) | Self::Pattern(_), Some(Value::Fitting(_))) => Verdict::Unknown,
        }
    }

    /// A text that satisfies the condition.
    pub(super) fn example(self) -> Value {
        match self {
            Self::Exact(text) | Self::Prefix(text) | Self::Below(text) => Value::Text(text.to_owned()),
            Self::Pattern(pattern) => {
                Word::parse(pattern).map_or_else(|| Value::Fitting(pattern.to_owned()), |word| Value::Text(word.text))
            }
            Self::Present => Value::Text("1".to_owned()),
        }
    }
}

/// Whether the path is `above`, or lies below it by whole elements.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a text fits an expression. Gateways differ in whether it has to fit as a whole, and in the dialect.
fn fits(pattern: &str, text: &str) -> Verdict {
    let Some(word) = Word::parse(pattern) else { return Verdict::Unknown };
    let is_whole = match (word.is_open_before, word.is_open_after) {
        (false, false) => text == word.text,
        (true, false) => text.ends_with(&word.text),
        (false, true) => text.starts_with(&word.text),
        (true, true) => text.contains(&word.text),
    };
    match (is_whole, text.contains(&word.text)) {
        (true, _) => Verdict::Yes,
        (false, true) => Verdict::Unknown,
        (false, false) => Verdict::No,
    }
}

/// An expression that every dialect reads alike: a word, and perhaps `.*` at its ends.
struct Word {
    text: String,
    is_open_before: bool,
    is_open_after: bool,
}

impl Word {
    fn parse(pattern: &str) -> Option<Self> {
        let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
        let pattern = pattern.strip_suffix('$').unwrap_or(pattern);
        let (is_open_before, pattern) = pattern.strip_prefix(".*").map_or((false, pattern), |rest| (true, rest));
        let (is_open_after, pattern) = pattern.strip_suffix(".*").map_or((false, pattern), |rest| (true, rest));
        let mut text = String::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => text.push(characters.next().filter(char::is_ascii_punctuation)?),
                '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => return None,
                plain => text.push(plain),
            }
        }
        Some(Self { text, is_open_before, is_open_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(condition: Condition<'_>, text: &str, expected: Verdict) {
        assert_eq!(condition.holds(Some(&Value::Text(text.to_owned()))), expected, "{condition:?} on `{text}`");
    }

    #[test]
    fn conditions_on_plain_texts_are_decided() {
        case(Condition::Exact("a"), "a", Verdict::Yes);
        case(Condition::Exact("a"), "ab", Verdict::No);
        case(Condition::Prefix("/a"), "/ab", Verdict::Yes);
        case(Condition::Below("/a"), "/ab", Verdict::No);
        case(Condition::Below("/a/"), "/a", Verdict::Yes);
        case(Condition::Below("/"), "/a", Verdict::Yes);
        case(Condition::Present, "", Verdict::Yes);
    }

    #[test]
    fn only_expressions_that_everybody_reads_alike_are_decided() {
        case(Condition::Pattern("beta.*"), "beta-1", Verdict::Yes);
        case(Condition::Pattern("^beta$"), "beta", Verdict::Yes);
        case(Condition::Pattern(r"v1\.2"), "v1.2", Verdict::Yes);
        case(Condition::Pattern("beta"), "alpha", Verdict::No);
        case(Condition::Pattern("beta"), "a-beta", Verdict::Unknown);
        case(Condition::Pattern("b(e|a)ta"), "beta", Verdict::Unknown);
        case(Condition::Pattern(r"\d"), "1", Verdict::Unknown);
    }

    #[test]
    fn a_text_that_fits_an_expression_fits_this_one_and_nothing_else_is_known_of_it() {
        let some = Condition::Pattern("[0-9]+").example();
        assert_eq!(Condition::Pattern("[0-9]+").holds(Some(&some)), Verdict::Yes);
        assert_eq!(Condition::Pattern("[0-7]+").holds(Some(&some)), Verdict::Unknown);
        assert_eq!(Condition::Exact("1").holds(Some(&some)), Verdict::Unknown);
        assert_eq!(Condition::Exact("1").holds(None), Verdict::No);
    }

    #[test]
    fn what_fails_outweighs_what_is_unknown() {
        use Verdict::{No, Unknown, Yes};
        assert_eq!([Verdict::all([Yes, Unknown, No]), Verdict::all([Yes, Unknown]), Verdict::all([])], [No, Unknown, Yes]);
        assert_eq!([Verdict::any([No, Unknown, Yes]), Verdict::any([No, Unknown]), Verdict::any([])], [Yes, Unknown, No]);
    }
}
