//! The agent against an API server of our own: every duty, every error, every bad input.

#![allow(
    clippy::needless_pass_by_value,
    clippy::similar_names,
    clippy::single_match_else,
    clippy::unused_self,
    reason = "a cluster in few words: its parts take and give values"
)]

mod bad_input;
mod controllers;
mod errors;
mod first_write;
mod in_flight;
mod kept;
mod load;
mod releases;
mod rights;
mod server;
mod store;
mod versions;
mod world;
