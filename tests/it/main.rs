//! The integration tests, one binary.

mod disk;
mod git;
mod golden;
