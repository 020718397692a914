//! Manifests that a program makes: kustomizations and charts, as they are and as they were.
//!
//! A build runs `kustomize`, `kubectl kustomize` or `helm template` as found on the PATH: never a shell, without network,
//! variables or plugins, in bounded time and space, and only on a copy of the files that it names, which holds no links. What it
//! prints takes the place of the files that it was made from.
//!
//! - `kustomization`, `closure`: what a kustomization names, and all that it is made from · `detect`: which are roots
//! - `work`: what is to be built · `carry_out`: building it · `kustomize`, `helm`: the command lines · `program`: running them
//! - `tree`, `snapshot`: the files of a revision, and a copy of them to build in · `origin`: from what was built to who wrote it
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is one of the rooms that touch the world")]

mod carry_out;
mod closure;
mod detect;
mod helm;
mod kustomization;
mod kustomize;
mod origin;
mod program;
mod snapshot;
mod tree;
mod work;

pub use carry_out::{Built, carry_out};
pub use origin::Origins;
pub use program::{Limits, Programs};
pub use tree::{Below, Disk, Kind, Tree};
pub use work::{Choice, Work, work};
