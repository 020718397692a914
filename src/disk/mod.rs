//! The file system: folders and streams in, trees out.
//!
//! Reading never stops at one bad file, and writing never leaves half a tree behind. What the files mean is for
//! others: this room knows their names and sizes only.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is one of the rooms that touch the world")]

mod compare;
mod error;
mod former;
mod place;
mod read;
mod select;
mod write;

pub use compare::{Difference, Stale, compare_tree};
pub use error::DiskError;
pub use former::{Former, left_over};
pub use place::ensure_own;
pub use read::{LARGEST_FILE, LARGEST_STREAM, Reading, STREAM, Unread, add_tracked, read, read_rendered, read_start, read_stream};
pub use select::is_read;
pub use write::{Written, write_tree};
