//! A tree written whole or not at all.
//!
//! All content goes into a hidden staging folder first: a full disk or a read-only folder shows itself before anything
//! is touched. Then each file takes its place by a rename; should one of those fail, the ones before it are undone.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::compare::difference;
use super::error::DiskError;
use super::former::{self, Former};
use crate::files::Files;

/// What writing a tree came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// New and changed files, relative to the root.
    pub written: BTreeSet<String>,
    /// Files of former plans that are gone now.
    pub removed: BTreeSet<String>,
    /// How many files were right already and not touched.
    pub unchanged: usize,
}

/// Makes the folder hold these files. A file that is right already is not touched, nor is anything that is not ours.
///
/// Each file beside a `plan.yaml` that the new tree does not have is shown to `is_stale`; what that condemns is
/// removed, and so are folders that are empty then. `is_stale` should hold [`Former::is_ours`] and the caller's own
/// condition, for example that the plan belongs to an environment that was rendered.
///
/// # Errors
/// When something cannot be written. Everything is as it was then, unless the error is [`DiskError::Torn`].
pub fn write_tree(root: &Utf8Path, files: &Files, is_stale: &dyn Fn(&Former) -> bool) -> Result<Written, DiskError> {
    let mut written = Written { removed: former::stale(root, files, is_stale)?, ..Written::default() };
    for (path, bytes) in files.iter() {
        let place = root.join(checked(path)?);
        if difference(&place, bytes)?.is_some() {
            ensure_free(root, &place)?;
            written.written.insert(path.to_owned());
        } else {
            written.unchanged += 1;
        }
    }
    if written.written.is_empty() && written.removed.is_empty() {
        return Ok(written);
    }
    let mut change = Change::begin(root)?;
    match change.carry_out(files, &written) {
        Ok(()) => {
            change.prune(&written.removed);
            Ok(written)
        }
        Err(failure) => Err(change.undo(failure)),
    }
}

/// Returns the path as one that stays inside the root.
pub(super) fn checked(path: &str) -> Result<&Utf8Path, DiskError> {
    let is_plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0', ':']);
    let checked = Utf8Path::new(path);
    let is_inside = path.split('/').all(is_plain) && checked.components().all(|part| matches!(part, Utf8Component::Normal(_)));
    if is_inside { Ok(checked) } else { Err(DiskError::Outside { path: path.to_owned() }) }
}

/// Finds what stands in the way before anything is written.
fn ensure_free(root: &Utf8Path, place: &Utf8Path) -> Result<(), DiskError> {
    for path in place.ancestors().take_while(|path| *path != root) {
        let Ok(metadata) = fs::symlink_metadata(path) else { continue };
        let found = metadata.file_type();
        if found.is_symlink() {
            return Err(DiskError::Link { path: path.to_owned() });
        }
        let is_right = if path == place { found.is_file() } else { found.is_dir() };
        if !is_right {
            let found = if found.is_dir() { "a folder" } else { "a file" };
            return Err(DiskError::InTheWay { path: path.to_owned(), found });
        }
    }
    Ok(())
}

/// A path and why it could not be written.
type Failure = (Utf8PathBuf, io::Error);

/// A change of a tree that can still be undone.
struct Change<'a> {
    root: &'a Utf8Path,
    /// `new/…` holds what will be, `old/…` what was. Removed with its content in the end.
    staging: TempDir,
    new: Utf8PathBuf,
    old: Utf8PathBuf,
    /// Folders that were not there, parents first.
    folders: Vec<Utf8PathBuf>,
    /// Files that have taken their place, each with whether there was one before.
    placed: Vec<(Utf8PathBuf, Before)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// It lies in `old` under its number.
    Saved(usize),
}

