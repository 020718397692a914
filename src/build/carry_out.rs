//! Building: every job's output takes the place of the files that it was made from.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use super::closure::{self, Closure};
use super::kustomization;
use super::kustomize::CommandLine;
use super::origin::{Origin, Origins};
use super::program::{self, Failed, Limits, Programs};
use super::snapshot::Snapshot;
use super::tree::{Below, Kind, Tree};
use super::work::{Job, Recipe, Work, is_kept, is_made};
use super::{helm, kustomize};
use crate::config::Chart;
use crate::files::Files;
use crate::model::{Finding, Position};

/// A revision of which everything is built.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The files to read: those that builds are made from are gone, what they made is there.
    pub files: Files,
    /// What each built file was made from.
    pub origins: Origins,
    /// Why something could not be built, or was left out.
    pub findings: Vec<Finding>,
    /// What each job was made from, by its output.
    closures: BTreeMap<String, Closure>,
}

impl Built {
    /// Whether the file at an absolute path has a say in what was built.
    pub fn is_made_from(&self, path: &Utf8Path) -> bool {
        self.closures.values().any(|closure| closure.holds(path))
    }
}

/// Builds a revision whose files are `files`, and of which `tree` holds the rest. A job is not done again when it was done for
/// `known` and none of the files `touched` since, by absolute paths, has a say in it.
pub fn carry_out(
    work: &Work,
    files: &Files,
    tree: &dyn Tree,
    known: Option<(&Built, &BTreeSet<Utf8PathBuf>)>,
    programs: &Programs,
    limits: Limits,
) -> Built {
    let mut built = Built { files: files.clone(), ..Built::default() };
    if work.is_empty() {
        return built;
    }
    let mut snapshot = match Snapshot::new() {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let message = format!("no folder for temporary files can be made: {error}");
            built.findings.push(Finding::error("build-failed", message).help("free some space, or set `TMPDIR`"));
            return built;
        }
    };
    let mut ready = Vec::new();
    let mut done = Vec::new();
    for job in &work.jobs {
        if let Some((output, closure)) = known.and_then(|(known, touched)| unchanged(job, known, touched)) {
            built.closures.insert(job.output.clone(), closure);
            done.push((job, output));
            continue;
        }
        let Some(closure) = closure_of(work, job, tree) else { continue };
        built.findings.extend_from_slice(&closure.findings);
        if closure.findings.is_empty() {
            match prepared(work, job, &closure, tree, &mut snapshot, programs) {
                Ok(command) => ready.push((job, command)),
                Err(finding) => built.findings.push(*finding),
            }
        }
        built.closures.insert(job.output.clone(), closure);
    }
    let home = snapshot.home();
    let run = |(_, command): &(&Job, CommandLine)| {
        let (program, arguments) = programs.isolated(&command.program, &command.arguments);
        program::run(&program, &arguments, &home, limits)
    };
    let outcomes: Vec<_> = ready.par_iter().map(run).collect();
    for ((job, command), outcome) in ready.iter().zip(outcomes) {
        match outcome {
            Ok(output) => done.push((job, output.into())),
            Err(failed) => built.findings.push(refused(work, job, tree, command, &failed, &snapshot)),
        }
    }
    for path in claimed(work, files, &built.closures, &mut built.findings) {
        built.files.remove(&path);
    }
    for (job, output) in done {
        let chart = if let Recipe::Chart(chart) = &job.recipe { Some(chart.folder.clone()) } else { None };
        built.origins.insert(job.output.clone(), Origin { shown: shown_file(work, job, tree), chart, text: Arc::clone(&output) });
        built.files.insert(job.output.clone(), output);
    }
    built
}

fn unchanged(job: &Job, known: &Built, touched: &BTreeSet<Utf8PathBuf>) -> Option<(Arc<[u8]>, Closure)> {
    let closure = known.closures.get(&job.output)?;
    let output = known.files.get(&job.output)?;
    (!touched.iter().any(|path| closure.holds(path))).then(|| (Arc::clone(output), closure.clone()))
}

/// What the job is made from; none when it is not there and nobody said that it should be.
fn closure_of(work: &Work, job: &Job, tree: &dyn Tree) -> Option<Closure> {
    let show = |path: &Utf8Path| shown(work, path);
    match &job.recipe {
        Recipe::Kustomization(folder) => {
            let folder = work.at(folder);
            let is_there = kustomization::NAMES.iter().any(|name| tree.kind(&folder.join(name)) == Some(Kind::File));
            (is_there || job.is_configured).then(|| closure::of(&folder, tree, &show))
        }
        Recipe::Chart(chart) => Some(chart_closure(work, chart, tree)),
    }
}

