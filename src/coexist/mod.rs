//! Living with the engine that syncs the repository: the settings by which Argo CD and Flux leave alone what a plan changes, and
//! what would break the truce.
//!
//! Pure. `settings`: what a plan changes · `flux`, `argocd`: the same in each engine's words, and whether an engine's object says
//! it · `engine`: the engines of a repository · `provenance`: where they get files from · `check`: the rules

mod argocd;
mod check;
mod engine;
mod flux;
mod provenance;
mod settings;

pub use argocd::block as argocd_block;
pub use check::{Coexistence, Layout, Placed, Synced, check};
pub use engine::{Engine, EngineKind, engines};
pub use flux::block as flux_block;
pub use settings::{Setting, settings};

/// Whether one path is the other or around it: `/spec` covers `/spec/template`.
fn covers(ignored: &str, path: &str) -> bool {
    path.strip_prefix(ignored).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path goes through an item of a list.
fn goes_by_index(path: &str) -> bool {
    path.split('/').skip(1).any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod fixture;
