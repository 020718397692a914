//! What the file system refused, where, and the way out.

use std::io;

use camino::Utf8PathBuf;

/// A reason why a folder could not be read or written at all.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The named file or folder is not there.
    #[error("`{path}` does not exist\nhelp: give a folder or file that exists, or `-` to read a stream")]
    Missing {
        /// As it was given.
        path: Utf8PathBuf,
    },
    /// A file or folder named by the user cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file or folder.
        path: Utf8PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A stream broke off.
    #[error("cannot read the input stream")]
    Stream {
        /// What the system said.
        source: io::Error,
    },
    /// A device, or a pipe that does not end in time.
    #[error("`{path}` is no regular file and goes on after {limit} bytes\nhelp: give a folder or file that ends")]
    Endless {
        /// As it was given.
        path: Utf8PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// A stream does not end in time.
    #[error("the input stream is longer than {limit} bytes\nhelp: put the documents in a folder and give the folder")]
    LongStream {
        /// The most that is read.
        limit: u64,
    },
    /// A file of a tree cannot be written; the old tree is as it was.
    #[error("cannot write `{path}`; nothing was changed\nhelp: {}", write_help(source))]
    Write {
        /// The file or folder.
        path: Utf8PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed and so did going back: some files are as the new tree wants them.
    #[error(
        "cannot write `{path}`, and of the files written before it {kept} could not be put back\nhelp: `git checkout` the folder, then repair the disk"
    )]
    Torn {
        /// The file that could not be written.
        path: Utf8PathBuf,
        /// How many files could not be put back.
        kept: usize,
        /// What the system said first.
        source: io::Error,
    },
    /// A path of the tree leads out of it.
    #[error("refusing to write `{path}`: a path must be relative, with `/` between plain names, and stay inside the folder")]
    Outside {
        /// The path of the file in the tree.
        path: String,
    },
    /// A symbolic link stands where a file or folder is to be written.
    #[error("refusing to write `{path}` through a symbolic link\nhelp: remove the link, or give the folder that it names")]
    Link {
        /// The link.
        path: Utf8PathBuf,
    },
    /// A folder that git or a forge reads its own files from.
    #[error(
        "refusing to write below `{path}`, which git and forges read their own files from\nhelp: choose another folder with `--out`, or as `output` in `.rollout.yaml`"
    )]
    Reserved {
        /// The folder.
        path: Utf8PathBuf,
    },
    /// A folder stands where a file must go, or the other way round.
    #[error("cannot write `{path}`: {found} is in the way\nhelp: remove or rename it")]
    InTheWay {
        /// Where the file or folder should be.
        path: Utf8PathBuf,
        /// What is there.
        found: &'static str,
    },
}

fn write_help(source: &io::Error) -> &'static str {
    let kind = source.kind();
    if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        "free some space, or choose a folder on another disk"
    } else if matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) {
        "make the folder writable, or choose another with `--out`"
    } else {
        "choose another folder with `--out`"
    }
}