fn chart_closure(work: &Work, chart: &Chart, tree: &dyn Tree) -> Closure {
    let folder = work.at(&chart.folder);
    let mut closure = Closure { names_rollouts: true, ..Closure::default() };
    if tree.kind(&folder) == Some(Kind::Link) || tree.kind(&folder.join("Chart.yaml")) == Some(Kind::Link) {
        closure.findings.push(closure::linked(&chart.folder));
    } else if chart.folder.contains(":/") {
        let message = format!("the chart `{}` is on the network, and builds have none", chart.folder);
        let help = "`helm pull --untar` it into the repository, or pipe `helm template` into `rollout render -`";
        closure.findings.push(Finding::error("chart-remote", message).help(help));
    } else if tree.kind(&folder.join("Chart.yaml")) != Some(Kind::File) {
        let message = format!("there is no chart in `{}`", chart.folder);
        closure.findings.push(Finding::error("build-input-missing", message).help("name a folder with a `Chart.yaml`"));
    }
    for values in &chart.values {
        let path = work.at(values);
        match tree.kind(&path) {
            Some(Kind::File) => {}
            Some(Kind::Link) => closure.findings.push(closure::linked(values)),
            Some(Kind::Folder) | None => {
                let message = format!("there is no file of values `{values}`");
                closure
                    .findings
                    .push(Finding::error("build-input-missing", message).help("correct the path, which is relative to the root"));
            }
        }
        closure.files.insert(path);
    }
    closure.folders.insert(folder);
    closure
}

/// The command that does the job, and a copy of its files that it finds them in.
fn prepared(
    work: &Work,
    job: &Job,
    closure: &Closure,
    tree: &dyn Tree,
    snapshot: &mut Snapshot,
    programs: &Programs,
) -> Result<CommandLine, Box<Finding>> {
    for path in inputs(work, job, closure, tree)? {
        copy(&path, tree, snapshot).map_err(|error| {
            let message = format!("the files of `{}` cannot be copied: {error}", shown_file(work, job, tree));
            Box::new(Finding::error("build-failed", message))
        })?;
    }
    let place = |path: &str| snapshot.place_of(&work.at(path));
    let (command, wanted) = match &job.recipe {
        Recipe::Kustomization(folder) => (kustomize::command(&place(folder), programs), "`kustomize` or `kubectl`"),
        Recipe::Chart(chart) => (helm::command(chart, &place, programs), "`helm`"),
    };
    command.ok_or_else(|| {
        let message = format!("`{}` needs {wanted}, which is not on the PATH", shown_file(work, job, tree));
        let finding = Finding::error("build-program-missing", message);
        let finding = at_start(finding, &shown_file(work, job, tree));
        Box::new(finding.help("install it, or read the files as they stand: `--no-build`, or `build: none` in `.rollout.yaml`"))
    })
}

/// All files that a job is made from.
fn inputs(work: &Work, job: &Job, closure: &Closure, tree: &dyn Tree) -> Result<Vec<Utf8PathBuf>, Box<Finding>> {
    let mut inputs: Vec<Utf8PathBuf> = closure.files.iter().cloned().collect();
    let whole = match job.recipe {
        Recipe::Kustomization(_) => &closure.whole,
        Recipe::Chart(_) => &closure.folders,
    };
    for below in whole.iter().flat_map(|folder| tree.below(folder)) {
        match (below, &job.recipe) {
            (Below::File(path), _) => inputs.push(path),
            // Nobody knows which files templates read: without one of them the chart is another.
            (Below::Link(path), Recipe::Chart(_)) => {
                return Err(Box::new(at_start(closure::linked(&shown(work, &path)), &shown_file(work, job, tree))));
            }
            // What a plugin names and does not find is an error of the program.
            (Below::Link(_), Recipe::Kustomization(_)) => {}
        }
    }
    Ok(inputs)
}

fn copy(path: &Utf8Path, tree: &dyn Tree, snapshot: &mut Snapshot) -> io::Result<()> {
    if snapshot.holds(path) {
        return Ok(());
    }
    tree.read(path).map_or(Ok(()), |bytes| snapshot.write(path, &bytes))
}

