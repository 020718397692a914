//! Values → text, one file a format. Nothing here decides anything, and nothing is read but the arguments.
//!
//! What comes from a repository is escaped: no control character of a manifest reaches a terminal.

pub mod codes;
mod failure;
mod words;

pub use failure::failure;
pub use words::{Colors, count, visible};
