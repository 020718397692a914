//! What findings about a Rollout depend on although it names none of it: engines, labels of others, how the repository is described.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::{self, Config};
use crate::discover::{self, Documents, Relabelled};
use crate::files::Files;
use crate::git;
use crate::model::Source;

/// The surroundings of Rollouts before a change, as far as they differ.
#[derive(Debug, Default)]
pub(in crate::cli) struct Surroundings {
    /// The objects of engines.
    pub(in crate::cli) engines: Vec<Arc<Source>>,
    /// Workloads and Services that only one side has with these labels.
    pub(in crate::cli) relabelled: Vec<Relabelled>,
    /// Whether environments are described in other words: the base is read by the head's.
    pub(in crate::cli) is_described_otherwise: bool,
}

/// The head, which they are compared with.
pub(super) struct Head<'a> {
    pub(super) files: &'a Files,
    pub(super) documents: &'a Documents,
    pub(super) engines: &'a [Arc<Source>],
    pub(super) config: &'a Config,
}

impl Head<'_> {
    /// The surroundings in a folder with these files.
    pub(super) fn beside_folder(&self, files: &Files, documents: &Documents) -> Surroundings {
        let description = files.get(config::NAME);
        Surroundings {
            engines: discover::engines(files, self.config),
            relabelled: discover::relabelled(self.documents, documents, self.config),
            // A folder of bare manifests describes nothing.
            is_described_otherwise: description.is_some() && description != self.files.get(config::NAME),
        }
    }

    /// The surroundings in a commit that differs by these files.
    pub(super) fn beside_commit(&self, changes: &git::Changes, documents: &Documents) -> Surroundings {
        let paths: BTreeSet<&str> = changes.paths();
        let same = self.engines.iter().filter(|engine| !paths.contains(engine.path.as_str())).cloned();
        let mut engines: Vec<_> = same.chain(discover::engines(&changes.changed, self.config)).collect();
        engines.sort_by(|left, right| left.path.cmp(&right.path));
        Surroundings {
            engines,
            relabelled: discover::relabelled(self.documents, documents, self.config),
            is_described_otherwise: paths.contains(config::NAME),
        }
    }
}
