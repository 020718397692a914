//! Text of a repository as Markdown that shows exactly it, and nothing more: no markup, no HTML, no mention, no link.
//!
//! Escaping letters is not enough: a forge looks for `@name`, `#1` and addresses after Markdown is read. It leaves code
//! alone, so what comes from a repository is code, and of messages only plain words are prose.

use super::super::one_line;

/// Names are cut to this many characters.
const LONGEST_NAME: usize = 200;

/// Messages are cut to this many characters.
const LONGEST_MESSAGE: usize = 1_000;

/// Returns a name as a code span, on one line. Not for cells of tables.
pub(super) fn code(text: &str) -> String {
    span(&clipped(&one_line(text), LONGEST_NAME))
}

/// Returns a name as a code span of a table's cell.
pub(super) fn cell(text: &str) -> String {
    let text = clipped(&one_line(text), LONGEST_NAME);
    let mut cell = String::new();
    let mut rest = text.as_str();
    // In a cell `\|` is a bar, wherever it stands: a backslash before a bar needs a span of its own.
    while let Some(backslash) = rest.find("\\|") {
        let (before, after) = rest.split_at(backslash + 1);
        cell.push_str(&span(before));
        cell.push_str("<!-- -->");
        rest = after;
    }
    cell.push_str(&span(rest));
    cell.replace('|', "\\|")
}

/// Returns a name as text of HTML, such as a `<summary>`, inside of which nothing is Markdown.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clipped(&one_line(text), LONGEST_NAME).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Returns a message as prose: what stands in backticks, and every word that could be more than a word, is code.
/// Lines are kept. Never the beginning of a line, where a word can be a list or a heading.
pub(super) fn prose(text: &str) -> String {
    let text = clipped(text, LONGEST_MESSAGE);
    let lines = text.lines().map(|line| {
        let mut tokens = Vec::new();
        for (index, segment) in line.split('`').enumerate() {
            if index % 2 == 1 { push(&mut tokens, Token::Code(segment.to_owned())) } else { words(&mut tokens, segment) }
        }
        tokens.iter().map(Token::written).collect::<String>().trim().to_owned()
    });
    lines.collect::<Vec<_>>().join("<br>")
}

/// Returns lines as a fenced block that none of them can end.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{}{end}{fence}\n", super::super::visible(text))
}

/// A part of a message.
enum Token {
    Plain(String),
    Code(String),
}

impl Token {
    fn written(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Code(text) => span(&one_line(text)),
        }
    }
}

/// Adds a token. Code next to code is one: between two spans no backtick may be in doubt.
fn push(tokens: &mut Vec<Token>, token: Token) {
    match (tokens.last_mut(), token) {
        (Some(Token::Code(before)), Token::Code(more)) => before.push_str(&more),
        (_, Token::Plain(text)) if text.is_empty() => {}
        (_, token) => tokens.push(token),
    }
}

fn words(tokens: &mut Vec<Token>, segment: &str) {
    for (index, word) in segment.split(char::is_whitespace).enumerate() {
        if index > 0 {
            push(tokens, Token::Plain(" ".to_owned()));
        }
        let core = word.trim_start_matches(['(', '"', '\'']);
        let before = &word[..word.len() - core.len()];
        let trimmed = core.trim_end_matches(['.', ',', ';', ':', '?', ')', '"', '\'']);
        let after = &core[trimmed.len()..];
        push(tokens, Token::Plain(before.to_owned()));
        if is_plain(trimmed) {
            push(tokens, Token::Plain(trimmed.to_owned()));
        } else {
            push(tokens, Token::Code(trimmed.to_owned()));
        }
        push(tokens, Token::Plain(after.to_owned()));
    }
}

/// Whether a word is no more than a word or a number in the eyes of any forge.
fn is_plain(word: &str) -> bool {
    let is_hash = word.len() >= 7 && word.chars().all(|character| character.is_ascii_hexdigit());
    let number = word.strip_suffix('%').unwrap_or(word);
    let is_number = !number.is_empty() && number.len() <= 6 && number.chars().all(|character| character.is_ascii_digit());
    let is_word = word.split(['-', '\'', '’']).all(|part| !part.is_empty() && part.chars().all(char::is_alphabetic));
    let is_sign = matches!(word, "" | "→" | "…" | "–");
    !is_hash && (is_number || is_word || is_sign)
}

