//! The order of keys: as people sort, with numbers by their size.

use std::cmp::Ordering;

/// Compares two keys: signs before numbers before letters, and `a2` before `a10`.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    // What most keys are, and there the bytes say it.
    if is_word(left) && is_word(right) { left.cmp(right) } else { tokens(left).cmp(tokens(right)) }
}

/// The variants are in the order in which they sort.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Token<'a> {
    Other(char),
    Number { digits: usize, number: &'a str, length: usize },
    Letter(char),
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match rest.bytes().take_while(u8::is_ascii_digit).count() {
            0 => first.len_utf8(),
            digits => digits,
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(if first.is_ascii_digit() {
            let number = word.trim_start_matches('0');
            Token::Number { digits: number.len(), number, length }
        } else if first.is_alphabetic() {
            Token::Letter(first)
        } else {
            Token::Other(first)
        })
    })
}
