//! Git repositories, read only and local only: what the base revision held, and what differs from it.
//!
//! No network and no git program: fetching and pushing are others' work. Plans and rollouts are unknown here.

mod base;
mod changes;
mod error;
mod repository;

pub use base::Base;
pub use changes::Changes;
pub use error::GitError;
pub use repository::Repository;
