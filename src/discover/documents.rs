//! The objects of a repository that a release can need, read from its files.
//!
//! Two passes: the first parses Rollouts, the second only what those name. Everything else is looked at by its lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::skip::{self, Layout, Skip};
use super::wanted::{self, Wanted};
use super::{Asked, Counts, lists, rollout};
use crate::config::Config;
use crate::files::Files;
use crate::model::{Finding, Position, Source};
use crate::yaml::{self, RawDocument};

/// What was read of each file.
#[derive(Debug, Clone)]
pub struct Documents {
    pub(super) files: Files,
    records: BTreeMap<String, Record>,
    pub(super) asked: Asked,
    wanted: Wanted,
    pub(super) counts: Counts,
}

/// What was read of one file.
#[derive(Debug, Clone)]
struct Record {
    skip: Option<Skip>,
    first: Arc<Pass>,
    second: Arc<Pass>,
}

/// What one pass found in one file.
#[derive(Debug, Default)]
struct Pass {
    sources: Vec<Arc<Source>>,
    findings: Vec<Finding>,
    unparsable: usize,
}

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
    pub(super) fn sources(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.records.values().flat_map(|record| record.first.sources.iter().chain(&record.second.sources))
    }

    /// What is wrong with files.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.records.values().flat_map(|record| record.first.findings.iter().chain(&record.second.findings))
    }
}

fn read_again(files: Files, config: &Config, asked: Asked, before: Option<&Documents>) -> Documents {
    let layout = skip::layout(&files);
    let entries: Vec<(&str, &Arc<[u8]>)> = files.iter().collect();
    let first = |(path, bytes): &(&str, &Arc<[u8]>)| {
        let known = before.and_then(|before| Some((before.records.get(*path)?, before.files.get(path)?)));
        let known = known.filter(|(_, old)| Arc::ptr_eq(old, bytes) || ***old == ***bytes).map(|(record, _)| record);
        first_pass(path, bytes, &layout, config, known)
    };
    let firsts: Vec<Record> = entries.par_iter().with_min_len(64).map(first).collect();
    let mut wanted = Wanted::default();
    for source in firsts.iter().flat_map(|record| &record.first.sources) {
        if rollout::is_rollout(source) && asked.is_asked(source) {
            wanted.add(source);
        }
    }
    // What was read for more Rollouts than these serves these as well.
    let wanted = match before.filter(|before| wanted.is_within(&before.wanted)) {
        Some(before) => before.wanted.clone(),
        None => wanted,
    };
    let is_same = before.is_some_and(|before| before.wanted == wanted);
    let second = |((path, bytes), record): (&(&str, &Arc<[u8]>), Record)| {
        let is_known =
            is_same && before.and_then(|before| before.records.get(*path)).is_some_and(|old| Arc::ptr_eq(&old.first, &record.first));
        if is_known || record.skip.is_some() {
            record
        } else {
            Record { second: Arc::new(second_pass(path, bytes, config, &wanted)), ..record }
        }
    };
    let records: Vec<Record> = entries.par_iter().with_min_len(64).zip(firsts).map(second).collect();
    let counts = count(&records);
    let records = entries.iter().map(|(path, _)| (*path).to_owned()).zip(records).collect();
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
        counts.unparsable += record.first.unparsable + record.second.unparsable;
        counts.objects += record.first.sources.len() + record.second.sources.len();
    }
    counts
}

