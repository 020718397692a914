//! What was there before the change.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;

use crate::cli::base_tree::BaseTree;
use crate::cli::builder::Builder;
use crate::cli::{Failure, World};
use crate::config::{self, Config};
use crate::discover::{self, Discovery, Documents};
use crate::disk;
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Source};

use super::git_folder;
use super::paths::{joined, normal};
use super::question::Question;
use super::spot::{Spot, read_folder};
use super::surroundings::{self, Surroundings};

/// Plans as bytes, by environment, namespace and name.
type Plans = BTreeMap<(String, String, String), Vec<u8>>;

/// The repository before the change.
pub(in crate::cli) struct Base {
    pub(in crate::cli) discovery: Discovery,
    /// What its findings depend on besides.
    pub(in crate::cli) surroundings: Surroundings,
    /// What it holds by its own rules, where the change has others.
    pub(super) own: Option<Discovery>,
    /// The plans it held, by environment, namespace and name.
    plans: Plans,
}

impl Base {
    /// The bytes of the plan that the base has for a Rollout.
    pub(in crate::cli) fn plan(&self, environment: &str, namespace: &str, name: &str) -> Option<&[u8]> {
        self.plans.get(&(environment.to_owned(), namespace.to_owned(), name.to_owned())).map(Vec::as_slice)
    }
}

/// What is read of a commit.
#[derive(Default)]
struct Read {
    discovery: Discovery,
    surroundings: Surroundings,
    own: Option<Discovery>,
}

/// All that tells what was there before the change.
pub(super) struct Before<'a> {
    pub(super) question: Question<'a>,
    pub(super) spot: &'a Spot,
    pub(super) documents: &'a Documents,
    pub(super) head: &'a Discovery,
    pub(super) engines: &'a [Arc<Source>],
    pub(super) builder: &'a Builder,
    pub(super) elsewhere: Option<&'a Utf8Path>,
    /// Sends the plans of a configuration to where the command line says.
    pub(super) redirect: &'a dyn Fn(&mut Config),
}

impl Before<'_> {
    /// The repository before the change; none where there is nothing to compare with, which a finding says.
    pub(super) fn base(
        &self,
        directory: &Utf8Path,
        branch: Option<&git::Branch>,
        world: &World<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<Base>, Failure> {
        let (question, config) = (self.question, self.builder.config());
        if let Some(base_dir) = question.base_dir {
            let folder = normal(&directory.join(base_dir));
            let files = if folder.is_file() { disk::read_rendered(&folder)?.files } else { read_folder(&folder)?.files };
            let own = (!folder.is_file() && self.has_other_rules(&files)).then(|| {
                let (built, config) = self.builder.of_folder_by_its_own(&files, &self.config_of(&files), &folder);
                discover::discover(&self.documents.replaced(built, &config), &config)
            });
            let built = self.builder.of_folder(&files, &folder, findings);
            // What only the head's Rollouts name was there before all the same.
            let documents = self.documents.replaced(built, config);
            let discovery = discover::discover(&documents, config);
            let surroundings = self.surroundings(|head| head.beside_folder(&files, &documents));
            let read = &mut |folder: &str, below: &str| Ok(files.get(&joined(folder, below)).map(|bytes| bytes.to_vec()));
            return Ok(Some(Base { discovery, surroundings, own, plans: plans(self.head, read)? }));
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
        let read = base.as_ref().map(|base| self.commit(git, base, &prefix, findings)).transpose()?;
        let Read { discovery, surroundings, own } = read.unwrap_or_default();
        let Some(held) = held else { return Ok(base.map(|_| Base { discovery, surroundings, own, plans: Plans::new() })) };
        let mut folders: BTreeMap<String, String> = BTreeMap::new();
        let read = &mut |output: &str, below: &str| {
            let folder = folders
                .entry(output.to_owned())
                .or_insert_with(|| git_folder(git, &self.spot.root, self.elsewhere, output).unwrap_or_else(|| joined(&prefix, output)));
            Ok(git.read_at(&held, &joined(folder, below))?)
        };
        Ok(Some(Base { discovery, surroundings, own, plans: plans(self.head, read)? }))
    }

    /// What the findings of the head depend on besides, where only changed Rollouts are asked for.
    fn surroundings(&self, compare: impl FnOnce(surroundings::Head<'_>) -> Surroundings) -> Surroundings {
        if !self.question.is_changed_only {
            return Surroundings::default();
        }
        let (files, documents, config) = (&self.spot.reading.files, self.documents, self.builder.config());
        compare(surroundings::Head { files, documents, engines: self.engines, config })
    }

    fn commit(&self, git: &git::Repository, base: &git::Base, prefix: &str, findings: &mut Vec<Finding>) -> Result<Read, Failure> {
        let nothing = git::Changes::default();
        let changes = self.spot.changes.as_ref().unwrap_or(&nothing);
        let config = self.builder.config();
        let before = || {
            let mut files = self.spot.reading.files.clone();
            changes.removed.iter().for_each(|path| _ = files.remove(path));
            changes.changed.iter().for_each(|(path, bytes)| files.insert(path, bytes.clone()));
            files
        };
        let own = (changes.paths().into_iter().any(is_rule) && !self.builder.is_chosen()).then(|| {
            let (files, tree) = (before(), BaseTree::new(git, base, self.builder.root(), prefix));
            let (built, config) = self.builder.of_commit_by_its_own(&files, &self.config_of(&files), &tree);
            discover::discover(&self.documents.replaced(built, &config), &config)
        });
        let documents = if self.builder.is_idle() {
            self.documents.overlaid(&changes.changed, &changes.removed, config)
        } else {
            let tree = BaseTree::new(git, base, self.builder.root(), prefix);
            self.documents.replaced(self.builder.of_commit(&before(), git, base, &tree, findings)?, config)
        };
        let surroundings = self.surroundings(|head| head.beside_commit(changes, &documents));
        Ok(Read { discovery: discover::discover(&documents, config), surroundings, own })
    }

    /// Whether a base tells otherwise which files are read.
    fn has_other_rules(&self, files: &Files) -> bool {
        let rules =
            |files: &Files| files.iter().filter(|(path, _)| is_rule(path)).map(|(path, bytes)| (path.to_owned(), bytes.clone())).collect();
        let (before, now): (Files, Files) = (rules(files), rules(&self.spot.reading.files));
        before != now && !self.builder.is_chosen()
    }

    fn config_of(&self, files: &Files) -> Config {
        let (mut config, _) = config::read(files);
        (self.redirect)(&mut config);
        config
    }
}

/// Whether a file tells which others are read: the configuration, a kustomization or a chart.
fn is_rule(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    path == config::NAME || name.starts_with("Chart.") || name.to_lowercase().starts_with("kustomization")
}

/// Reads the file of an output folder.
type ReadFile<'a> = dyn FnMut(&str, &str) -> Result<Option<Vec<u8>>, Failure> + 'a;

fn plans(head: &Discovery, read: &mut ReadFile<'_>) -> Result<Plans, Failure> {
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
