//! What one pass found in one file.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::understood::Understood;
use super::super::{Asked, lists, neighbors, rollout};
use crate::model::{Finding, Position, Source, Stored};
use crate::yaml::{self, RawDocument};

/// What one pass found in one file.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) sources: Vec<Arc<Stored>>,
    /// Those of them that are Rollouts.
    pub(super) rollouts: Vec<Arc<Understood>>,
    pub(super) findings: Vec<Finding>,
    pub(super) unparsable: usize,
    /// Which of the documents may hold neighbors of a release.
    pub(super) deferred: Vec<usize>,
}

impl Pass {
    /// Reads documents, whose objects are in `namespace` where they say none. Where a `---` is missing between two objects, all but
    /// the last would be lost in silence: an error if one of them is `among` those that matter.
    pub(super) fn read<'a>(
        path: &str,
        documents: impl Iterator<Item = &'a RawDocument<'a>>,
        namespace: &str,
        asked: &Asked,
        is_among: impl Fn(&str) -> bool,
    ) -> Self {
        let mut pass = Self::default();
        for raw in documents {
            match yaml::read(raw) {
                Ok(Some(document)) => {
                    if let Some(position) = lists::second_object(&document).filter(|_| is_among(raw.text)) {
                        pass.findings.push(joined(path, position));
                        continue;
                    }
                    pass.findings.extend(lists::nameless(&document, path));
                    for source in lists::sources(document, path, namespace) {
                        pass.add(source, asked);
                    }
                }
                Ok(None) => {}
                Err(error) => pass.fault(path, raw.text, raw.first_line, &error),
            }
        }
        pass
    }

    /// The same; none where nothing was found.
    pub(super) fn kept(self) -> Option<Arc<Self>> {
        let is_empty = self.sources.is_empty() && self.findings.is_empty() && self.unparsable == 0 && self.deferred.is_empty();
        (!is_empty).then(|| Arc::new(self))
    }

    /// The objects in the deferred documents of the file that hold one of the words. What cannot be read is none.
    pub(super) fn neighbors(&self, path: &str, bytes: &[u8], namespace: &str, words: &HashSet<&str>) -> Vec<Arc<Stored>> {
        let all = std::str::from_utf8(bytes).ok().and_then(|text| yaml::split(text).ok()).unwrap_or_default();
        let connected = self.deferred.iter().filter_map(|index| all.get(*index)).filter(|raw| neighbors::has_any(raw.text, words));
        let read = connected.filter_map(|raw| yaml::read(raw).ok()?);
        let sources = read.flat_map(|document| lists::sources(document, path, namespace));
        sources.filter(|source| neighbors::is_linked(&source.object.kind)).map(|source| Arc::new(Stored::new(source))).collect()
    }

    fn add(&mut self, source: Source, asked: &Asked) {
        let rollout = rollout::is_rollout(&source.object).then(|| Understood::read(&source, asked));
        self.sources.push(Arc::new(Stored::new(source)));
        self.rollouts.extend(rollout.map(Arc::new));
    }

    /// Adds what is wrong with a text that begins on the line `first_line` of the file.
    pub(super) fn fault(&mut self, path: &str, text: &str, first_line: u32, error: &yaml::ReadError) {
        self.unparsable += 1;
        let is_template = text.contains("{{");
        if text.contains(rollout::GROUP) || !is_template {
            let finding = Finding::error("unreadable", format!("this cannot be read: {}", error.message)).at(path, error.position);
            let line = text.lines().nth(error.position.line.saturating_sub(first_line) as usize).unwrap_or_default();
            let is_indented_by_tab = line.trim_start_matches(' ').starts_with('\t');
            self.findings.push(match (is_template, is_indented_by_tab) {
                (true, _) => finding.help("it looks like a template: render it first"),
                (false, true) => finding.help("indent by spaces: YAML takes no tabs there"),
                (false, false) => finding,
            });
        }
    }
}

/// The finding for a document that holds more than one object.
fn joined(path: &str, position: Position) -> Finding {
    let message = "a second object begins here without a `---` before it: only the last object of a document counts";
    Finding::error("documents-joined", message).at(path, position).help("write a line `---` between the two objects")
}
