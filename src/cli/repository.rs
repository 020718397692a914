//! What `render` reads: the files as they are, the files as they were, and where the plans go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::build::{Choice, Origins};
use crate::config::{self, Config};
use crate::discover::{self, Asked, Discovery, Documents};
use crate::disk::{self, Former, Reading, Unread};
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Position, Severity};

use super::base_tree::BaseTree;
use super::builder::Builder;
use super::sources::Sources;
use super::{Failure, World};

/// What to read, as the user says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) path: &'a str,
    pub(super) base: Option<&'a str>,
    pub(super) base_dir: Option<&'a Utf8Path>,
    pub(super) out: Option<&'a Utf8Path>,
    /// Whether only those Rollouts count that the change concerns.
    pub(super) is_changed_only: bool,
    /// Where the plans are committed.
    pub(super) destination: Destination<'a>,
    pub(super) sources: &'a Sources,
}

/// Where plans are committed, as the user says it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Destination<'a> {
    /// To a branch of their own, instead of the one that is checked out.
    pub(super) branch: Option<&'a str>,
    /// The remote of that branch, where it is the one that counts.
    pub(super) remote: Option<&'a str>,
    /// Whether plans are committed now.
    pub(super) is_commit: bool,
}

impl Destination<'_> {
    /// The remote that is meant when none is named.
    pub(super) const REMOTE: &'static str = "origin";

    /// The remote's name.
    pub(super) fn remote(&self) -> &str {
        self.remote.unwrap_or(Self::REMOTE)
    }
}

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

    /// The folder that plans of this output go to, below the root of the git repository. None: it lies outside, or
    /// there is no repository.
    pub(super) fn git_folder(&self, output: &str) -> Option<String> {
        git_folder(self.git.as_ref()?, &self.root, self.elsewhere.as_deref(), output)
    }
}

/// Plans as bytes, by environment, namespace and name.
type Plans = BTreeMap<(String, String, String), Vec<u8>>;

/// The repository before the change.
pub(super) struct Base {
    pub(super) discovery: Discovery,
    /// The plans it held, by environment, namespace and name.
    plans: Plans,
}

impl Base {
    /// The bytes of the plan that the base has for a Rollout.
    pub(super) fn plan(&self, environment: &str, namespace: &str, name: &str) -> Option<&[u8]> {
        self.plans.get(&(environment.to_owned(), namespace.to_owned(), name.to_owned())).map(Vec::as_slice)
    }
}

/// Where to read, found by looking at the path and the git repository around it.
struct Spot {
    root: Utf8PathBuf,
    reading: Reading,
    scope: String,
    git: Option<git::Repository>,
    /// What differs from the base that git knows. None: another base is asked for, or there is none.
    changes: Option<git::Changes>,
    /// Whether one file was named and no folder.
    is_single: bool,
}

