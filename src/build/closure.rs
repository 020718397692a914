//! All that a kustomization is made from, found by following what it names.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::kustomization::{self, Entry, Kustomization};
use super::tree::{Kind, Tree, joined};
use crate::model::{Finding, Position};

/// The code of a link where a build reads.
const LINK: &str = "build-input-link";

/// The group of Rollouts.
const GROUP: &[u8] = b"rollouts.kruise.io";

/// More kustomizations than this are not one application.
const MOST_FOLDERS: usize = 2_000;

/// What a kustomization is made from, by absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Closure {
    /// The folders of its kustomizations.
    pub(super) folders: BTreeSet<Utf8PathBuf>,
    /// The files that those name.
    pub(super) files: BTreeSet<Utf8PathBuf>,
    /// Folders of which any file may matter: plugins name files in ways of their own.
    pub(super) whole: BTreeSet<Utf8PathBuf>,
    /// Whether one of the files speaks of a Rollout.
    pub(super) names_rollouts: bool,
    /// Why it cannot be built offline.
    pub(super) findings: Vec<Finding>,
}

impl Closure {
    /// Whether the file has a say in what is built.
    pub(super) fn holds(&self, path: &Utf8Path) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

/// Follows the kustomization in `folder`. Findings name files as `show` does.
pub(super) fn of(folder: &Utf8Path, tree: &dyn Tree, show: &dyn Fn(&Utf8Path) -> String) -> Closure {
    let mut closure = Closure::default();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        if closure.folders.len() >= MOST_FOLDERS || closure.folders.contains(&folder) {
            continue;
        }
        match file_of(&folder, tree) {
            Some((path, Ok(Some(kustomization)))) => {
                closure.files.insert(path.clone());
                follow(&folder, &path, &kustomization, tree, show, &mut closure, &mut waiting);
            }
            None if is_linked(&folder, tree) => closure.findings.push(linked(&show(&folder))),
            Some((path, Err(error))) => {
                let message = format!("the kustomization cannot be read: {}", error.message);
                closure.findings.push(Finding::error("kustomization-unreadable", message).at(&show(&path), error.position));
            }
            Some((_, Ok(None))) | None => {
                let message = format!("there is no kustomization in `{}`", show(&folder));
                let finding = Finding::error("build-input-missing", message);
                closure.findings.push(finding.help(format!("name a folder with a `{}`", kustomization::NAMES[0])));
            }
        }
        closure.folders.insert(folder);
    }
    closure
}

/// The finding about a link that a build would have to follow.
pub(super) fn linked(shown: &str) -> Finding {
    let finding = Finding::error(LINK, format!("`{shown}` is a symbolic link, and builds follow none"));
    finding.help("put the file itself there, or pipe your own build into `rollout render -`")
}

fn remote(path: &str) -> Finding {
    let finding = Finding::error("kustomization-remote", format!("`{path}` is on the network, and builds have none"));
    finding.help("copy it into the repository, or pipe your own build into `rollout render -`")
}

/// Whether the folder, or its kustomization, is a link.
fn is_linked(folder: &Utf8Path, tree: &dyn Tree) -> bool {
    let files = kustomization::NAMES.iter().map(|name| folder.join(name));
    std::iter::once(folder.to_owned()).chain(files).any(|path| tree.kind(&path) == Some(Kind::Link))
}

type Read = Result<Option<Kustomization>, crate::yaml::ReadError>;

/// The kustomization file in a folder, and what it says.
fn file_of(folder: &Utf8Path, tree: &dyn Tree) -> Option<(Utf8PathBuf, Read)> {
    let paths = kustomization::NAMES.iter().map(|name| folder.join(name));
    let path = paths.into_iter().find(|path| tree.kind(path) == Some(Kind::File))?;
    let bytes = tree.read(&path)?;
    Some((path, kustomization::read(&bytes)))
}

fn follow(
    folder: &Utf8Path,
    file: &Utf8Path,
    kustomization: &Kustomization,
    tree: &dyn Tree,
    show: &dyn Fn(&Utf8Path) -> String,
    closure: &mut Closure,
    waiting: &mut Vec<Utf8PathBuf>,
) {
    if kustomization.has_plugins {
        closure.whole.insert(folder.to_owned());
    }
    let refuse = |position: Position, code, message: String| Finding::error(code, message).at(&show(file), position);
    for entry in &kustomization.entries {
        let Entry { path, position, is_resource } = entry;
        let target = joined(folder, path);
        // Before anything else: kustomize fetches what looks remote, whatever stands at the path.
        if entry.is_remote() {
            closure.findings.push(remote(path).at(&show(file), *position));
            continue;
        }
        match tree.kind(&target) {
            Some(Kind::Link) => closure.findings.push(linked(path).at(&show(file), *position)),
            Some(Kind::Folder) => waiting.push(target),
            Some(Kind::File) => {
                let bytes = tree.read(&target).unwrap_or_default();
                closure.names_rollouts = closure.names_rollouts || names_rollouts(&bytes);
                let configured = std::str::from_utf8(&bytes).ok().filter(|text| text.contains("builtin")).map(kustomization::fetched);
                for Entry { path, position, .. } in configured.into_iter().flatten() {
                    closure.findings.push(remote(&path).at(&show(&target), position));
                }
                closure.files.insert(target);
            }
            None if *is_resource => {
                let message = format!("there is no `{path}` here");
                closure.findings.push(refuse(*position, "build-input-missing", message).help("correct the path, or take the line out"));
            }
            // The program says it better.
            None => {}
        }
    }
}

/// Whether a file speaks of a Rollout.
pub(super) fn names_rollouts(bytes: &[u8]) -> bool {
    bytes.windows(GROUP.len()).any(|window| window == GROUP)
}
