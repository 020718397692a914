//! The tokens of a Lua source, as far as a rewrite needs them: where each begins and ends, and what sort it is.
//!
//! Knows no grammar. Comments and blanks are left out.

/// A token and its bytes in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) kind: TokenKind,
}

/// The sorts of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Word,
    Number,
    Text,
    /// One character of punctuation.
    Symbol,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this name, keyword or symbol.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Symbol) && self.text == text
    }

    pub(super) fn is_literal(&self) -> bool {
        matches!(self.kind, TokenKind::Number | TokenKind::Text)
    }
}

/// The tokens of a source in order. A source that does not compile gives some tokens, too.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(character) = source[start..].chars().next() {
        let rest = &source[start..];
        let (length, kind) = if let Some(comment) = rest.strip_prefix("--") {
            let length = long_bracket(comment).unwrap_or_else(|| comment.find('\n').unwrap_or(comment.len()));
            (2 + length, None)
        } else if let Some(length) = long_bracket(rest) {
            (length, Some(TokenKind::Text))
        } else if matches!(character, '"' | '\'') {
            (quoted(rest), Some(TokenKind::Text))
        } else if is_word(character) {
            let kind = if character.is_ascii_digit() { TokenKind::Number } else { TokenKind::Word };
            (rest.find(|character| !is_word(character)).unwrap_or(rest.len()), Some(kind))
        } else {
            (character.len_utf8(), (!character.is_whitespace()).then_some(TokenKind::Symbol))
        };
        let text = &rest[..length.min(rest.len())];
        tokens.extend(kind.map(|kind| Token { start, text, kind }));
        start += text.len();
    }
    tokens
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Returns the length of the `[[…]]` that `text` starts with.
pub(super) fn long_bracket(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    let inner = inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    let begin = text.len() - inner.len();
    Some(inner.find(&close).map_or(text.len(), |end| begin + end + close.len()))
}

/// Returns the length of the `'…'` or `"…"` that `text` starts with.
fn quoted(text: &str) -> usize {
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((index, character)) = characters.next() {
        if Some(character) == quote {
            return index + character.len_utf8();
        }
        if character == '\\' {
            characters.next();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_hide_what_is_in_them() {
        let source = "a['in'] = \"\\\"do\" --[[ in ]] .. [=[ ]] in ]=] -- do\n--[ x\nf'\\\\' 0x1F 1.5e3";
        let words: Vec<_> = tokens(source).into_iter().map(|token| token.text).collect();
        assert_eq!(words, ["a", "[", "'in'", "]", "=", "\"\\\"do\"", ".", ".", "[=[ ]] in ]=]", "f", "'\\\\'", "0x1F", "1", ".", "5e3"]);
    }

    #[test]
    fn what_does_not_end_ends_with_the_source() {
        for source in ["'", "[[", "--[[", "\"\\", "a\u{e4}", "[=", ""] {
            assert!(tokens(source).iter().all(|token| token.end() <= source.len()), "{source}");
        }
    }
}
