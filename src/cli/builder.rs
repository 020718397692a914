//! What is built of the files as they are, and with the same means of the files as they were.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::build::{self, Built, Choice, Disk, Limits, Origins, Programs, Tree, Work};
use crate::config::Config;
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Severity};

use super::base_tree::BaseTree;
use super::{Failure, World};

/// The head, built, and the means to build a base.
pub(super) struct Builder {
    choice: Choice,
    work: Work,
    head: Built,
    programs: Programs,
}

impl Builder {
    /// Builds the files as they are, from nothing outside of the git repository where there is one.
    pub(super) fn new(
        files: &Files,
        config: &Config,
        choice: &Choice,
        root: &Utf8Path,
        git: Option<&git::Repository>,
        world: &World<'_>,
    ) -> Self {
        let (root, disk) = on_disk(root, git);
        let work = build::work(files, config, choice, &root, &disk);
        let programs = Programs::on(world.environment.get("PATH").map_or("", String::as_str));
        let head = build::carry_out(&work, files, &disk, None, &programs, Limits::default());
        Self { choice: choice.clone(), work, head, programs }
    }

    /// The folder that all paths are relative to, without links.
    pub(super) fn root(&self) -> &Utf8Path {
        self.work.root()
    }

    /// Whether nothing is built.
    pub(super) fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    /// The environments to read what was built with.
    pub(super) fn config(&self) -> &Config {
        &self.work.config
    }

    /// The files to read.
    pub(super) fn files(&self) -> &Files {
        &self.head.files
    }

    /// Whether the file at an absolute path has a say in what was built.
    pub(super) fn is_made_from(&self, path: &Utf8Path) -> bool {
        self.head.is_made_from(path)
    }

    /// What could not be built.
    pub(super) fn findings(&self) -> &[Finding] {
        &self.head.findings
    }

    /// What built files were made from.
    pub(super) fn into_origins(self) -> Origins {
        self.head.origins
    }

    /// The files of a folder with the same layout, built; those of a single file are what was built before.
    pub(super) fn of_folder(&self, files: &Files, folder: &Utf8Path, findings: &mut Vec<Finding>) -> Files {
        if self.is_idle() {
            return files.clone();
        }
        if folder.is_dir() {
            let git = git::Repository::discover(folder).ok().flatten();
            let (root, disk) = on_disk(folder, git.as_ref());
            return self.base(&self.work.moved(&root), files, &disk, None, findings);
        }
        let first = files.iter().next().map(|(_, bytes)| bytes.clone());
        match self.work.only_output().zip(first) {
            Some((output, bytes)) => [(output.to_owned(), bytes)].into_iter().collect(),
            None => files.clone(),
        }
    }

    /// The files of a commit, built.
    pub(super) fn of_commit(
        &self,
        files: &Files,
        git: &git::Repository,
        base: &git::Base,
        tree: &BaseTree<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Files, Failure> {
        // Any file may have a say in a build, wherever it is.
        let changes = git.changes_since(base, "", &|path| self.head.is_made_from(&tree.absolute(path)))?;
        let touched: BTreeSet<Utf8PathBuf> = changes.paths().into_iter().map(|path| tree.absolute(path)).collect();
        Ok(self.base(&self.work, files, tree, Some(&touched), findings))
    }

    /// The files of a commit, built as its own configuration says, and the environments to read them with.
    pub(super) fn of_commit_by_its_own(&self, files: &Files, config: &Config, tree: &BaseTree<'_>) -> (Files, Config) {
        self.by_its_own(files, config, self.root(), tree)
    }

    /// The files of a folder, built as its own configuration says, and the environments to read them with.
    pub(super) fn of_folder_by_its_own(&self, files: &Files, config: &Config, folder: &Utf8Path) -> (Files, Config) {
        let git = git::Repository::discover(folder).ok().flatten();
        let (root, disk) = on_disk(folder, git.as_ref());
        self.by_its_own(files, config, &root, &disk)
    }

    fn by_its_own(&self, files: &Files, config: &Config, root: &Utf8Path, tree: &dyn Tree) -> (Files, Config) {
        let work = build::work(files, config, &self.choice, root, tree);
        let built = build::carry_out(&work, files, tree, None, &self.programs, Limits::default());
        (built.files, work.config)
    }

    /// Whether the command line says what is built, whatever the configuration says.
    pub(super) fn is_chosen(&self) -> bool {
        match self.choice {
            Choice::Configured => false,
            Choice::Nothing | Choice::Kustomize(_) | Choice::Helm(_) => true,
        }
    }

    /// That a base cannot be built is no error: the change may mend it.
    fn base(
        &self,
        work: &Work,
        files: &Files,
        tree: &dyn Tree,
        touched: Option<&BTreeSet<Utf8PathBuf>>,
        findings: &mut Vec<Finding>,
    ) -> Files {
        let known = touched.map(|touched| (&self.head, touched));
        let built = build::carry_out(work, files, tree, known, &self.programs, Limits::default());
        let said: BTreeSet<&str> = self.head.findings.iter().map(|finding| finding.message.as_str()).collect();
        for finding in built.findings {
            if finding.severity == Severity::Error && !said.contains(finding.message.as_str()) {
                let message = format!("the base cannot be built, and plans are previews: {}", finding.message);
                findings.push(Finding { place: finding.place, ..Finding::warning("build-of-base-failed", message) });
            }
        }
        built.files
    }
}

/// A folder without links in its path, and the files that a build of it may be made from: those of the git repository around it.
fn on_disk(folder: &Utf8Path, git: Option<&git::Repository>) -> (Utf8PathBuf, Disk) {
    let root = folder.canonicalize_utf8().unwrap_or_else(|_| folder.to_owned());
    let around = git.and_then(|git| git.root().canonicalize_utf8().ok()).filter(|top| root.starts_with(top));
    let top = around.or_else(|| root.ancestors().last().map(Utf8Path::to_owned)).unwrap_or_else(|| root.clone());
    (root, Disk::new(top))
}