/// The files that builds are made from. Those with a Rollout that no build reads are told of.
fn claimed(work: &Work, files: &Files, closures: &BTreeMap<String, Closure>, findings: &mut Vec<Finding>) -> BTreeSet<String> {
    let folders: BTreeSet<&Utf8PathBuf> = closures.values().flat_map(|closure| &closure.folders).collect();
    let others: BTreeSet<&str> = files.iter().filter_map(|(path, _)| kustomization_folder(path)).collect();
    let mut claimed = BTreeSet::new();
    for (path, bytes) in files.iter().filter(|(path, _)| !is_kept(work, path)) {
        let absolute = work.at(path);
        if closures.values().any(|closure| closure.files.contains(&absolute)) || is_made(work, path) {
            claimed.insert(path.to_owned());
        } else if is_beside(path, work, &folders, &others) {
            claimed.insert(path.to_owned());
            if is_rollout(bytes) {
                let message = "a Rollout that no kustomization lists is not read";
                let finding = at_start(Finding::warning("kustomization-unlisted", message), path);
                findings.push(finding.help("list the file under `resources`, or take it away"));
            }
        }
    }
    claimed
}

/// Whether the nearest kustomization around the file is one that was built.
fn is_beside(path: &str, work: &Work, folders: &BTreeSet<&Utf8PathBuf>, others: &BTreeSet<&str>) -> bool {
    let mut folder = path;
    while !folder.is_empty() {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folders.contains(&work.at(folder)) {
            return true;
        }
        if others.contains(folder) {
            return false;
        }
    }
    false
}

fn kustomization_folder(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    kustomization::NAMES.contains(&name).then_some(folder)
}

fn is_rollout(bytes: &[u8]) -> bool {
    closure::names_rollouts(bytes)
        && std::str::from_utf8(bytes).is_ok_and(|text| text.lines().any(|line| line.trim_end() == "kind: Rollout"))
}

/// What the program said, where the files stand that it was given.
fn refused(work: &Work, job: &Job, tree: &dyn Tree, command: &CommandLine, failed: &Failed, snapshot: &Snapshot) -> Finding {
    let shown = shown_file(work, job, tree);
    let (name, help) = (command.name, "see what the same command says by hand; builds have no network, no variables and no plugins");
    let finding = match failed {
        Failed::Start(error) => Finding::error("build-failed", format!("`{name}` cannot be started: {error}")),
        Failed::Refused(stderr) => {
            let said = said(&snapshot.without_names(stderr).replace(&format!("{}/", work.root), ""));
            Finding::error("build-failed", format!("`{name}` cannot build this: {said}"))
        }
        Failed::TooLong(time) => Finding::error("build-too-long", format!("`{name}` was stopped after {} s", time.as_secs())),
        Failed::TooMuch(bytes) => Finding::error("build-too-large", format!("`{name}` prints more than {} MiB", bytes >> 20)),
    };
    at_start(finding, &shown).help(help)
}

/// The end of what a program wrote, where it says why, without the times that differ at every run.
fn said(stderr: &str) -> String {
    const MOST: usize = 2_000;
    let lines = stderr.lines().map(|line| {
        // `E1121 16:16:39.004969 9912 run.go:72] "command failed" err="…"`
        let is_log = line.starts_with(['E', 'W', 'I', 'F']) && line.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        line.split_once("] ").filter(|_| is_log).map_or(line, |(_, said)| said).trim()
    });
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let excess = text.chars().count().saturating_sub(MOST);
    if excess == 0 { text } else { format!("…{}", text.chars().skip(excess).collect::<String>()) }
}

fn at_start(finding: Finding, path: &str) -> Finding {
    finding.at(path, Position { line: 1, column: 1 })
}

/// The file that findings about a job point to.
fn shown_file(work: &Work, job: &Job, tree: &dyn Tree) -> String {
    match &job.recipe {
        Recipe::Kustomization(folder) => {
            let paths = kustomization::NAMES.iter().map(|name| work.at(folder).join(name));
            let path = paths.into_iter().find(|path| tree.kind(path) == Some(Kind::File));
            path.map_or_else(|| folder.clone(), |path| shown(work, &path))
        }
        Recipe::Chart(chart) => shown(work, &work.at(&chart.folder).join("Chart.yaml")),
    }
}

fn shown(work: &Work, path: &Utf8Path) -> String {
    path.strip_prefix(&work.root).unwrap_or(path).to_string()
}
