//! The objects of a repository that a release can need, read from its files.
//!
//! Two passes: the first parses Rollouts, the second only what those name. Everything else is looked at by its lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use super::skip::{self, Layout, Skip};
use super::understood::Understood;
use super::wanted::{self, Need, Wanted};
use super::{Asked, Counts, gateways, lists, rollout, text};
use crate::config::Config;
use crate::files::Files;
use crate::model::{Beside, Finding, Position, Severity, Source, Stored, Unnamed};
use crate::yaml::{self, RawDocument};

/// What was read of each file.
#[derive(Debug, Clone)]
pub struct Documents {
    pub(super) files: Files,
    /// One for each file, in their order.
    records: Vec<Record>,
    pub(super) asked: Asked,
    wanted: Wanted,
    pub(super) counts: Counts,
}

/// What was read of one file.
#[derive(Debug, Clone)]
struct Record {
    skip: Option<Skip>,
    /// Whether it may hold a Rollout or users' scripts.
    is_first: bool,
    /// Absent where nothing was found.
    first: Option<Arc<Pass>>,
    second: Option<Arc<Pass>>,
}

/// A file's path and its bytes.
type Entry<'a> = (&'a str, &'a Arc<[u8]>);

/// What was read of a file before, and of which bytes.
type Known<'a> = Option<(&'a Record, &'a Arc<[u8]>)>;

/// What one pass found in one file.
#[derive(Debug, Default)]
struct Pass {
    sources: Vec<Arc<Stored>>,
    /// Those of them that are Rollouts.
    rollouts: Vec<Arc<Understood>>,
    findings: Vec<Finding>,
    unparsable: usize,
    /// Which of the documents were put aside.
    aside: Vec<usize>,
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
    pub(super) fn sources(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.passes().flat_map(|pass| &pass.sources)
    }

    /// The Rollouts among them.
    pub(super) fn rollouts(&self) -> impl Iterator<Item = &Arc<Understood>> {
        self.passes().flat_map(|pass| &pass.rollouts)
    }

    /// The workloads that no Rollout names in the files of an environment; objects without a namespace are in `namespace`.
    pub(super) fn unnamed(&self, config: &Config, environment: usize, namespace: &str) -> Unnamed {
        let aside = |record: &Record| record.second.clone().filter(|pass| !pass.aside.is_empty());
        let aside = self.files.iter().zip(&self.records).filter_map(|(file, record)| Some((file, aside(record)?)));
        let inside = aside.filter(|((path, _), _)| config.environment_of(path) == Some(environment));
        let aside: Vec<_> = inside.map(|((path, bytes), pass)| (path.to_owned(), Arc::clone(bytes), pass)).collect();
        let namespace = namespace.to_owned();
        let read = move || aside.iter().flat_map(|(path, bytes, pass)| workloads(path, bytes, &pass.aside, &namespace)).collect();
        Unnamed::new(read)
    }

