//! The objects of a repository that a release can need, read from its files.
//!
//! Two passes: the first parses Rollouts, the second only what those name. Everything else is looked at by its lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use self::pass::Pass;
use self::record::{Reader, Record};
use super::skip::{self, Skip};
use super::understood::Understood;
use super::wanted::Wanted;
use super::{Asked, Counts, gateways, neighbors, text};
use crate::config::Config;
use crate::files::Files;
use crate::model::{Finding, NeighborIndex, Severity, Stored};

mod pass;
mod record;

/// What was read of each file.
#[derive(Debug, Clone)]
pub struct Documents {
    pub(super) files: Files,
    /// One for each file, in their order.
    records: Vec<Record>,
    pub(super) asked: Asked,
    pub(super) wanted: Wanted,
    pub(super) counts: Counts,
}

/// A file's path and its bytes.
type Entry<'a> = (&'a str, &'a Arc<[u8]>);

/// What was read of a file before, and of which bytes.
type Known<'a> = Option<(&'a Record, &'a Arc<[u8]>)>;

/// Reads the objects that the Rollouts among `files` need.
pub fn read(files: &Files, config: &Config) -> Documents {
    read_asked(files, config, Asked::all())
}

/// Reads all Rollouts among `files`, and the objects that those need which are asked for.
pub fn read_asked(files: &Files, config: &Config, asked: Asked) -> Documents {
    read_again(files.clone(), config, asked, None)
}

impl Documents {
    /// The same repository with other versions of some files and without others; all else is shared, not read again.
    #[must_use]
    pub fn overlaid(&self, changed: &Files, removed: &BTreeSet<String>, config: &Config) -> Self {
        let mut files = self.files.clone();
        for path in removed {
            files.remove(path);
        }
        for (path, bytes) in changed.iter() {
            files.insert(path, bytes.clone());
        }
        read_again(files, config, self.asked.clone(), Some(self))
    }

    /// Another state of the same repository; what is the same bytes in both is shared, not read again.
    #[must_use]
    pub fn replaced(&self, files: Files, config: &Config) -> Self {
        read_again(files, config, self.asked.clone(), Some(self))
    }

    /// Every object read, in the order of paths and of documents.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.passes().flat_map(|pass| &pass.sources)
    }

    /// The Rollouts among them.
    pub(super) fn rollouts(&self) -> impl Iterator<Item = &Arc<Understood>> {
        self.passes().flat_map(|pass| &pass.rollouts)
    }

    /// The objects read in the files of an environment, `sources`, and those that are connected to them although no Rollout
    /// names them. Objects without a namespace are in `namespace`.
    pub(super) fn neighbors(&self, config: &Config, environment: usize, namespace: &str, sources: &[Arc<Stored>]) -> NeighborIndex {
        let deferred = |record: &Record| record.needed.clone().filter(|pass| !pass.deferred.is_empty());
        let deferred = self.files.iter().zip(&self.records).filter_map(|(file, record)| Some((file, deferred(record)?)));
        let inside = deferred.filter(|((path, _), _)| config.environment_of(path) == Some(environment));
        let deferred: Vec<_> = inside.map(|((path, bytes), pass)| (path.to_owned(), Arc::clone(bytes), pass)).collect();
        let (namespace, sources) = (namespace.to_owned(), sources.to_vec());
        NeighborIndex::new(move || {
            let words = neighbors::words(sources.iter());
            let connected = deferred.iter().flat_map(|(path, bytes, pass)| pass.neighbors(path, bytes, &namespace, &words));
            let connected: Vec<_> = connected.collect();
            sources.iter().cloned().chain(connected).collect()
        })
    }

    /// Whether a file with an error holds the name of a Rollout.
    pub(super) fn is_hidden(&self, name: &str) -> bool {
        let is_faulty =
            |record: &Record| record.rollouts.iter().flat_map(|pass| &pass.findings).any(|finding| finding.severity == Severity::Error);
        self.files.iter().zip(&self.records).any(|((_, bytes), record)| is_faulty(record) && text::guessed(bytes).contains(name))
    }

    /// What is wrong with files.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.passes().flat_map(|pass| &pass.findings)
    }

    fn passes(&self) -> impl Iterator<Item = &Arc<Pass>> {
        self.records.iter().flat_map(Record::passes)
    }

    /// What is known of each of these files, in their order.
    fn known(&self, files: &Files) -> Vec<Known<'_>> {
        let mut mine = self.files.iter().zip(&self.records).peekable();
        let known = |path: &str| {
            while mine.next_if(|((known, _), _)| *known < path).is_some() {}
            mine.next_if(|((known, _), _)| *known == path).map(|((_, bytes), record)| (record, bytes))
        };
        files.iter().map(|(path, _)| path).map(known).collect()
    }
}

fn read_again(files: Files, config: &Config, asked: Asked, before: Option<&Documents>) -> Documents {
    let layout = skip::layout(&files);
    let reader = Reader { config, asked: &asked };
    let entries: Vec<Entry<'_>> = files.iter().collect();
    let known = before.map_or_else(|| vec![None; entries.len()], |before| before.known(&files));
    let first = |((path, bytes), known): (&Entry<'_>, Known<'_>)| {
        let known = known.filter(|(_, old)| Arc::ptr_eq(old, bytes) || ***old == ***bytes).map(|(record, _)| record);
        reader.rollouts(path, bytes, &layout, known)
    };
    let firsts: Vec<(Record, bool)> = entries.par_iter().with_min_len(64).zip(known).map(first).collect();
    // What the Rollouts of another state name is looked for as well: an object may be older than the Rollout that names it.
    let wanted = before.map(|before| before.wanted.clone()).unwrap_or_default();
    let mut wanted = wanted.with_companions(gateways::suffixes(&files));
    let passes = firsts.iter().filter_map(|(record, _)| record.rollouts.as_ref());
    for rollout in passes.flat_map(|pass| &pass.rollouts).filter(|rollout| rollout.is_asked) {
        wanted.extend(&rollout.wanted);
    }
    let is_same = before.is_some_and(|before| before.wanted == wanted);
    let second = |((path, bytes), (record, is_known)): (&Entry<'_>, (Record, bool))| {
        if is_same && is_known { record } else { reader.needed(path, bytes, record, &wanted) }
    };
    let records: Vec<Record> = entries.par_iter().with_min_len(64).zip(firsts).map(second).collect();
    let counts = count(&records);
    Documents { files, records, asked, wanted, counts }
}

fn count(records: &[Record]) -> Counts {
    let mut counts = Counts { files: records.len(), ..Counts::default() };
    for record in records {
        match record.skip {
            None => counts.read += 1,
            Some(Skip::Unrelated | Skip::Script) => counts.unrelated += 1,
            Some(Skip::Output) => counts.output += 1,
            Some(Skip::Outside) => counts.outside += 1,
            Some(Skip::Helm) => counts.helm += 1,
            Some(Skip::Values) => counts.values += 1,
            Some(Skip::Kustomization) => counts.kustomizations += 1,
            Some(Skip::Patch) => counts.patches += 1,
            Some(Skip::Large) => counts.large += 1,
            Some(Skip::Binary) => counts.binary += 1,
        }
        for pass in record.passes() {
            counts.unparsable += pass.unparsable;
            counts.objects += pass.sources.len();
        }
    }
    counts
}
