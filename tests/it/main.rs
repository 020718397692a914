//! The integration tests, one binary.

mod disk;
mod golden;
