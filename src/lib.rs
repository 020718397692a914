//! Progressive delivery as files: from the YAML of a repository to the exact manifests of every step of a release.
//!
//! Between reading a repository and writing the answer everything is a pure function of values; only `disk`, `git`, `build`
//! and `cli` touch the world. Imports point one way; `tests/it/house.rs` holds the table.

#[cfg(feature = "agent")]
pub mod agent;
pub mod build;
pub mod cases;
pub mod check;
pub mod cli;
pub mod coexist;
pub mod config;
pub mod diff;
pub mod digest;
pub mod discover;
pub mod disk;
pub mod exposure;
pub mod files;
pub mod function;
pub mod git;
pub mod kruise_status;
pub mod lua;
pub mod machine;
pub mod model;
pub mod objects;
#[cfg(feature = "agent")]
pub mod operate;
pub mod patch;
pub mod plan;
pub mod render;
pub mod report;
pub mod simulate;
pub mod tree;
pub mod yaml;
