//! What was there before the change.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;

use crate::cli::base_tree::BaseTree;
use crate::cli::builder::Builder;
use crate::cli::{Failure, World};
use crate::discover::{self, Discovery, Documents};
use crate::disk;
use crate::git;
use crate::model::{Finding, Source};

use super::git_folder;
use super::paths::{joined, normal};
use super::question::Question;
use super::spot::Spot;
use super::surroundings::{self, Surroundings};

/// Plans as bytes, by environment, namespace and name.
type Plans = BTreeMap<(String, String, String), Vec<u8>>;

/// The repository before the change.
pub(in crate::cli) struct Base {
    pub(in crate::cli) discovery: Discovery,
    /// What its findings depend on besides.
    pub(in crate::cli) surroundings: Surroundings,
    /// The plans it held, by environment, namespace and name.
    plans: Plans,
}

impl Base {
    /// The bytes of the plan that the base has for a Rollout.
    pub(in crate::cli) fn plan(&self, environment: &str, namespace: &str, name: &str) -> Option<&[u8]> {
        self.plans.get(&(environment.to_owned(), namespace.to_owned(), name.to_owned())).map(Vec::as_slice)
    }
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
            let files = if folder.is_file() { disk::read_rendered(&folder)?.files } else { disk::read(&folder)?.files };
            let built = self.builder.of_folder(&files, &folder, findings);
            // What only the head's Rollouts name was there before all the same.
            let documents = self.documents.replaced(built, config);
            let discovery = discover::discover(&documents, config);
            let surroundings = self.surroundings(|head| head.beside_folder(&files, &documents));
            let read = &mut |folder: &str, below: &str| Ok(files.get(&joined(folder, below)).map(|bytes| bytes.to_vec()));
            return Ok(Some(Base { discovery, surroundings, plans: plans(self.head, read)? }));
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
        let read = base.as_ref().map(|base| self.discovery(git, base, &prefix, findings)).transpose()?;
        let (discovery, surroundings) = read.unwrap_or_default();
        let Some(held) = held else { return Ok(base.map(|_| Base { discovery, surroundings, plans: Plans::new() })) };
        let mut folders: BTreeMap<String, String> = BTreeMap::new();
        let read = &mut |output: &str, below: &str| {
            let folder = folders
                .entry(output.to_owned())
                .or_insert_with(|| git_folder(git, &self.spot.root, self.elsewhere, output).unwrap_or_else(|| joined(&prefix, output)));
            Ok(git.read_at(&held, &joined(folder, below))?)
        };
        Ok(Some(Base { discovery, surroundings, plans: plans(self.head, read)? }))
    }

    /// What the findings of the head depend on besides, where only changed Rollouts are asked for.
    fn surroundings(&self, compare: impl FnOnce(surroundings::Head<'_>) -> Surroundings) -> Surroundings {
        if !self.question.is_changed_only {
            return Surroundings::default();
        }
        let (files, documents, config) = (&self.spot.reading.files, self.documents, self.builder.config());
        compare(surroundings::Head { files, documents, engines: self.engines, config })
    }

    fn discovery(
        &self,
        git: &git::Repository,
        base: &git::Base,
        prefix: &str,
        findings: &mut Vec<Finding>,
    ) -> Result<(Discovery, Surroundings), Failure> {
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
        let surroundings = self.surroundings(|head| head.beside_commit(changes, &documents));
        Ok((discover::discover(&documents, config), surroundings))
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
