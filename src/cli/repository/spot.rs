//! Where to read, and what git says has changed there.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::{Failure, World};
use crate::config::{self, Config};
use crate::discover::Asked;
use crate::disk::{self, Reading, Unread};
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Position};

use super::paths::normal;
use super::question::Question;

/// Where to read, found by looking at the path and the git repository around it.
pub(super) struct Spot {
    pub(super) root: Utf8PathBuf,
    pub(super) reading: Reading,
    pub(super) scope: String,
    pub(super) git: Option<git::Repository>,
    /// What differs from the base that git knows. None: another base is asked for, or there is none.
    pub(super) changes: Option<git::Changes>,
    /// Whether one file was named and no folder.
    pub(super) is_single: bool,
}

impl Spot {
    /// The Rollouts that the changes concern.
    pub(super) fn concerned(&self, changes: &git::Changes, config: &Config) -> Asked {
        let side = |files: &'_ Files, path: &str| files.get(path).cloned();
        let paths = changes.paths().into_iter();
        let both: Vec<_> = paths.map(|path| (path, side(&self.reading.files, path), side(&changes.changed, path))).collect();
        let files: Vec<_> = both.iter().map(|(path, now, before)| (*path, now.as_deref(), before.as_deref())).collect();
        Asked::concerned(&files, config)
    }
}

/// Looks at the path that was asked for, and at the repository around it.
pub(super) fn spot(question: Question<'_>, directory: &Utf8Path, world: &mut World<'_>) -> Result<Spot, Failure> {
    let path = question.path;
    if path == "-" {
        let reading = disk::read_stream(&mut *world.stdin)?;
        return Ok(Spot { root: directory.to_owned(), reading, scope: String::new(), git: None, changes: None, is_single: true });
    }
    let path = normal(&directory.join(path));
    if !path.is_dir() {
        let reading = disk::read(&path)?;
        let root = path.parent().unwrap_or(directory).to_owned();
        let git = git::Repository::discover(&root)?;
        let is_wanted = |path: &str| reading.files.get(path).is_some();
        let changes = git.as_ref().map(|git| changes(git, question, &world.environment, &root, &is_wanted)).transpose()?.flatten();
        return Ok(Spot { root, reading, scope: String::new(), git, changes, is_single: true });
    }
    let mut git = git::Repository::discover(&path)?;
    // The environments are the repository's; a folder of it only says which Rollouts are asked for.
    let scoped = git.as_ref().and_then(|repository| {
        let scope = repository.prefix_of(&path).filter(|scope| !scope.is_empty())?;
        repository.root().join(config::NAME).is_file().then(|| (repository.root().to_owned(), scope))
    });
    let (root, scope) = scoped.unwrap_or((path, String::new()));
    // Both look at every file, and neither needs the other.
    let (repository, environment) = (git.as_mut(), &world.environment);
    let of_git = |git: &mut git::Repository| -> Result<_, Failure> {
        let changes = changes(git, question, environment, &root, &disk::is_read)?;
        Ok((changes, tracked(git, &root)?))
    };
    let (reading, of_git) = rayon::join(|| disk::read(&root), || repository.map(of_git).transpose());
    let (mut reading, of_git) = (reading?, of_git?);
    let changes = of_git.and_then(|(changes, tracked)| {
        disk::add_tracked(&mut reading, &root, &tracked);
        changes
    });
    Ok(Spot { reading, changes, root, scope, git, is_single: false })
}

/// Reads a folder, and of what a `.gitignore` hides there all that git tracks.
pub(super) fn read_folder(folder: &Utf8Path) -> Result<Reading, Failure> {
    let mut reading = disk::read(folder)?;
    if let Some(git) = git::Repository::discover(folder)? {
        disk::add_tracked(&mut reading, folder, &tracked(&git, folder)?);
    }
    Ok(reading)
}

fn tracked(git: &git::Repository, root: &Utf8Path) -> Result<Vec<String>, Failure> {
    let Some(prefix) = git.prefix_of(root) else { return Ok(Vec::new()) };
    Ok(git.tracked(&prefix, &disk::is_read)?)
}

/// What differs from the base that git knows. None: another base is asked for, or there is none.
fn changes(
    git: &git::Repository,
    question: Question<'_>,
    environment: &BTreeMap<String, String>,
    root: &Utf8Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Option<git::Changes>, Failure> {
    if question.base_dir.is_some() {
        return Ok(None);
    }
    let target = environment.get("GITHUB_BASE_REF").map(String::as_str);
    let (Some(base), Some(prefix)) = (git.base(question.base, target)?, git.prefix_of(root)) else { return Ok(None) };
    Ok(Some(git.changes_since(&base, &prefix, is_wanted)?))
}

/// What could not be read, as far as a user should know.
pub(super) fn unread(reading: &Reading) -> Vec<Finding> {
    let start = Position { line: 1, column: 1 };
    let finding = |(path, unread): (&String, &Unread)| match unread {
        Unread::TooLarge { bytes } => {
            Some(Finding::note("file-too-large", format!("skipped: {} MiB are no manifest", bytes >> 20)).at(path, start))
        }
        Unread::UnreadableName => Some(Finding::note("file-name-unreadable", "skipped: the name is not UTF-8").at(path, start)),
        Unread::Failed { message } => Some(Finding::error("file-unreadable", format!("cannot read the file: {message}")).at(path, start)),
        Unread::Vendored | Unread::Link => None,
    };
    reading.unread.iter().filter_map(finding).collect()
}
