//! What `render` reads: the files as they are, the files as they were, and where the plans go.

use std::collections::BTreeMap;
use std::path::Path;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::config::{self, Config};
use crate::discover::{self, Discovery, Documents};
use crate::disk::{self, Reading, Unread};
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Position, Severity};

use super::{Failure, World};

/// What to read, as the user says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) path: &'a str,
    pub(super) base: Option<&'a str>,
    pub(super) base_dir: Option<&'a Utf8Path>,
    pub(super) out: Option<&'a Utf8Path>,
}

/// A repository, as it is and as it was.
pub(super) struct Repository {
    /// The folder that all paths are relative to.
    pub(super) root: Utf8PathBuf,
    /// The files that findings point into.
    pub(super) files: Files,
    /// Only Rollouts in files below are asked for; empty for all.
    pub(super) scope: String,
    pub(super) config: Config,
    /// Whether `.rollout.yaml` could not be understood whole.
    pub(super) is_config_faulty: bool,
    pub(super) head: Discovery,
    pub(super) base: Option<Base>,
    /// What was found while reading.
    pub(super) findings: Vec<Finding>,
    /// Where plans go instead of below the root.
    pub(super) elsewhere: Option<Utf8PathBuf>,
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
}

/// Reads what the question asks for.
pub(super) fn read(question: Question<'_>, world: &mut World<'_>) -> Result<Repository, Failure> {
    let directory = utf8(&world.directory)?;
    let spot = spot(question.path, &directory, world)?;
    let mut findings = unread(&spot.reading);
    let (mut config, faults) = config::read(&spot.reading.files);
    let is_config_faulty = faults.iter().any(|fault| fault.severity == Severity::Error);
    findings.extend(faults);
    let elsewhere = question.out.and_then(|out| redirect(&mut config, &spot.root, &directory.join(out)));
    let documents = discover::read(&spot.reading.files, &config);
    let head = discover::discover(&documents, &config);
    let files = spot.reading.files.clone();
    let base = base(question, &directory, &spot, &documents, &head, &config, world, &mut findings)?;
    Ok(Repository { root: spot.root, files, scope: spot.scope, config, is_config_faulty, head, base, findings, elsewhere })
}

fn spot(path: &str, directory: &Utf8Path, world: &mut World<'_>) -> Result<Spot, Failure> {
    if path == "-" {
        let reading = disk::read_stream(&mut *world.stdin)?;
        return Ok(Spot { root: directory.to_owned(), reading, scope: String::new(), git: None });
    }
    let path = normal(&directory.join(path));
    let reading = disk::read(&path);
    if !path.is_dir() {
        let reading = reading?;
        let root = path.parent().unwrap_or(directory).to_owned();
        let git = git::Repository::discover(&root)?;
        return Ok(Spot { root, reading, scope: String::new(), git });
    }
    let git = git::Repository::discover(&path)?;
    // The environments are the repository's; a folder of it only says which Rollouts are asked for.
    if let Some(repository) = &git
        && let Some(scope) = repository.prefix_of(&path).filter(|scope| !scope.is_empty())
        && repository.root().join(config::NAME).is_file()
    {
        let root = repository.root().to_owned();
        return Ok(Spot { reading: disk::read(&root)?, root, scope, git });
    }
    Ok(Spot { root: path, reading: reading?, scope: String::new(), git })
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

#[expect(clippy::too_many_arguments, reason = "the one place where all that was read meets")]
fn base(
    question: Question<'_>,
    directory: &Utf8Path,
    spot: &Spot,
    documents: &Documents,
    head: &Discovery,
    config: &Config,
    world: &World<'_>,
    findings: &mut Vec<Finding>,
) -> Result<Option<Base>, Failure> {
    if let Some(base_dir) = question.base_dir {
        let files = disk::read(&directory.join(base_dir))?.files;
        let discovery = discover::discover(&discover::read(&files, config), config);
        let plans = plans(head, &mut |path| Ok(files.get(path).map(|bytes| bytes.to_vec())))?;
        return Ok(Some(Base { discovery, plans }));
    }
    let Some(repository) = &spot.git else {
        let is_stream = question.path == "-";
        if let Some(revision) = question.base {
            let why = if is_stream { "a stream has no history".to_owned() } else { format!("`{}` is in no git repository", spot.root) };
            return Err(format!("`--base {revision}` cannot be read: {why}; name a folder or file with `--base-dir`").into());
        }
        findings.push(no_base(if is_stream { "a stream has no history" } else { "this is no git repository" }));
        return Ok(None);
    };
    let target = world.environment.get("GITHUB_BASE_REF").map(String::as_str);
    let Some(base) = repository.base(question.base, target)? else {
        findings.push(no_base("neither `origin/HEAD`, `origin/main` nor `origin/master` was fetched"));
        return Ok(None);
    };
    let Some(prefix) = repository.prefix_of(&spot.root) else { return Ok(None) };
    let is_single = !spot.reading.files.is_empty() && question.path != "." && !directory.join(question.path).is_dir();
    let is_wanted = |path: &str| if is_single { spot.reading.files.get(path).is_some() } else { disk::is_read(path) };
    let changes = repository.changes_since(&base, &prefix, &is_wanted)?;
    let discovery = discover::discover(&documents.overlaid(&changes.changed, &changes.removed, config), config);
    let below = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
    let plans = plans(head, &mut |path| Ok(repository.read_at(&base, &below(path))?))?;
    Ok(Some(Base { discovery, plans }))
}

type Read<'a> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, Failure> + 'a;

fn plans(head: &Discovery, read: &mut Read<'_>) -> Result<Plans, Failure> {
    let mut plans = BTreeMap::new();
    for catalog in &head.catalogs {
        for rollout in &catalog.rollouts {
            let (environment, namespace, name) = (&catalog.environment, &rollout.namespace, &rollout.reference.name);
            let folder = if environment.is_empty() { catalog.output.clone() } else { format!("{}/{environment}", catalog.output) };
            let path = format!("{folder}/{namespace}/{name}/plan.yaml");
            if let Some(bytes) = read(&path)? {
                plans.insert((environment.clone(), namespace.clone(), name.clone()), bytes);
            }
        }
    }
    Ok(plans)
}

fn no_base(why: &str) -> Finding {
    Finding::note("no-base", format!("{why}: plans are previews"))
        .help("say what to compare with: `--base REVISION` or `--base-dir FOLDER`")
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
fn normal(path: &Utf8Path) -> Utf8PathBuf {
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