    /// Whether a file with an error holds the name of a Rollout.
    pub(super) fn is_hidden(&self, name: &str) -> bool {
        let is_faulty =
            |record: &Record| record.first.iter().flat_map(|pass| &pass.findings).any(|finding| finding.severity == Severity::Error);
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
    let entries: Vec<Entry<'_>> = files.iter().collect();
    let known = before.map_or_else(|| vec![None; entries.len()], |before| before.known(&files));
    let first = |((path, bytes), known): (&Entry<'_>, Known<'_>)| {
        let known = known.filter(|(_, old)| Arc::ptr_eq(old, bytes) || ***old == ***bytes).map(|(record, _)| record);
        first_pass(path, bytes, &layout, config, &asked, known)
    };
    let firsts: Vec<(Record, bool)> = entries.par_iter().with_min_len(64).zip(known).map(first).collect();
    // What the Rollouts of another state name is looked for as well: an object may be older than the Rollout that names it.
    let wanted = before.map(|before| before.wanted.clone()).unwrap_or_default();
    let mut wanted = wanted.with_companions(gateways::suffixes(&files));
    let passes = firsts.iter().filter_map(|(record, _)| record.first.as_ref());
    for rollout in passes.flat_map(|pass| &pass.rollouts).filter(|rollout| rollout.is_asked) {
        wanted.extend(&rollout.wanted);
    }
    let is_same = before.is_some_and(|before| before.wanted == wanted);
    let second = |(file, (record, is_known)): (&Entry<'_>, (Record, bool))| {
        let (path, bytes) = *file;
        if is_same && is_known {
            return record;
        }
        let pass = match record.skip {
            None => second_pass(path, bytes, record.is_first, config, &asked, &wanted),
            // What the first pass has said needs not be said twice.
            Some(Skip::Binary) if record.first.is_none() => Pass { findings: missed(path, bytes, &wanted), ..Pass::default() },
            Some(_) => return record,
        };
        Record { second: pass.kept(), ..record }
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

/// What the first pass finds, and whether that was known before.
fn first_pass(path: &str, bytes: &Arc<[u8]>, layout: &Layout, config: &Config, asked: &Asked, known: Option<&Record>) -> (Record, bool) {
    let skip = layout.skip(path, bytes, config);
    if let Some(record) = known.filter(|record| record.skip == skip || (record.skip == Some(Skip::Binary) && skip.is_none())) {
        return (record.clone(), true);
    }
    let skipped = |skip: Skip, findings: Vec<Finding>| {
        let first = Pass { findings, ..Pass::default() }.kept();
        (Record { skip: Some(skip), is_first: false, first, second: None }, false)
    };
    if let Some(skip) = skip {
        let is_lost = matches!(skip, Skip::Large | Skip::Output) && holds_rollout(path, bytes);
        return skipped(skip, if is_lost { vec![lost(path, skip, bytes.len())] } else { Vec::new() });
    }
    let text = match text::read(bytes) {
        Ok(text) => text,
        Err(fault) if text::guessed(bytes).contains(rollout::GROUP) => return skipped(Skip::Binary, vec![fault.finding(path)]),
        Err(_) => return skipped(Skip::Binary, Vec::new()),
    };
    let mut pass = Pass::default();
    let is_first = text.contains(rollout::GROUP) || text.contains(wanted::SCRIPTS);
    if is_first {
        match yaml::split(text) {
            Ok(documents) => {
                let needed = documents.iter().filter(|raw| wanted::is_first(raw.text));
                pass = parse(path, needed, config, asked, wanted::is_first_among);
            }
            Err(error) => pass.fault(path, text, 1, &error),
        }
    }
    (Record { skip: None, is_first, first: pass.kept(), second: None }, false)
}

fn second_pass(path: &str, bytes: &[u8], is_first: bool, config: &Config, asked: &Asked, wanted: &Wanted) -> Pass {
    let Ok(text) = std::str::from_utf8(bytes) else { return Pass::default() };
    match yaml::split(text) {
        Ok(documents) => {
            let need = |raw: &RawDocument<'_>| if is_first && wanted::is_first(raw.text) { Need::Nothing } else { wanted.need(raw.text) };
            let (mut needed, mut aside) = (Vec::new(), Vec::new());
            for (index, raw) in documents.iter().enumerate() {
                match need(raw) {
                    Need::Now => needed.push(raw),
                    Need::Aside => aside.push(index),
                    Need::Nothing => {}
                }
            }
            Pass { aside, ..parse(path, needed.into_iter(), config, asked, |text| wanted.is_among(text)) }
        }
        // The first pass has said so, if it is worth saying.
        Err(_) => Pass { unparsable: usize::from(!is_first), ..Pass::default() },
    }
}

/// What is wrong with a file that is no text and holds something that a Rollout names.
fn missed(path: &str, bytes: &[u8], wanted: &Wanted) -> Vec<Finding> {
    let Some(fault) = text::read(bytes).err().filter(|_| !wanted.is_empty()) else { return Vec::new() };
    let guessed = text::guessed(bytes);
    let documents = yaml::split(&guessed).unwrap_or_default();
    documents.iter().any(|raw| wanted.is_named(raw.text)).then(|| fault.finding(path)).into_iter().collect()
}

/// Reads documents. Where a `---` is missing between two objects, all but the last would be lost in
/// silence: an error if one of them is `among` those that matter.
fn parse<'a>(
    path: &str,
    documents: impl Iterator<Item = &'a RawDocument<'a>>,
    config: &Config,
    asked: &Asked,
    is_among: impl Fn(&str) -> bool,
) -> Pass {
    let mut pass = Pass::default();
    let environment = config.environment_of(path).and_then(|index| config.environments.get(index));
    let namespace = environment.and_then(|environment| environment.namespace.as_deref()).unwrap_or(super::DEFAULT_NAMESPACE);
    for raw in documents {
        match yaml::read(raw) {
            Ok(Some(document)) => match lists::second_object(&document).filter(|_| is_among(raw.text)) {
                Some(position) => pass.findings.push(joined(path, position)),
                None => lists::sources(document, path, namespace).into_iter().for_each(|source| pass.add(source, asked)),
            },
            Ok(None) => {}
            Err(error) => pass.fault(path, raw.text, raw.first_line, &error),
        }
    }
    pass
}

/// The workloads in some documents of a file. What cannot be read is none.
fn workloads(path: &str, bytes: &[u8], documents: &[usize], namespace: &str) -> Vec<Beside> {
    let all = std::str::from_utf8(bytes).ok().and_then(|text| yaml::split(text).ok()).unwrap_or_default();
    let read = documents.iter().filter_map(|index| yaml::read(all.get(*index)?).ok()?);
    let sources = read.flat_map(|document| lists::sources(document, path, namespace));
    sources
        .filter(|source| Beside::is_kind(&source.object.kind))
        .filter_map(|source| Beside::of(&source.object, &source.manifest))
        .collect()
}

impl Record {
    fn passes(&self) -> impl Iterator<Item = &Arc<Pass>> {
        self.first.iter().chain(&self.second)
    }
}

impl Pass {
    fn kept(self) -> Option<Arc<Self>> {
        let is_empty = self.sources.is_empty() && self.findings.is_empty() && self.unparsable == 0 && self.aside.is_empty();
        (!is_empty).then(|| Arc::new(self))
    }

    fn add(&mut self, source: Source, asked: &Asked) {
        let rollout = rollout::is_rollout(&source.object).then(|| Understood::read(&source, asked));
        self.sources.push(Arc::new(Stored::new(source)));
        self.rollouts.extend(rollout.map(Arc::new));
    }

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
