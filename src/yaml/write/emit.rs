//! From a tree to text.

use std::borrow::Cow;

use super::quote::{self, Style};
use super::tree::Tree;

/// A longer key is written after `? `: readers look for its colon only so far.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Returns the text of one document.
pub(super) fn document(tree: &Tree<'_>) -> String {
    let mut text = String::new();
    match tree {
        Tree::Map(entries) if !entries.is_empty() => map(&mut text, entries, 0),
        Tree::List(items) if !items.is_empty() => list(&mut text, items, 0),
        Tree::Map(_) | Tree::List(_) | Tree::Bare(_) | Tree::Text(_) => inline(&mut text, tree, 0),
    }
    text
}

/// Writes the entries of a map. The first one stands where the text ends now, the others at `column`.
fn map(text: &mut String, entries: &[(Cow<'_, str>, Tree<'_>)], column: usize) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            indent(text, column);
        }
        let key = match quote::key_style(key) {
            Style::Plain => Cow::Borrowed(key.as_ref()),
            Style::Single => quote::single(key).into(),
            Style::Double | Style::Literal => quote::double(key).into(),
        };
        if key.len() > LONGEST_SIMPLE_KEY {
            text.push_str("? ");
            text.push_str(&key);
            text.push('\n');
            indent(text, column);
            text.push(':');
            nested(text, value, column);
            continue;
        }
        text.push_str(&key);
        text.push(':');
        match value {
            Tree::Map(entries) if !entries.is_empty() => {
                text.push('\n');
                indent(text, column + 2);
                map(text, entries, column + 2);
            }
            Tree::List(items) if !items.is_empty() => {
                text.push('\n');
                indent(text, column);
                list(text, items, column);
            }
            Tree::Map(_) | Tree::List(_) | Tree::Bare(_) | Tree::Text(_) => {
                text.push(' ');
                inline(text, value, column);
            }
        }
    }
}

fn list(text: &mut String, items: &[Tree<'_>], column: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            indent(text, column);
        }
        text.push('-');
        nested(text, item, column);
    }
}

/// Writes a value after a sign of one character.
fn nested(text: &mut String, tree: &Tree<'_>, column: usize) {
    text.push(' ');
    match tree {
        Tree::Map(entries) if !entries.is_empty() => map(text, entries, column + 2),
        Tree::List(items) if !items.is_empty() => list(text, items, column + 2),
        Tree::Map(_) | Tree::List(_) | Tree::Bare(_) | Tree::Text(_) => inline(text, tree, column),
    }
}

/// Writes what begins on this line; `column` is that of the map or list around it.
fn inline(text: &mut String, tree: &Tree<'_>, column: usize) {
    match tree {
        Tree::Map(_) => text.push_str("{}"),
        Tree::List(_) => text.push_str("[]"),
        Tree::Bare(bare) => text.push_str(bare),
        Tree::Text(string) => match quote::value_style(string) {
            Style::Plain => text.push_str(string),
            Style::Single => text.push_str(&quote::single(string)),
            Style::Double => text.push_str(&quote::double(string)),
            Style::Literal => return literal(text, string, column + 2),
        },
    }
    text.push('\n');
}

fn literal(text: &mut String, string: &str, column: usize) {
    text.push('|');
    if string.starts_with([' ', '\n']) {
        text.push('2');
    }
    let body = string.strip_suffix('\n');
    text.push_str(match body {
        None => "-",
        Some(body) if body.is_empty() || body.ends_with('\n') => "+",
        Some(_) => "",
    });
    text.push('\n');
    for line in body.unwrap_or(string).split('\n') {
        if !line.is_empty() {
            indent(text, column);
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn indent(text: &mut String, column: usize) {
    text.extend(std::iter::repeat_n(' ', column));
}
