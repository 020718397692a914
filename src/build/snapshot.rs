//! A folder outside of the repository that builds work in, gone when it is dropped.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

/// More than this is not copied: a kustomization is made from less.
const MOST_BYTES: usize = 256 * 1024 * 1024;
const MOST_FILES: usize = 50_000;

/// A private folder.
pub(super) struct Snapshot {
    folder: TempDir,
    root: Utf8PathBuf,
    bytes: usize,
    files: usize,
}

impl Snapshot {
    /// A new one.
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("rollout-build-").tempdir()?;
        // Programs tell where they are by the path without links.
        let root = folder.path().canonicalize()?;
        let root = Utf8PathBuf::from_path_buf(root).map_err(|_| io::Error::other("the folder for temporary files has no UTF-8 name"))?;
        fs::create_dir(root.join("home"))?;
        fs::create_dir(root.join("files"))?;
        Ok(Self { folder, root, bytes: 0, files: 0 })
    }

    /// The folder that programs may write to.
    pub(super) fn home(&self) -> Utf8PathBuf {
        self.root.join("home")
    }

    /// Where the file of an absolute path goes.
    pub(super) fn place_of(&self, path: &Utf8Path) -> Utf8PathBuf {
        let below: Utf8PathBuf = path.components().filter(|part| matches!(part, camino::Utf8Component::Normal(_))).collect();
        self.root.join("files").join(below)
    }

    /// Whether the file of an absolute path was written before.
    pub(super) fn holds(&self, path: &Utf8Path) -> bool {
        self.place_of(path).exists()
    }

    /// Writes the file of an absolute path.
    pub(super) fn write(&mut self, path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
        let place = self.place_of(path);
        self.bytes += bytes.len();
        self.files += 1;
        if self.bytes > MOST_BYTES || self.files > MOST_FILES {
            return Err(io::Error::other(format!("it is made from more than {MOST_FILES} files or {} MiB", MOST_BYTES >> 20)));
        }
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(place, bytes)
    }

    /// The text without the names of this folder, which are others at every run.
    pub(super) fn without_names(&self, text: &str) -> String {
        let named = [self.root.join("files"), self.root.clone(), Utf8PathBuf::from(self.folder.path().to_string_lossy().into_owned())];
        named.iter().fold(text.to_owned(), |text, name| text.replace(name.as_str(), ""))
    }
}
