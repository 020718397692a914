//! A commit as the files that builds are made from.

use camino::{Utf8Path, Utf8PathBuf};

use crate::build::{Below, Kind, Tree};
use crate::git::{Base, Entry, Repository};

/// The files of a commit, by the absolute paths that they would have in the working tree.
pub(super) struct BaseTree<'a> {
    repository: &'a Repository,
    base: &'a Base,
    top: Utf8PathBuf,
}

impl<'a> BaseTree<'a> {
    /// The commit `base`, of whose repository `root` is the folder `prefix`.
    pub(super) fn new(repository: &'a Repository, base: &'a Base, root: &Utf8Path, prefix: &str) -> Self {
        let depth = prefix.split('/').filter(|part| !part.is_empty()).count();
        let top = root.ancestors().nth(depth).unwrap_or(root).to_owned();
        Self { repository, base, top }
    }

    /// The absolute path of one in the repository.
    pub(super) fn absolute(&self, path: &str) -> Utf8PathBuf {
        self.top.join(path)
    }

    fn below<'p>(&self, path: &'p Utf8Path) -> Option<&'p str> {
        path.strip_prefix(&self.top).ok().map(Utf8Path::as_str)
    }
}

/// What git cannot read is not there: whoever builds says what is missing.
impl Tree for BaseTree<'_> {
    fn kind(&self, path: &Utf8Path) -> Option<Kind> {
        let entry = self.repository.entry_at(self.base, self.below(path)?).ok()??;
        Some(match entry {
            Entry::Folder => Kind::Folder,
            Entry::File => Kind::File,
            Entry::Link => Kind::Link,
        })
    }

    fn read(&self, path: &Utf8Path) -> Option<Vec<u8>> {
        let is_file = self.kind(path) == Some(Kind::File);
        is_file.then(|| self.repository.read_at(self.base, self.below(path)?).ok()?)?
    }

    fn below(&self, folder: &Utf8Path) -> Vec<Below> {
        let entries = self.below(folder).and_then(|folder| self.repository.entries_at(self.base, folder).ok());
        let below = |(path, entry): (String, Entry)| match entry {
            Entry::File => Some(Below::File(self.absolute(&path))),
            Entry::Link => Some(Below::Link(self.absolute(&path))),
            Entry::Folder => None,
        };
        entries.unwrap_or_default().into_iter().filter_map(below).collect()
    }
}
