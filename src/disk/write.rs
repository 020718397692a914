//! A tree written whole or not at all.
//!
//! All content goes into a hidden staging folder first: a full disk or a read-only folder shows itself before anything
//! is touched. Then each file takes its place by a rename; should one of those fail, the ones before it are undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
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
    let entries: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path, &**bytes)).collect();
    let is_different = |(path, bytes): &(&str, &[u8])| Ok(difference(&root.join(checked(path)?), bytes)?.is_some());
    let different: Vec<Result<bool, DiskError>> = entries.par_iter().map(is_different).collect();
    for ((path, _), is_different) in entries.iter().zip(different) {
        if is_different? {
            written.written.insert((*path).to_owned());
        } else {
            written.unchanged += 1;
        }
    }
    if written.written.is_empty() && written.removed.is_empty() {
        return Ok(written);
    }
    let new = new_folders(root, &written.written)?;
    let mut change = Change::begin(root)?;
    match change.carry_out(files, &written, &new) {
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

/// Those folders of files that are not there yet and hold no other folders: each can take its place as a whole. What
/// stands in the way of a file or folder is found before anything is written.
fn new_folders<'a>(root: &Utf8Path, paths: &'a BTreeSet<String>) -> Result<BTreeSet<&'a Utf8Path>, DiskError> {
    let mut folders: BTreeMap<&Utf8Path, bool> = BTreeMap::new();
    for path in paths.iter().map(Utf8Path::new) {
        ensure_is(&root.join(path), &fs::FileType::is_file)?;
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_str().is_empty()) {
            if !folders.contains_key(folder) {
                folders.insert(folder, ensure_is(&root.join(folder), &fs::FileType::is_dir)?);
            }
        }
    }
    let above: BTreeSet<&Utf8Path> = folders.keys().filter_map(|folder| folder.parent()).collect();
    Ok(folders.into_iter().filter(|(folder, is_there)| !is_there && !above.contains(folder)).map(|(folder, _)| folder).collect())
}

/// Returns whether anything is there; it is what has to be there.
fn ensure_is(path: &Utf8Path, is_right: &dyn Fn(&fs::FileType) -> bool) -> Result<bool, DiskError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(false) };
    let found = metadata.file_type();
    if found.is_symlink() {
        return Err(DiskError::Link { path: path.to_owned() });
    }
    if !is_right(&found) {
        return Err(DiskError::InTheWay { path: path.to_owned(), found: if found.is_dir() { "a folder" } else { "a file" } });
    }
    Ok(true)
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
    /// Files and whole folders that have taken their place, each with whether there was one before.
    placed: Vec<(Utf8PathBuf, Before)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The same, where a folder stands now.
    NoFolder,
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

    fn carry_out(&mut self, files: &Files, written: &Written, new: &BTreeSet<&Utf8Path>) -> Result<(), Failure> {
        let units = units(&written.written, new);
        self.stage(files, &units)?;
        for (number, unit) in units.iter().enumerate() {
            let (content, place) = (self.new.join(number.to_string()), self.root.join(unit.path()));
            if let Some(folder) = place.parent() {
                make_folders(folder, &mut self.folders)?;
            }
            let placed = match unit {
                Unit::File(_) => self.place(&content, place.clone()),
                Unit::Folder(..) => fs::rename(&content, &place).map(|()| self.placed.push((place.clone(), Before::NoFolder))),
            };
            placed.map_err(|error| (place, error))?;
        }
        for path in &written.removed {
            let place = self.root.join(path);
            let number = self.placed.len();
            fs::rename(&place, self.saved(number)).map_err(|error| (place.clone(), error))?;
            self.placed.push((place, Before::Saved(number)));
        }
        Ok(())
    }

    /// Writes every content; the first failure in the order of paths is told.
    fn stage(&self, files: &Files, units: &[Unit<'_>]) -> Result<(), Failure> {
        let write = |content: &Utf8Path, path: &str| {
            let bytes = files.get(path).map(AsRef::as_ref).unwrap_or_default();
            fs::write(content, bytes).map_err(|error| (self.root.join(path), error))
        };
        let stage = |(number, unit): (usize, &Unit<'_>)| {
            let content = self.new.join(number.to_string());
            match unit {
                Unit::File(path) => write(&content, path),
                Unit::Folder(folder, names) => {
                    fs::create_dir(&content).map_err(|error| (self.root.join(folder), error))?;
                    names.iter().try_for_each(|name| write(&content.join(name), folder.join(name).as_str()))
                }
            }
        };
        let staged: Vec<Result<(), Failure>> = units.par_iter().enumerate().map(stage).collect();
        staged.into_iter().collect()
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
        for (number, (place, before)) in self.placed.iter().enumerate().rev() {
            let undone = match before {
                Before::Nothing => fs::remove_file(place),
                // What comes back goes with the staging folder.
                Before::NoFolder => fs::rename(place, self.saved(number)),
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

/// What takes its place in one go.
enum Unit<'a> {
    File(&'a str),
    /// A folder that is not there yet, with its files' names.
    Folder(&'a Utf8Path, Vec<&'a str>),
}

impl Unit<'_> {
    fn path(&self) -> &Utf8Path {
        match self {
            Unit::File(path) => Utf8Path::new(path),
            Unit::Folder(folder, _) => folder,
        }
    }
}

/// The files, those of new folders together, in the order of the first path of each.
fn units<'a>(paths: &'a BTreeSet<String>, new: &BTreeSet<&Utf8Path>) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    let mut folders: BTreeMap<&Utf8Path, usize> = BTreeMap::new();
    for path in paths {
        let inside = Utf8Path::new(path).parent().zip(Utf8Path::new(path).file_name()).filter(|(folder, _)| new.contains(folder));
        let Some((folder, name)) = inside else {
            units.push(Unit::File(path));
            continue;
        };
        let number = *folders.entry(folder).or_insert_with(|| {
            units.push(Unit::Folder(folder, Vec::new()));
            units.len() - 1
        });
        if let Some(Unit::Folder(_, names)) = units.get_mut(number) {
            names.push(name);
        }
    }
    units
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
        let removed = ["gone".to_owned()].into();
        let new = [Utf8Path::new("b/c")].into();
        let failure = change.carry_out(&files, &Written { written, removed, unchanged: 0 }, &new).unwrap_err();
        assert_eq!(fs::read_to_string(root.join("b/c/d")).unwrap(), "new", "it had begun");
        let error = change.undo(failure);
        assert!(matches!(&error, DiskError::Write { path, .. } if path == &root.join("gone")), "{error:?}");
        let names: Vec<_> = root.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "old");
    }
}
