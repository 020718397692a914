//! A folder, a single file or a stream as a value.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use camino::Utf8Path;
use ignore::{DirEntry, WalkBuilder, WalkState};

use super::error::DiskError;
use super::select::{is_entered, is_file_read, is_read, is_vendored};
use crate::files::Files;

/// A longer file is not a manifest; it is counted, not read.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// A longer stream is not read to its end.
pub const LARGEST_STREAM: u64 = 256 * 1024 * 1024;

/// The path under which a stream's documents are found.
pub const STREAM: &str = "stdin.yaml";

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Reading {
    /// Every file that can matter, by its path below the root.
    pub files: Files,
    /// What was seen and not read.
    pub unread: BTreeMap<String, Unread>,
}

/// Why a file or folder was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// Longer than [`LARGEST_FILE`].
    TooLarge {
        /// Its length.
        bytes: u64,
    },
    /// A folder of other people's files.
    Vendored,
    /// Links are not followed: they may lead anywhere, and around in circles.
    Link,
    /// A name that is not UTF-8; the path shows it as well as it can.
    UnreadableName,
    /// The system refused. This is worth an error; the rest was read.
    Failed {
        /// What the system said.
        message: String,
    },
}

/// Reads a folder, or the one file that `root` names (whatever its name; found under its file name).
///
/// In a folder, git-ignored, hidden and vendored files are skipped, and so is all that is neither YAML, JSON nor a
/// gateway's script. [`add_tracked`] adds those that git tracks all the same.
///
/// # Errors
/// Only when nothing at all could be read; a single bad file is an [`Unread`].
pub fn read(root: &Utf8Path) -> Result<Reading, DiskError> {
    let metadata = match fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(DiskError::Missing { path: root.to_owned() }),
        Err(source) => return Err(DiskError::Read { path: root.to_owned(), source }),
    };
    if metadata.is_dir() { read_folder(root) } else { read_single(root, &metadata) }
}

/// Adds those of the files, by their sorted paths below the root, that [`read`] has passed over: a `.gitignore` says nothing about a
/// file that git tracks. Those that are not there, or stand behind a link, are left out.
pub fn add_tracked(reading: &mut Reading, root: &Utf8Path, paths: &[String]) {
    let mut buffer = Vec::new();
    for path in passed_over(&reading.files, paths) {
        if reading.unread.contains_key(path) {
            continue;
        }
        let place = root.join(path);
        let folders = place.ancestors().take_while(|folder| *folder != root);
        let kinds: Option<Vec<fs::FileType>> = folders.map(|folder| Some(fs::symlink_metadata(folder).ok()?.file_type())).collect();
        let is_plain = kinds.is_some_and(|kinds| kinds[0].is_file() && kinds[1..].iter().all(fs::FileType::is_dir));
        if !is_plain {
            continue;
        }
        match content(place.as_std_path(), LARGEST_FILE, &mut buffer) {
            Ok(Content::Bytes(bytes)) => reading.files.insert(path.clone(), bytes),
            Ok(Content::TooLarge(bytes)) => _ = reading.unread.insert(path.clone(), Unread::TooLarge { bytes }),
            Err(error) => _ = reading.unread.insert(path.clone(), Unread::Failed { message: error.to_string() }),
        }
    }
}

/// Those of the paths, which are sorted, that are none of the files and can matter.
fn passed_over<'a>(files: &Files, paths: &'a [String]) -> Vec<&'a String> {
    let mut read = files.iter().map(|(path, _)| path).peekable();
    let is_passed_over = |path: &&String| {
        while read.next_if(|read| *read < path.as_str()).is_some() {}
        read.peek() != Some(&path.as_str()) && is_read(path)
    };
    paths.iter().filter(is_passed_over).collect()
}