/// The text between backticks that are not in it.
fn span(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    // One space is taken off each end where both have one.
    let is_padded = text.starts_with('`') || text.ends_with('`') || (text.starts_with(' ') && text.ends_with(' '));
    let pad = if is_padded && !text.trim_matches(' ').is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

/// The text, cut to so many characters.
fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_code_whatever_is_in_it() {
        assert_eq!(code("prod/shop"), "`prod/shop`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a``"), "``` `a`` ```");
        assert_eq!(code("a\n# b"), "`a\\n# b`");
        assert_eq!(code(" a "), "`  a  `");
        assert_eq!(code(""), "(empty)");
        assert_eq!(code(&"x".repeat(10_000)).chars().count(), 203);
    }

    #[test]
    fn a_bar_stays_in_its_cell() {
        assert_eq!(cell("version~a|b"), "`version~a\\|b`");
        assert_eq!(cell(r"a\|b"), r"`a\`<!-- -->`\|b`");
    }

    #[test]
    fn of_a_message_only_plain_words_are_prose() {
        assert_eq!(prose("the weights of `/spec` sum to 120, not 100"), "the weights of `/spec` sum to 120, not 100");
        assert_eq!(prose("ask @team, see #1 or GH-1 (https://x.example)"), "ask `@team`, see `#1` or `GH-1` (`https://x.example`)");
        assert_eq!(prose("<img src=x> **bold** [a](b)"), "`<img` `src=x>` `**bold**` `[a](b`)");
        assert_eq!(prose("name=`shop`, ok"), "`name=shop`, ok");
        assert_eq!(prose("first\nsecond"), "first<br>second");
        assert_eq!(prose("an odd ` backtick @team"), "an odd ` backtick @team`");
    }

    #[test]
    fn no_line_ends_a_fence() {
        assert_eq!(fenced("diff", "+a\n"), "```diff\n+a\n```\n");
        assert_eq!(fenced("diff", " ````\n"), "`````diff\n ````\n`````\n");
        assert_eq!(fenced("diff", "+\u{202e}\r"), "```diff\n+\\u{202e}\\u{d}\n```\n");
    }

    #[test]
    fn a_summary_holds_no_element() {
        assert_eq!(html("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
    }

    /// What a reader sees of the code in Markdown, and the other text.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's events, of which three are looked at")]
    fn read(markdown: &str) -> (String, String) {
        use pulldown_cmark::{Event, Options, Parser};

        let (mut codes, mut texts) = (String::new(), String::new());
        for event in Parser::new_ext(markdown, Options::all()) {
            match event {
                Event::Code(code) => codes.push_str(&code),
                Event::Text(text) => texts.push_str(&text),
                Event::InlineHtml(html) => assert!(["<!-- -->", "<br>"].contains(&&*html), "{html}"),
                Event::Html(html) => panic!("HTML: {html}"),
                _ => {}
            }
        }
        (codes, texts)
    }

    proptest::proptest! {
        #[test]
        fn code_and_cells_show_exactly_the_name(name in "[`|\\\\ <>@#*_a\n&;\\[\\]()!~$:-]{1,12}") {
            let shown = one_line(&name);
            proptest::prop_assume!(!shown.trim_matches(' ').is_empty());
            proptest::prop_assert_eq!(&read(&code(&name)).0, &shown);
            let table = format!("| a | b |\n|---|---|\n| x | {} |\n", cell(&name));
            proptest::prop_assert_eq!(read(&table), (shown, "abx".to_owned()));
        }

        #[test]
        fn prose_keeps_every_letter_and_leaves_no_sign_outside_of_code(message in "[`|\\\\ <>@#*_a1\\n&;.,(\\[\\])!~$:/w-]{0,24}") {
            let (_, texts) = read(&format!("- at: {}", prose(&message)));
            let harmless = |character: char| character.is_alphanumeric() || " .,;:?()\"'-%→…–".contains(character);
            proptest::prop_assert!(texts.chars().all(harmless), "{texts:?}");
        }
    }
}