impl Spot {
    /// The Rollouts that the changes concern.
    fn concerned(&self, changes: &git::Changes) -> Asked {
        let now = changes.paths().into_iter().filter_map(|path| self.reading.files.get(path).map(|bytes| (path, &**bytes)));
        Asked::concerned(now.chain(changes.changed.iter().map(|(path, bytes)| (path, &**bytes))))
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
    let builder = Builder::new(&spot.reading.files, &config, &choice, &spot.root, world);
    findings.extend_from_slice(builder.findings());
    let config = builder.config().clone();
    let changes = spot.changes.as_ref().filter(|_| question.is_changed_only && builder.is_idle());
    let asked = changes.map_or_else(Asked::all, |changes| spot.concerned(changes));
    let documents = discover::read_asked(builder.files(), &config, asked);
    let head = discover::discover(&documents, &config);
    let files = spot.reading.files.clone();
    let branch = branch(question.destination, spot.git.as_ref())?;
    let before = Before { question, spot: &spot, documents: &documents, head: &head, builder: &builder, elsewhere: elsewhere.as_deref() };
    let base = before.base(&directory, branch.as_ref(), world, &mut findings)?;
    if let Some(base) = &base {
        findings.extend(discover::removed(&head, &base.discovery, &documents, &config));
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
        findings,
        origins,
        elsewhere,
        git,
        branch,
        uncommitted,
    })
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
        let tree = BaseTree::new(git, &head, &spot.root, &prefix);
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

fn spot(question: Question<'_>, directory: &Utf8Path, world: &mut World<'_>) -> Result<Spot, Failure> {
    let path = question.path;
    if path == "-" {
        let reading = disk::read_stream(&mut *world.stdin)?;
        return Ok(Spot { root: directory.to_owned(), reading, scope: String::new(), git: None, changes: None, is_single: true });
    }
    let path = normal(&directory.join(path));
    if !path.is_dir() {
        let reading = disk::read(&path)?;
        let root = path.parent().unwrap_or(directory).to_owned();
        let git = git::Repository::discover(&root)?;
        let is_wanted = |path: &str| reading.files.get(path).is_some();
        let changes = git.as_ref().map(|git| changes(git, question, &world.environment, &root, &is_wanted)).transpose()?.flatten();
        return Ok(Spot { root, reading, scope: String::new(), git, changes, is_single: true });
    }
    let mut git = git::Repository::discover(&path)?;
    // The environments are the repository's; a folder of it only says which Rollouts are asked for.
    let scoped = git.as_ref().and_then(|repository| {
        let scope = repository.prefix_of(&path).filter(|scope| !scope.is_empty())?;
        repository.root().join(config::NAME).is_file().then(|| (repository.root().to_owned(), scope))
    });
    let (root, scope) = scoped.unwrap_or((path, String::new()));
    // Both look at every file, and neither needs the other.
    let (repository, environment) = (git.as_mut(), &world.environment);
    let (reading, changes) =
        rayon::join(|| disk::read(&root), || repository.map(|git| changes(git, question, environment, &root, &disk::is_read)).transpose());
    Ok(Spot { reading: reading?, changes: changes?.flatten(), root, scope, git, is_single: false })
}

/// What differs from the base that git knows. None: another base is asked for, or there is none.
fn changes(
    git: &git::Repository,
    question: Question<'_>,
    environment: &BTreeMap<String, String>,
    root: &Utf8Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Option<git::Changes>, Failure> {
    if question.base_dir.is_some() {
        return Ok(None);
    }
    let target = environment.get("GITHUB_BASE_REF").map(String::as_str);
    let (Some(base), Some(prefix)) = (git.base(question.base, target)?, git.prefix_of(root)) else { return Ok(None) };
    Ok(Some(git.changes_since(&base, &prefix, is_wanted)?))
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

/// All that tells what was there before the change.
struct Before<'a> {
    question: Question<'a>,
    spot: &'a Spot,
    documents: &'a Documents,
    head: &'a Discovery,
    builder: &'a Builder,
    elsewhere: Option<&'a Utf8Path>,
}

impl Before<'_> {
    fn base(
        &self,
        directory: &Utf8Path,
        branch: Option<&git::Branch>,
        world: &World<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<Base>, Failure> {
        let (question, config) = (self.question, self.builder.config());
        if let Some(base_dir) = question.base_dir {
            let folder = normal(&directory.join(base_dir));
            let files = if folder.is_file() { disk::read_rendered(&folder)?.files } else { disk::read(&folder)?.files };
            let built = self.builder.of_folder(&files, &folder, findings);
            let discovery = discover::discover(&discover::read(&built, config), config);
            let read = &mut |folder: &str, below: &str| Ok(files.get(&joined(folder, below)).map(|bytes| bytes.to_vec()));
            return Ok(Some(Base { discovery, plans: plans(self.head, read)? }));
        }
        let Some(git) = &self.spot.git else {
            let is_stream = question.path == "-";
            if let Some(revision) = question.base {
                let why =
                    if is_stream { "a stream has no history".to_owned() } else { format!("`{}` is in no git repository", self.spot.root) };
                return Err(format!("`--base {revision}` cannot be read: {why}; name a folder or file with `--base-dir`").into());
            }
            findings.push(no_base(if is_stream { "a stream has no history" } else { "this is no git repository" }, None));
            return Ok(None);
        };
        let target = world.environment.get("GITHUB_BASE_REF").map(String::as_str);
        let base = git.base(question.base, target)?;
        // Plans on a branch of their own are what was committed last, whatever this branch is compared with.
        let held = match branch {
            Some(branch) => branch.tip(),
            None => base.clone(),
        };
        if base.is_none() && held.is_none() {
            let finding = no_base("neither `origin/HEAD`, `origin/main` nor `origin/master` was fetched", git.likely_base()?);
            findings.push(match git.fetching_branches() {
                Some(command) => finding.help(format!("fetch the branches, `{command}`, or say what to compare with: `--base REVISION`")),
                None => finding,
            });
        }
        let Some(prefix) = git.prefix_of(&self.spot.root) else { return Ok(None) };
        let discovery = base.as_ref().map(|base| self.discovery(git, base, &prefix, findings)).transpose()?.unwrap_or_default();
        let Some(held) = held else { return Ok(base.map(|_| Base { discovery, plans: Plans::new() })) };
        let mut folders: BTreeMap<String, String> = BTreeMap::new();
        let read = &mut |output: &str, below: &str| {
            let folder = folders
                .entry(output.to_owned())
                .or_insert_with(|| git_folder(git, &self.spot.root, self.elsewhere, output).unwrap_or_else(|| joined(&prefix, output)));
            Ok(git.read_at(&held, &joined(folder, below))?)
        };
        Ok(Some(Base { discovery, plans: plans(self.head, read)? }))
    }

    fn discovery(&self, git: &git::Repository, base: &git::Base, prefix: &str, findings: &mut Vec<Finding>) -> Result<Discovery, Failure> {
        let nothing = git::Changes::default();
        let changes = self.spot.changes.as_ref().unwrap_or(&nothing);
        let config = self.builder.config();
        let documents = if self.builder.is_idle() {
            self.documents.overlaid(&changes.changed, &changes.removed, config)
        } else {
            let mut files = self.spot.reading.files.clone();
            changes.removed.iter().for_each(|path| _ = files.remove(path));
            changes.changed.iter().for_each(|(path, bytes)| files.insert(path, bytes.clone()));
            let tree = BaseTree::new(git, base, &self.spot.root, prefix);
            self.documents.replaced(self.builder.of_commit(&files, git, base, &tree, findings)?, config)
        };
        Ok(discover::discover(&documents, config))
    }
}

/// Reads the file of an output folder.
type Read<'a> = dyn FnMut(&str, &str) -> Result<Option<Vec<u8>>, Failure> + 'a;

fn plans(head: &Discovery, read: &mut Read<'_>) -> Result<Plans, Failure> {
    let mut plans = BTreeMap::new();
    for catalog in &head.catalogs {
        for rollout in &catalog.rollouts {
            let (environment, namespace, name) = (&catalog.environment, &rollout.namespace, &rollout.reference.name);
            let path = joined(environment, &format!("{namespace}/{name}/plan.yaml"));
            if let Some(bytes) = read(&catalog.output, &path)? {
                plans.insert((environment.clone(), namespace.clone(), name.clone()), bytes);
            }
        }
    }
    Ok(plans)
}

/// A path below a folder; the empty folder is the root.
pub(super) fn joined(folder: &str, below: &str) -> String {
    [folder, below].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
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

fn no_base(why: &str, likely: Option<&str>) -> Finding {
    let help = match likely {
        Some("HEAD") => {
            "say what to compare with: `--base HEAD` for what is not committed, `--base REVISION` or `--base-dir FOLDER`".to_owned()
        }
        Some(likely) => format!("say what to compare with: `--base {likely}`, another revision, or `--base-dir FOLDER`"),
        None => "say what to compare with: `--base REVISION` or `--base-dir FOLDER`".to_owned(),
    };
    Finding::note("no-base", format!("{why}: plans are previews")).help(help)
}

/// What could not be read, as far as a user should know.
fn unread(reading: &Reading) -> Vec<Finding> {
    let start = Position { line: 1, column: 1 };
    let finding = |(path, unread): (&String, &Unread)| match unread {
        Unread::TooLarge { bytes } => {
            Some(Finding::note("file-too-large", format!("skipped: {} MiB are no manifest", bytes >> 20)).at(path, start))
        }
        Unread::UnreadableName => Some(Finding::note("file-name-unreadable", "skipped: the name is not UTF-8").at(path, start)),
        Unread::Failed { message } => Some(Finding::error("file-unreadable", format!("cannot read the file: {message}")).at(path, start)),
        Unread::Vendored | Unread::Link => None,
    };
    reading.unread.iter().filter_map(finding).collect()
}

fn utf8(path: &Path) -> Result<Utf8PathBuf, Failure> {
    Utf8PathBuf::from_path_buf(path.to_owned()).map_err(|path| format!("the name of the folder {} is not UTF-8", path.display()).into())
}

/// The path without `.` and `..`, and without a slash at its end; links are left alone.
pub(super) fn normal(path: &Utf8Path) -> Utf8PathBuf {
    let mut normal = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                normal.pop();
            }
            Utf8Component::Prefix(_) | Utf8Component::RootDir | Utf8Component::Normal(_) => normal.push(component),
        }
    }
    normal
}