/// Reads one file, but no more than `limit` bytes of it: a pipe or a device tells no length, and may never end.
///
/// # Errors
/// What the system says.
pub fn read_start(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a stream to its end, as the one file [`STREAM`].
///
/// # Errors
/// When it breaks off or is longer than [`LARGEST_STREAM`].
pub fn read_stream(stream: impl Read) -> Result<Reading, DiskError> {
    let mut bytes = Vec::new();
    stream.take(LARGEST_STREAM + 1).read_to_end(&mut bytes).map_err(|source| DiskError::Stream { source })?;
    if bytes.len() as u64 > LARGEST_STREAM {
        return Err(DiskError::LongStream { limit: LARGEST_STREAM });
    }
    let mut reading = Reading::default();
    reading.files.insert(STREAM, bytes);
    Ok(reading)
}

/// Reads a file that somebody wrote a whole stream to, whatever its name, as the one file [`STREAM`].
///
/// # Errors
/// When it cannot be read or is longer than [`LARGEST_STREAM`].
pub fn read_rendered(path: &Utf8Path) -> Result<Reading, DiskError> {
    read_stream(File::open(path).map_err(|source| DiskError::Read { path: path.to_owned(), source })?)
}

fn read_single(path: &Utf8Path, metadata: &fs::Metadata) -> Result<Reading, DiskError> {
    let mut reading = Reading::default();
    // What is no regular file is a stream, whose name says nothing: `<(kustomize build)` of a shell, or a device.
    let (name, limit) =
        if metadata.is_file() { (path.file_name().unwrap_or(path.as_str()), LARGEST_FILE) } else { (STREAM, LARGEST_STREAM) };
    match content(path.as_std_path(), limit, &mut Vec::new()).map_err(|source| DiskError::Read { path: path.to_owned(), source })? {
        Content::Bytes(bytes) => reading.files.insert(name, bytes),
        Content::TooLarge(bytes) if metadata.is_file() => _ = reading.unread.insert(name.to_owned(), Unread::TooLarge { bytes }),
        Content::TooLarge(_) => return Err(DiskError::Endless { path: path.to_owned(), limit }),
    }
    Ok(reading)
}

/// One path below the root, and what came of it.
type Found = (String, Result<Arc<[u8]>, Unread>);

fn read_folder(root: &Utf8Path) -> Result<Reading, DiskError> {
    // A folder that cannot be listed is an answer of its own, not an empty folder.
    fs::read_dir(root).map_err(|source| DiskError::Read { path: root.to_owned(), source })?;
    let (sender, receiver) = mpsc::channel();
    walk(root).run(|| {
        let (sender, mut buffer) = (sender.clone(), Vec::new());
        Box::new(move |entry| visit(root.as_std_path(), entry, &mut buffer, &sender))
    });
    drop(sender);
    let mut files = Vec::new();
    let mut unread = BTreeMap::new();
    for (path, outcome) in receiver {
        match outcome {
            Ok(bytes) => files.push((path, bytes)),
            Err(reason) => _ = unread.insert(path, reason),
        }
    }
    Ok(Reading { files: files.into_iter().collect(), unread })
}

fn walk(root: &Utf8Path) -> ignore::WalkParallel {
    WalkBuilder::new(root)
        // `.rollout.yaml` is hidden too, so hidden names are sorted out by ourselves.
        .hidden(false)
        .ignore(false)
        .follow_links(false)
        .filter_entry(|entry| {
            entry.depth() == 0 || !is_folder(entry) || entry.file_name().to_str().is_none_or(|name| !name.starts_with('.'))
        })
        .build_parallel()
}

fn visit(root: &Path, entry: Result<DirEntry, ignore::Error>, buffer: &mut Vec<u8>, sender: &Sender<Found>) -> WalkState {
    let (found, state) = match entry {
        Ok(entry) if entry.depth() == 0 => (None, WalkState::Continue),
        Ok(entry) => outcome(root, &entry, buffer),
        Err(error) => (failure(root, &error), WalkState::Continue),
    };
    match found.map(|found| sender.send(found)) {
        Some(Err(_)) => WalkState::Quit,
        Some(Ok(())) | None => state,
    }
}

fn outcome(root: &Path, entry: &DirEntry, buffer: &mut Vec<u8>) -> (Option<Found>, WalkState) {
    let path = shown(root, entry.path());
    if is_folder(entry) {
        return match entry.file_name().to_str() {
            Some(name) if is_vendored(name) => (Some((path, Err(Unread::Vendored))), WalkState::Skip),
            Some(name) if is_entered(name) => (None, WalkState::Continue),
            Some(_) => (None, WalkState::Skip),
            None => (Some((path, Err(Unread::UnreadableName))), WalkState::Skip),
        };
    }
    if !is_wanted(entry) {
        return (None, WalkState::Continue);
    }
    let result = match entry.file_type() {
        _ if entry.path().to_str().is_none() => Err(Unread::UnreadableName),
        Some(kind) if kind.is_symlink() => Err(Unread::Link),
        Some(kind) if kind.is_file() => match content(entry.path(), LARGEST_FILE, buffer) {
            Ok(Content::Bytes(bytes)) => Ok(bytes),
            Ok(Content::TooLarge(bytes)) => Err(Unread::TooLarge { bytes }),
            Err(error) => Err(Unread::Failed { message: error.to_string() }),
        },
        // A pipe or a device would keep us waiting.
        Some(_) | None => Err(Unread::Failed { message: "not a regular file".to_owned() }),
    };
    (Some((path, result)), WalkState::Continue)
}

/// A folder linked from elsewhere is told of whatever its name; a file only where its name says that it matters.
fn is_wanted(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let is_script_folder = || {
        // The root may itself lie inside of such a folder.
        entry.path().components().any(|component| component.as_os_str() == OsStr::new("lua_configuration"))
    };
    is_file_read(&name, is_script_folder)
        || (entry.path_is_symlink() && is_entered(&name) && fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir()))
}

fn failure(root: &Path, error: &ignore::Error) -> Option<Found> {
    let mut cause = error;
    let mut path = None;
    while let ignore::Error::WithPath { err, .. } | ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } = cause
    {
        if let ignore::Error::WithPath { path: inner, .. } = cause {
            path = Some(inner);
        }
        cause = err;
    }
    // A broken pattern in a .gitignore is git's business.
    if matches!(cause, ignore::Error::Glob { .. } | ignore::Error::Partial(_)) {
        return None;
    }
    Some((shown(root, path?), Err(Unread::Failed { message: cause.to_string() })))
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn shown(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = below.components().map(|component| component.as_os_str().to_string_lossy()).collect();
    names.join("/")
}

/// A file of this many bytes is not short any more.
const SHORT: u64 = 64 << 10;

enum Content {
    Bytes(Arc<[u8]>),
    TooLarge(u64),
}

/// Reads a file by way of `buffer`, whatever that holds.
fn content(path: &Path, limit: u64, buffer: &mut Vec<u8>) -> io::Result<Content> {
    let mut file = File::open(path)?;
    buffer.clear();
    buffer.reserve(usize::try_from(SHORT).unwrap_or_default() + 1);
    // Most files end soon, and nobody has to ask them for their length.
    file.by_ref().take(SHORT).read_to_end(buffer)?;
    if buffer.len() as u64 == SHORT {
        let length = file.metadata()?.len();
        if length > limit {
            return Ok(Content::TooLarge(length));
        }
        // The file may be growing, or tell no length, as those of /proc do.
        file.take(limit + 1 - SHORT).read_to_end(buffer)?;
    }
    let length = buffer.len() as u64;
    Ok(if length > limit { Content::TooLarge(length) } else { Content::Bytes(buffer.as_slice().into()) })
}
