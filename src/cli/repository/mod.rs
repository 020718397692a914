//! What `render` reads: the files as they are, the files as they were, and where the plans go.

mod base;
mod paths;
mod question;
mod spot;
mod surroundings;

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::build::{Choice, Origins};
use crate::config::{self, Config};
use crate::discover::{self, Asked, Discovery, Rules};
use crate::disk::{self, Former};
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Position, Severity, Source};

use super::base_tree::BaseTree;
use super::builder::Builder;
use super::{Failure, World};

pub(super) use base::Base;
use base::Before;
use paths::utf8;
pub(super) use paths::{joined, normal};
pub(super) use question::{Destination, Question};
use spot::{Spot, spot, unread};
pub(super) use surroundings::Surroundings;

/// A repository, as it is and as it was.
pub(super) struct Repository {
    /// The folder that all paths are relative to.
    pub(super) root: Utf8PathBuf,
    /// That folder in the git repository around it; empty for the repository's root, and where there is none.
    pub(super) folder: String,
    /// The files that findings point into.
    pub(super) files: Files,
    /// Whether one file was named, and nothing beside it was read.
    pub(super) is_single: bool,
    /// Only Rollouts in files below are asked for; empty for all.
    pub(super) scope: String,
    pub(super) config: Config,
    /// Whether `.rollout.yaml` could not be understood whole.
    pub(super) is_config_faulty: bool,
    pub(super) head: Discovery,
    pub(super) base: Option<Base>,
    /// The objects of engines.
    pub(super) engines: Vec<Arc<Source>>,
    /// What was found while reading.
    pub(super) findings: Vec<Finding>,
    /// What built manifests were made from.
    pub(super) origins: Origins,
    /// Where plans go instead of below the root.
    pub(super) elsewhere: Option<Utf8PathBuf>,
    /// The git repository around the root.
    pub(super) git: Option<git::Repository>,
    /// The branch of their own that plans are committed to.
    pub(super) branch: Option<git::Branch>,
    /// Where plans are committed: what they are made from and HEAD has otherwise, by paths below the git root.
    pub(super) uncommitted: BTreeSet<String>,
}

impl Repository {
    /// Where only one file was read, an object may be missing that stands beside it: the findings say so.
    pub(super) fn tell_what_was_not_read(&self, findings: &mut [Finding]) {
        let Some((file, _)) = self.files.iter().next().filter(|_| self.is_single) else { return };
        let help = if file == disk::STREAM {
            "only the stream was read: every object of the release has to be in it".to_owned()
        } else {
            format!("only `{file}` was read: name its folder to have the objects beside it found")
        };
        let is_missing = |finding: &&mut Finding| ["workload-missing", "service-missing", "gateway-object-missing"].contains(&finding.code);
        for finding in findings.iter_mut().filter(is_missing) {
            finding.help = Some(help.clone());
        }
    }

    /// The folder that plans of this output go to.
    pub(super) fn place_of(&self, output: &str) -> Utf8PathBuf {
        self.elsewhere.clone().unwrap_or_else(|| self.root.join(output))
    }

    /// The folder that plans of this output go to, below the root of the git repository. None: it lies outside, or
    /// there is no repository.
    pub(super) fn git_folder(&self, output: &str) -> Option<String> {
        git_folder(self.git.as_ref()?, &self.root, self.elsewhere.as_deref(), output)
    }
}

/// Reads what the question asks for.
pub(super) fn read(question: Question<'_>, world: &mut World<'_>) -> Result<Repository, Failure> {
    let directory = utf8(&world.directory)?;
    let spot = spot(question, &directory, world)?;
    let mut findings = unread(&spot.reading);
    let (mut config, faults) = config::read(&spot.reading.files);
    let is_config_faulty = faults.iter().any(|fault| fault.severity == Severity::Error);
    findings.extend(faults);
    let outputs: BTreeSet<String> = config.environments.iter().map(|environment| environment.output.clone()).collect();
    let elsewhere = question.out.and_then(|out| redirect(&mut config, &spot.root, &directory.join(out)));
    if let Some(out) = question.out {
        findings.extend(outputs.iter().filter_map(|output| left_behind(output, out, &config, elsewhere.is_some(), &spot.reading.files)));
    }
    let choice = question.sources.choice(&directory, &spot.root)?;
    let is_named = matches!(choice, Choice::Kustomize(_) | Choice::Helm(_));
    if question.path == "-" && is_named {
        return Err("`-` reads a stream, and nothing is built of one\nhelp: give a folder, or take `-` away".into());
    }
    let builder = Builder::new(&spot.reading.files, &config, &choice, &spot.root, spot.git.as_ref(), world);
    findings.extend_from_slice(builder.findings());
    let config = builder.config().clone();
    let changes = spot.changes.as_ref().filter(|_| question.is_changed_only && builder.is_idle());
    let asked = changes.map_or_else(Asked::all, |changes| spot.concerned(changes, &config));
    let documents = discover::read_asked(builder.files(), &config, asked);
    let head = discover::discover(&documents, &config);
    let files = spot.reading.files.clone();
    let branch = branch(question.destination, spot.git.as_ref())?;
    let engines = discover::engines(&files, &config);
    let redirected = |config: &mut Config| {
        if let Some(out) = question.out {
            _ = redirect(config, &spot.root, &directory.join(out));
        }
    };
    let before = Before {
        question,
        spot: &spot,
        documents: &documents,
        head: &head,
        engines: &engines,
        builder: &builder,
        elsewhere: elsewhere.as_deref(),
        redirect: &redirected,
    };
    let base = before.base(&directory, branch.as_ref(), world, &mut findings)?;
    if let Some(base) = &base {
        findings.extend(discover::removed(&head, &base.discovery, &documents, &config));
        let head = discover::Head { discovery: &head, documents: &documents, files: &spot.reading.files };
        findings.extend(unread_now(head, base, &spot, &findings));
    }
    let folder = spot.git.as_ref().and_then(|git| git.prefix_of(&spot.root)).unwrap_or_default();
    let uncommitted = match &spot.git {
        Some(git) if question.destination.is_commit => uncommitted(git, &spot, &builder)?,
        Some(_) | None => BTreeSet::new(),
    };
    let origins = builder.into_origins();
    let Spot { root, scope, git, is_single, .. } = spot;
    // What is built alone may be made from files outside of the folder that was asked for.
    let scope = if is_named { String::new() } else { scope };
    Ok(Repository {
        root,
        folder,
        files,
        is_single,
        scope,
        config,
        is_config_faulty,
        head,
        base,
        engines,
        findings,
        origins,
        elsewhere,
        git,
        branch,
        uncommitted,
    })
}

