//! JSON pointers, token by token.

/// The tokens of a pointer as keys; the empty pointer has none.
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// A key as one token of a pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The pointer of some keys.
pub(super) fn join<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    keys.into_iter().flat_map(|key| ["/".to_owned(), escape(key)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{join, tokens};

    #[test]
    fn a_pointer_is_its_tokens() {
        for pointer in ["", "/spec", "/metadata/annotations/a~1b~0c", "/~01", "/"] {
            assert_eq!(join(&tokens(pointer)), pointer);
        }
        assert_eq!(tokens("/a~1b/~01"), ["a/b", "~1"]);
    }
}
