//! JSON pointers (RFC 6901), key by key: the one place that knows how a key is written in one.

use std::borrow::Cow;

/// The tokens of a pointer as keys; the empty pointer has none.
pub fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| unescape(token).into_owned()).collect()
}

/// The pointer of some keys.
pub fn join<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    keys.into_iter().fold(String::new(), |pointer, key| child(&pointer, key))
}

/// The pointer of the field `key` in the map at `pointer`.
pub fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escape(key))
}

/// A key as one token of a pointer.
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) { key.replace('~', "~0").replace('/', "~1").into() } else { key.into() }
}

/// A token of a pointer as a key.
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
}

#[cfg(test)]
mod tests {
    use super::{child, join, tokens};

    #[test]
    fn a_pointer_is_its_tokens() {
        for pointer in ["", "/spec", "/metadata/annotations/a~1b~0c", "/~01", "/"] {
            assert_eq!(join(&tokens(pointer)), pointer);
        }
        assert_eq!(tokens("/a~1b/~01"), ["a/b", "~1"]);
        assert_eq!(child("/a", "b/c"), "/a/b~1c");
    }
}
