//! The integration tests, one binary.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stand outside of the rooms, and one that cannot go on has failed"
)]

#[cfg(feature = "agent")]
mod agent;
mod arguments;
mod bases;
mod beside;
mod build;
mod changed;
mod coexist;
mod commands;
mod commit;
mod dice;
mod disk;
mod engines;
mod examples;
mod exposure;
mod function;
mod git;
mod golden;
mod ground;
mod health;
mod history;
#[cfg(unix)]
mod hostile;
mod house;
mod markdown;
mod neighbors;
#[allow(dead_code, unused_imports, reason = "the end-to-end suite uses the rest")]
#[path = "../e2e/recorder/mod.rs"]
mod recorder;
mod recording;
mod render;
mod scripts;
mod selectors;
mod shares;
mod told;
mod tools;
mod yaml_properties;
