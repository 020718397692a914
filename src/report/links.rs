//! Addresses of files and commits, where the files of a repository can be looked at.

use std::fmt::Write as _;

use crate::model::Place;

/// Longer addresses are not used: they would fill a report of their own.
const LONGEST: usize = 500;

/// Where the files of the rendered commit can be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The repository's address.
    repository: Option<String>,
    /// The commit that was rendered.
    pub revision: Option<String>,
    /// The folder that places are relative to, in the repository; empty for its root.
    folder: String,
    /// Where the whole report can be looked at, such as the run that made it.
    pub whole: Option<String>,
}

impl Links {
    /// Links below a repository's address, such as `https://github.com/owner/name`; GitLab's ends in `/-`. An address that
    /// is none, and a revision that cannot stand in one, count as absent.
    pub fn new(repository: Option<&str>, revision: Option<&str>, folder: &str, whole: Option<&str>) -> Self {
        let is_name = |revision: &&str| {
            let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/');
            !revision.is_empty() && revision.len() <= LONGEST && revision.chars().all(allowed)
        };
        Self {
            repository: repository.filter(|address| is_address(address)).map(|address| address.trim_end_matches('/').to_owned()),
            revision: revision.filter(is_name).map(str::to_owned),
            folder: folder.trim_matches('/').to_owned(),
            whole: whole.filter(|address| is_address(address)).map(str::to_owned),
        }
    }

    /// The file of a place as the repository names it.
    pub fn path(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }

    /// The address of a line; none where repository or commit are not known.
    pub fn line(&self, place: &Place) -> Option<String> {
        let (repository, revision) = (self.repository.as_ref()?, self.revision.as_ref()?);
        let address = format!("{repository}/blob/{revision}/{}#L{}", encoded(&self.path(&place.path)), place.position.line);
        (address.len() <= 2 * LONGEST).then_some(address)
    }

    /// The address of the rendered commit.
    pub fn commit(&self) -> Option<String> {
        Some(format!("{}/commit/{}", self.repository.as_ref()?, self.revision.as_ref()?))
    }
}

/// Whether a text is an address that can stand anywhere without being read otherwise.
pub fn is_address(text: &str) -> bool {
    let allowed = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '~' | '/' | ':' | '?' | '&' | '=' | '%' | '+' | '#')
    };
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| host.starts_with(|first: char| first.is_ascii_alphanumeric()))
        && text.len() <= LONGEST
        && text.chars().all(allowed)
}

/// A path with every character encoded that could end it or mean something in an address.
fn encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    fn place(path: &str) -> Place {
        Place { path: path.into(), position: Position { line: 3, column: 11 } }
    }

    #[test]
    fn a_line_has_an_address_below_the_repository() {
        let links = Links::new(Some("https://github.com/acme/shop/"), Some("0123abc"), "deploy", None);
        assert_eq!(links.line(&place("shop.yaml")).as_deref(), Some("https://github.com/acme/shop/blob/0123abc/deploy/shop.yaml#L3"));
        assert_eq!(links.commit().as_deref(), Some("https://github.com/acme/shop/commit/0123abc"));
    }

    #[test]
    fn no_path_ends_its_address() {
        let links = Links::new(Some("https://gitlab.com/acme/shop/-"), Some("0123abc"), "", None);
        let address = links.line(&place("a) [x](//y?z#ä.yaml")).expect("an address");
        assert_eq!(address, "https://gitlab.com/acme/shop/-/blob/0123abc/a%29%20%5Bx%5D%28//y%3Fz%23%C3%A4.yaml#L3");
    }

    #[test]
    fn what_is_no_address_links_nowhere() {
        for address in ["javascript:alert(1)", "https://x y", "https://x)", "https://", "//x", ""] {
            assert_eq!(
                Links::new(Some(address), Some("0123abc"), "", Some(address)),
                Links::new(None, Some("0123abc"), "", None),
                "{address}"
            );
        }
        assert_eq!(Links::new(Some("https://x"), Some("a b"), "", None).commit(), None);
    }
}
