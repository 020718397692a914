//! The command line of a kustomization.

use std::ffi::OsString;
use std::path::PathBuf;

use camino::Utf8Path;

use super::program::Programs;

/// A program, how people call it, and its arguments.
pub(super) struct CommandLine {
    pub(super) program: PathBuf,
    pub(super) name: &'static str,
    pub(super) arguments: Vec<OsString>,
}

/// `kustomize build` where there is one, else `kubectl kustomize`.
pub(super) fn command(folder: &Utf8Path, programs: &Programs) -> Option<CommandLine> {
    let with = |name: &'static str, program: PathBuf, verb: &str| CommandLine {
        program,
        name,
        arguments: vec![verb.into(), folder.as_std_path().into()],
    };
    if let Some(program) = programs.find("kustomize") {
        return Some(with("kustomize build", program, "build"));
    }
    programs.find("kubectl").map(|program| with("kubectl kustomize", program, "kustomize"))
}
