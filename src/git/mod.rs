//! Git repositories: what the base revision held, what differs from it, and commits made without a work tree.
//!
//! Only `push` runs the git program and talks to a remote, since the user's credentials are known to that program
//! alone. Plans and rollouts are unknown here.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is one of the rooms that touch the world")]

mod base;
mod branch;
mod changes;
mod commit;
mod error;
mod push;
mod remotes;
mod repository;
mod source;

pub use base::Base;
pub use branch::Branch;
pub use changes::Changes;
pub use commit::{Commit, Draft};
pub use error::GitError;
pub use push::{Pushed, without_credentials};
pub use repository::{Entry, Repository};
pub use source::Source;
