//! What was read of one file, and how it is read.

use std::sync::Arc;

use super::super::skip::{Layout, Skip};
use super::super::wanted::{self, Need, Wanted};
use super::super::{Asked, DEFAULT_NAMESPACE, rollout, text};
use super::pass::Pass;
use crate::config::Config;
use crate::model::{Finding, Position};
use crate::yaml::{self, RawDocument};

/// What was read of one file.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) skip: Option<Skip>,
    /// Or users' scripts.
    may_hold_rollouts: bool,
    /// What the first pass found; absent where it found nothing.
    pub(super) rollouts: Option<Arc<Pass>>,
    /// What the second pass found.
    pub(super) needed: Option<Arc<Pass>>,
}

impl Record {
    /// What both passes found.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Arc<Pass>> {
        self.rollouts.iter().chain(&self.needed)
    }
}

/// Reads files one by one.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) config: &'a Config,
    pub(super) asked: &'a Asked,
}

impl Reader<'_> {
    /// What the first pass finds, and whether that was known before.
    pub(super) fn rollouts(&self, path: &str, bytes: &Arc<[u8]>, layout: &Layout, known: Option<&Record>) -> (Record, bool) {
        let skip = layout.skip(path, bytes, self.config);
        if let Some(record) = known.filter(|record| record.skip == skip || (record.skip == Some(Skip::Binary) && skip.is_none())) {
            return (record.clone(), true);
        }
        let skipped = |skip: Skip, findings: Vec<Finding>| {
            let rollouts = Pass { findings, ..Pass::default() }.kept();
            (Record { skip: Some(skip), may_hold_rollouts: false, rollouts, needed: None }, false)
        };
        if let Some(skip) = skip {
            let is_lost = matches!(skip, Skip::Large | Skip::Output | Skip::Outside) && holds_rollout(path, bytes);
            return skipped(skip, if is_lost { vec![lost(path, skip, bytes.len())] } else { Vec::new() });
        }
        let text = match text::read(bytes) {
            Ok(text) => text,
            Err(fault) if text::guessed(bytes).contains(rollout::GROUP) => return skipped(Skip::Binary, vec![fault.finding(path)]),
            Err(_) => return skipped(Skip::Binary, Vec::new()),
        };
        let mut pass = Pass::default();
        let may_hold_rollouts = text.contains(rollout::GROUP) || text.contains(wanted::SCRIPTS);
        if may_hold_rollouts {
            match yaml::split(text) {
                Ok(documents) => {
                    let documents = documents.iter().filter(|raw| wanted::may_hold_rollouts(raw.text));
                    pass = self.pass(path, documents, wanted::seems_to_hold_rollouts);
                }
                Err(error) => pass.fault(path, text, 1, &error),
            }
        }
        (Record { skip: None, may_hold_rollouts, rollouts: pass.kept(), needed: None }, false)
    }

    /// Adds what the second pass finds.
    pub(super) fn needed(&self, path: &str, bytes: &[u8], record: Record, wanted: &Wanted) -> Record {
        let pass = match record.skip {
            None => self.named(path, bytes, record.may_hold_rollouts, wanted),
            // What the first pass has said needs not be said twice.
            Some(Skip::Binary) if record.rollouts.is_none() => Pass { findings: missed(path, bytes, wanted), ..Pass::default() },
            Some(_) => return record,
        };
        Record { needed: pass.kept(), ..record }
    }

    fn named(&self, path: &str, bytes: &[u8], may_hold_rollouts: bool, wanted: &Wanted) -> Pass {
        let Ok(text) = std::str::from_utf8(bytes) else { return Pass::default() };
        match yaml::split(text) {
            Ok(documents) => {
                let need = |raw: &RawDocument<'_>| {
                    if may_hold_rollouts && wanted::may_hold_rollouts(raw.text) { Need::Nothing } else { wanted.need(raw.text) }
                };
                let (mut needed, mut deferred) = (Vec::new(), Vec::new());
                for (index, raw) in documents.iter().enumerate() {
                    match need(raw) {
                        Need::Now => needed.push(raw),
                        Need::Deferred => deferred.push(index),
                        Need::Nothing => {}
                    }
                }
                Pass { deferred, ..self.pass(path, needed.into_iter(), |text| wanted.is_among(text)) }
            }
            // The first pass has said so, if it is worth saying.
            Err(_) => Pass { unparsable: usize::from(!may_hold_rollouts), ..Pass::default() },
        }
    }

    fn pass<'a>(&self, path: &str, documents: impl Iterator<Item = &'a RawDocument<'a>>, is_among: impl Fn(&str) -> bool) -> Pass {
        let environment = self.config.environment_of(path).and_then(|index| self.config.environments.get(index));
        let namespace = environment.and_then(|environment| environment.namespace.as_deref()).unwrap_or(DEFAULT_NAMESPACE);
        Pass::read(path, documents, namespace, self.asked, is_among)
    }
}

/// What is wrong with a file that is no text and holds something that a Rollout names.
fn missed(path: &str, bytes: &[u8], wanted: &Wanted) -> Vec<Finding> {
    let Some(fault) = text::read(bytes).err().filter(|_| !wanted.is_empty()) else { return Vec::new() };
    let guessed = text::guessed(bytes);
    let documents = yaml::split(&guessed).unwrap_or_default();
    documents.iter().any(|raw| wanted.is_named(raw.text)).then(|| fault.finding(path)).into_iter().collect()
}

fn holds_rollout(path: &str, bytes: &[u8]) -> bool {
    let is_yaml = [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending));
    is_yaml
        && std::str::from_utf8(bytes).is_ok_and(|text| {
            text.contains(rollout::GROUP) && text.lines().any(|line| line.trim() == "kind: Rollout" && !line.starts_with(' '))
        })
}

fn lost(path: &str, skip: Skip, length: usize) -> Finding {
    let finding = if skip == Skip::Large {
        let message = format!("a Rollout in a file of {} MiB is not read", length / (1024 * 1024));
        Finding::error("file-too-large", message).help("put the Rollout into a file of less than 4 MiB")
    } else if skip == Skip::Outside {
        let message = "a Rollout in no environment's folder is not read";
        Finding::note("rollout-outside", message).help("name its folder as the `path` of an environment in `.rollout.yaml`")
    } else {
        let message = "a Rollout in the folder that plans are written to is not read";
        Finding::warning("rollout-in-output", message).help("move it, or choose another `output` in `.rollout.yaml`")
    };
    finding.at(path, Position { line: 1, column: 1 })
}