impl<'a> Change<'a> {
    fn begin(root: &'a Utf8Path) -> Result<Change<'a>, DiskError> {
        let mut folders = Vec::new();
        let prepared = make_folders(root, &mut folders).and_then(|()| {
            // Inside the root: a rename must not cross file systems.
            let staging = tempfile::Builder::new().prefix(".rollout-").tempdir_in(root).map_err(|error| (root.to_owned(), error))?;
            let path = Utf8PathBuf::from_path_buf(staging.path().to_owned())
                .map_err(|_| (root.to_owned(), io::ErrorKind::InvalidFilename.into()))?;
            let (new, old) = (path.join("new"), path.join("old"));
            for folder in [&new, &old] {
                fs::create_dir(folder).map_err(|error| (folder.clone(), error))?;
            }
            Ok((staging, new, old))
        });
        match prepared {
            Ok((staging, new, old)) => Ok(Change { root, staging, new, old, folders, placed: Vec::new() }),
            Err((path, source)) => {
                remove_folders(&folders);
                Err(DiskError::Write { path, source })
            }
        }
    }

    fn carry_out(&mut self, files: &Files, written: &Written) -> Result<(), Failure> {
        let staged = self.stage(files, &written.written)?;
        for (path, content) in written.written.iter().zip(staged) {
            let place = self.root.join(path);
            self.place(&content, place.clone()).map_err(|error| (place, error))?;
        }
        for path in &written.removed {
            let place = self.root.join(path);
            let number = self.placed.len();
            fs::rename(&place, self.saved(number)).map_err(|error| (place.clone(), error))?;
            self.placed.push((place, Before::Saved(number)));
        }
        Ok(())
    }

    /// Writes every content, and makes every folder that will be needed.
    fn stage(&mut self, files: &Files, paths: &BTreeSet<String>) -> Result<Vec<Utf8PathBuf>, Failure> {
        let mut staged = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            let content = self.new.join(number.to_string());
            let bytes = files.get(path).map(AsRef::as_ref).unwrap_or_default();
            fs::write(&content, bytes).map_err(|error| (self.root.join(path), error))?;
            staged.push(content);
        }
        for path in paths {
            if let Some(folder) = self.root.join(path).parent() {
                make_folders(folder, &mut self.folders)?;
            }
        }
        Ok(staged)
    }

    fn place(&mut self, content: &Utf8Path, place: Utf8PathBuf) -> io::Result<()> {
        let number = self.placed.len();
        let saved = self.saved(number);
        // A hard link keeps the old content without the place being empty for a moment.
        let before = match fs::hard_link(&place, &saved) {
            Ok(()) => Before::Saved(number),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(_) => {
                fs::copy(&place, &saved)?;
                Before::Saved(number)
            }
        };
        fs::rename(content, &place)?;
        self.placed.push((place, before));
        Ok(())
    }

    fn saved(&self, number: usize) -> Utf8PathBuf {
        self.old.join(number.to_string())
    }

    /// Puts back what was, newest first, and returns the error to tell.
    fn undo(self, (path, source): Failure) -> DiskError {
        let mut kept = 0;
        for (place, before) in self.placed.iter().rev() {
            let undone = match before {
                Before::Nothing => fs::remove_file(place),
                Before::Saved(number) => fs::rename(self.saved(*number), place),
            };
            kept += usize::from(undone.is_err());
        }
        drop(self.staging);
        remove_folders(&self.folders);
        if kept == 0 { DiskError::Write { path, source } } else { DiskError::Torn { path, kept, source } }
    }

    /// Removes the folders that lost their last file, upwards to the root.
    fn prune(self, removed: &BTreeSet<String>) {
        drop(self.staging);
        for path in removed.iter().rev() {
            let place = self.root.join(path);
            for folder in place.ancestors().skip(1).take_while(|folder| *folder != self.root) {
                // A folder with anything in it stays: `remove_dir` refuses.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }
}

fn make_folders(folder: &Utf8Path, made: &mut Vec<Utf8PathBuf>) -> Result<(), Failure> {
    let missing: Vec<&Utf8Path> = folder.ancestors().take_while(|path| !path.as_str().is_empty() && !path.exists()).collect();
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) => made.push(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err((path.to_owned(), error)),
        }
    }
    Ok(())
}

fn remove_folders(made: &[Utf8PathBuf]) {
    for folder in made.iter().rev() {
        // Best effort on the way out of an error that is told already.
        drop(fs::remove_dir(folder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for path in ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a/", "a\\b", "C:/a", "a\0b"] {
            assert!(checked(path).is_err(), "{path:?}");
        }
        assert!(checked("prod/shop/plan.yaml").is_ok());
    }

    #[test]
    fn a_failure_in_the_middle_puts_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(root.join("a"), "old").unwrap();
        let files: Files =
            [("a", "new"), ("b/c/d", "new")].map(|(path, text)| (path.to_owned(), text.as_bytes().into())).into_iter().collect();
        let mut change = Change::begin(root).unwrap();
        let written = ["a", "b/c/d"].map(str::to_owned).into();
        let failure = change.carry_out(&files, &Written { written, removed: ["gone".to_owned()].into(), unchanged: 0 }).unwrap_err();
        assert_eq!(fs::read_to_string(root.join("b/c/d")).unwrap(), "new", "it had begun");
        let error = change.undo(failure);
        assert!(matches!(&error, DiskError::Write { path, .. } if path == &root.join("gone")), "{error:?}");
        let names: Vec<_> = root.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "old");
    }
}
