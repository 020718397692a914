//! What is known of a Rollout when its document was read: all that is needed of it to find what it names.

use super::Asked;
use super::rollout;
use super::wanted::Wanted;
use crate::model::{Finding, ObjectRef, Position, Rollout, Source};

/// A Rollout of a file, sound or not.
#[derive(Debug)]
pub(super) struct Understood {
    /// Its name in a cluster.
    pub(super) object: ObjectRef,
    /// The file.
    pub(super) path: String,
    /// The Rollout, as far as it can be understood.
    pub(super) rollout: Option<Rollout>,
    /// Its faults, all at once.
    pub(super) findings: Vec<Finding>,
    /// What it names, valid or not.
    pub(super) wanted: Wanted,
    /// Whether it is among those that somebody asks for.
    pub(super) is_asked: bool,
    /// Where it stands in the file, if it says no namespace.
    pub(super) bare: Option<Position>,
}

impl Understood {
    /// Reads a Rollout.
    pub(super) fn read(source: &Source, asked: &Asked) -> Self {
        let (mut findings, mut wanted) = (Vec::new(), Wanted::default());
        let rollout = rollout::read(source, &mut findings);
        wanted.add(source);
        let (object, path) = (source.object.clone(), source.path.clone());
        let bare = source.manifest.namespace().is_none().then(|| source.places.at(""));
        let is_asked = asked.is_asked(source, &wanted);
        Self { object, path, rollout, findings, wanted, is_asked, bare }
    }
}