/// How the codes of findings begin that say why something cannot be built.
const BUILDS: [&str; 3] = ["build-", "chart-", "kustomization-"];

/// What is said of Rollouts that only the base has, as far as they lie where it was asked.
fn unread_now(head: discover::Head<'_>, base: &Base, spot: &Spot, told: &[Finding]) -> Vec<Finding> {
    if spot.is_single {
        return Vec::new();
    }
    let (before, rules) = base.own.as_ref().map_or((&base.discovery, Rules::Same), |own| (own, Rules::Changed));
    let found = discover::unread(head, before, rules, told);
    // Of what cannot be built nothing is read, and the build says why.
    let is_built =
        !told.iter().any(|finding| finding.severity == Severity::Error && BUILDS.iter().any(|start| finding.code.starts_with(start)));
    let is_asked = |finding: &Finding| finding.place.as_ref().map_or(is_built, |place| config::is_inside(&place.path, &spot.scope));
    found.into_iter().filter(is_asked).collect()
}

/// What plans are made from and HEAD has otherwise: the files that were read, and whatever has a say in a build.
fn uncommitted(git: &git::Repository, spot: &Spot, builder: &Builder) -> Result<BTreeSet<String>, Failure> {
    let (Some(prefix), Ok(Some(head))) = (git.prefix_of(&spot.root), git.base(Some("HEAD"), None)) else { return Ok(BTreeSet::new()) };
    let is_read = |path: &str| {
        disk::is_read(path) && !builder.config().is_output(path) && (!spot.is_single || spot.reading.files.get(path).is_some())
    };
    let read = git.changes_since(&head, &prefix, &is_read)?;
    let mut uncommitted: BTreeSet<String> = read.paths().into_iter().map(|path| joined(&prefix, path)).collect();
    if !builder.is_idle() {
        let tree = BaseTree::new(git, &head, builder.root(), &prefix);
        let built = git.changes_since(&head, "", &|path| builder.is_made_from(&tree.absolute(path)))?;
        uncommitted.extend(built.paths().into_iter().map(str::to_owned));
    }
    Ok(uncommitted)
}

/// The branch of their own that plans are committed to, as the remote has it where the remote counts.
fn branch(destination: Destination<'_>, git: Option<&git::Repository>) -> Result<Option<git::Branch>, Failure> {
    let Some(name) = destination.branch else { return Ok(None) };
    let git = git.ok_or_else(|| format!("there is no git repository for the branch `{name}`"))?;
    let found = git.other_branch(name, destination.remote());
    let (Ok(_) | Err(git::GitError::Parted { .. }), Some(remote)) = (&found, destination.remote) else { return Ok(Some(found?)) };
    git.fetch(remote, name.strip_prefix("refs/heads/").unwrap_or(name))?;
    Ok(Some(git.other_branch(name, remote)?))
}

fn git_folder(git: &git::Repository, root: &Utf8Path, elsewhere: Option<&Utf8Path>, output: &str) -> Option<String> {
    git.place_of(&elsewhere.map_or_else(|| root.join(output), Utf8Path::to_owned))
}

/// Makes plans go to `out`: in the configuration when it lies below the root, so that it is not read as manifests.
fn redirect(config: &mut Config, root: &Utf8Path, out: &Utf8Path) -> Option<Utf8PathBuf> {
    let out = normal(out);
    match out.strip_prefix(root) {
        Ok(below) if !below.as_str().is_empty() => {
            for environment in &mut config.environments {
                below.as_str().clone_into(&mut environment.output);
            }
            None
        }
        _ => Some(out),
    }
}

/// The finding about plans in a configured folder, when plans go to another one now.
fn left_behind(output: &str, out: &Utf8Path, config: &Config, is_elsewhere: bool, files: &Files) -> Option<Finding> {
    if !is_elsewhere && config.environments.iter().any(|environment| environment.output == output) {
        return None;
    }
    let is_plan = |bytes: &[u8]| Former { folder: "", name: "plan.yaml", plan: bytes }.is_ours();
    let mut inside = files.iter().filter(|(path, _)| crate::config::is_inside(path, output) && path.ends_with("/plan.yaml"));
    let (path, _) = inside.find(|(_, bytes)| is_plan(bytes))?;
    let message = format!("`{output}` holds plans too, which stay as they are while plans go to `{out}`");
    let help =
        format!("an engine that syncs both finds two plans of a release: remove those in `{output}`, or leave out the folder of `--out`");
    Some(Finding::warning("plans-elsewhere", message).at(path, Position { line: 1, column: 1 }).help(help))
}