fn first_pass(path: &str, bytes: &Arc<[u8]>, layout: &Layout, config: &Config, known: Option<&Record>) -> Record {
    let skip = layout.skip(path, bytes, config);
    if let Some(record) = known.filter(|record| record.skip == skip || (record.skip == Some(Skip::Binary) && skip.is_none())) {
        return record.clone();
    }
    let skipped = |skip: Skip, findings: Vec<Finding>| Record {
        skip: Some(skip),
        first: Arc::new(Pass { findings, ..Pass::default() }),
        second: Arc::default(),
    };
    if let Some(skip) = skip {
        let is_lost = matches!(skip, Skip::Large | Skip::Output) && holds_rollout(path, bytes);
        return skipped(skip, if is_lost { vec![lost(path, skip, bytes.len())] } else { Vec::new() });
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        Err(error) if names_rollouts(bytes) => return skipped(Skip::Binary, vec![not_text(path, bytes, error.valid_up_to())]),
        Ok(_) | Err(_) => return skipped(Skip::Binary, Vec::new()),
    };
    let mut pass = Pass::default();
    if is_read_first(text) {
        match yaml::split(text) {
            Ok(documents) => pass = parse(path, &documents, config, wanted::is_first, wanted::is_first_among),
            Err(error) => pass.fault(path, text, 1, &error),
        }
    }
    Record { skip: None, first: Arc::new(pass), second: Arc::default() }
}

fn is_read_first(text: &str) -> bool {
    text.contains(rollout::GROUP) || text.contains(wanted::SCRIPTS)
}

fn second_pass(path: &str, bytes: &[u8], config: &Config, wanted: &Wanted) -> Pass {
    let Ok(text) = std::str::from_utf8(bytes) else { return Pass::default() };
    match yaml::split(text) {
        Ok(documents) => {
            let is_needed = |text: &str| !wanted::is_first(text) && wanted.is_needed(text);
            parse(path, &documents, config, is_needed, |text| wanted.is_among(text))
        }
        // The first pass has said so, if it is worth saying.
        Err(_) => Pass { unparsable: usize::from(!is_read_first(text)), ..Pass::default() },
    }
}

/// Reads the documents that are needed. Where a `---` is missing between two objects, all but the last would be lost in
/// silence: an error if one of them is `among` those that matter.
fn parse(
    path: &str,
    documents: &[RawDocument<'_>],
    config: &Config,
    is_needed: impl Fn(&str) -> bool,
    is_among: impl Fn(&str) -> bool,
) -> Pass {
    let mut pass = Pass::default();
    let environment = config.environment_of(path).and_then(|index| config.environments.get(index));
    let namespace = environment.and_then(|environment| environment.namespace.as_deref()).unwrap_or(super::DEFAULT_NAMESPACE);
    for raw in documents.iter().filter(|raw| is_needed(raw.text)) {
        match yaml::read(raw) {
            Ok(Some(document)) => match lists::second_object(&document).filter(|_| is_among(raw.text)) {
                Some(position) => pass.findings.push(joined(path, position)),
                None => pass.sources.extend(lists::sources(document, path, namespace)),
            },
            Ok(None) => {}
            Err(error) => pass.fault(path, raw.text, raw.first_line, &error),
        }
    }
    pass
}

impl Pass {
    /// `text` begins on the line `first_line` of the file.
    fn fault(&mut self, path: &str, text: &str, first_line: u32, error: &yaml::ReadError) {
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

/// Whether bytes that may not be text name the API group of Rollouts.
fn names_rollouts(bytes: &[u8]) -> bool {
    bytes.windows(rollout::GROUP.len()).any(|window| window == rollout::GROUP.as_bytes())
}

/// The finding for a file that names a Rollout and is no text from the byte at `start` on.
fn not_text(path: &str, bytes: &[u8], start: usize) -> Finding {
    let before = String::from_utf8_lossy(&bytes[..start]);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    let position = Position { line: number(before.matches('\n').count()), column: number(last.chars().count()) };
    let message = format!("this cannot be read: the byte 0x{:02x} is not UTF-8 text", bytes.get(start).copied().unwrap_or_default());
    Finding::error("unreadable", message).at(path, position).help("save the file as UTF-8")
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
    } else {
        let message = "a Rollout in the folder that plans are written to is not read";
        Finding::warning("rollout-in-output", message).help("move it, or choose another `output` in `.rollout.yaml`")
    };
    finding.at(path, Position { line: 1, column: 1 })
}
