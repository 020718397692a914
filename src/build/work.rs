//! What is to be built: from the configuration, the command line, and the kustomizations that are there.

use camino::{Utf8Path, Utf8PathBuf};

use super::closure;
use super::detect::{self, Kustomizations};
use super::tree::Tree;
use crate::config::{Build, Chart, Config, Environment, is_inside};
use crate::files::Files;

/// What the user asks for on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Each environment's `build`.
    Configured,
    /// Every file as it stands.
    Nothing,
    /// This kustomization and nothing else, relative to the root.
    Kustomize(String),
    /// This chart and nothing else.
    Helm(Chart),
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct Work {
    /// The environments to read what was built with: where each root is deployed on its own, one for each.
    pub config: Config,
    /// The folder that all paths are relative to.
    pub(super) root: Utf8PathBuf,
    /// The environments that files belong to before anything is built.
    pub(super) before: Config,
    pub(super) jobs: Vec<Job>,
    /// Whether what is not built is not read either.
    pub(super) is_alone: bool,
}

/// One thing to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) recipe: Recipe,
    /// Where what was built stands among the files. No file on disk has such a name.
    pub(super) output: String,
    /// Whether an environment says so, so that all its files are made by the build.
    pub(super) is_configured: bool,
}

/// How.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipe {
    /// The kustomization in this folder.
    Kustomization(String),
    /// A chart.
    Chart(Chart),
}

/// The name of a built file: hidden, so that it is never read from a disk.
const BUILT: &str = ".built.yaml";

impl Work {
    /// Whether nothing is to be built.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Where what is built stands among the files, when it is one thing only.
    pub fn only_output(&self) -> Option<&str> {
        match self.jobs.as_slice() {
            [job] => Some(&job.output),
            _ => None,
        }
    }

    /// The folder that all paths are relative to.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// The same, of files below another folder.
    #[must_use]
    pub fn moved(&self, root: &Utf8Path) -> Self {
        Self { root: root.to_owned(), ..self.clone() }
    }

    /// The absolute path of one below the root.
    pub(super) fn at(&self, path: &str) -> Utf8PathBuf {
        super::tree::joined(&self.root, path)
    }
}

/// Finds out what is to be built of the files below `root`, an absolute path without links, which `tree` holds.
pub fn work(files: &Files, config: &Config, choice: &Choice, root: &Utf8Path, tree: &dyn Tree) -> Work {
    let mut work = Work { config: config.clone(), root: root.to_owned(), before: config.clone(), jobs: Vec::new(), is_alone: false };
    match choice {
        Choice::Nothing => {}
        Choice::Kustomize(folder) => {
            work.alone(Environment { build: Build::Kustomize, ..chosen(config, folder) });
            work.kustomization(folder.clone(), true);
        }
        Choice::Helm(chart) => {
            let environment = chosen(config, &chart.folder);
            work.alone(Environment { namespace: chart.namespace.clone().or(environment.namespace.clone()), ..environment });
            work.chart(0, chart.clone());
        }
        Choice::Configured => work.configured(files, tree),
    }
    work
}

/// The environment that has this folder, else an unnamed one.
fn chosen(config: &Config, folder: &str) -> Environment {
    let output = config.environments.first().map(|environment| environment.output.clone());
    let named = config.environments.iter().find(|environment| environment.path == folder).cloned();
    let environment = named.unwrap_or_else(|| Environment { output: output.unwrap_or_default(), ..Environment::unnamed() });
    Environment { path: String::new(), ..environment }
}

impl Work {
    fn alone(&mut self, environment: Environment) {
        self.is_alone = true;
        self.config.environments = vec![environment];
    }

    fn configured(&mut self, files: &Files, tree: &dyn Tree) {
        let mut roots = None;
        for index in 0..self.before.environments.len() {
            let environment = self.before.environments[index].clone();
            match &environment.build {
                Build::Nothing => {}
                Build::Kustomize => self.kustomization(environment.path.clone(), true),
                Build::Helm(chart) => self.helm_environment(index, &environment, chart),
                Build::Detected => {
                    let found = roots.get_or_insert_with(|| self.found(files));
                    let detected = self.roots_of(index, &environment, found, tree);
                    self.detected(index, detected);
                }
            }
        }
    }

    fn found(&self, files: &Files) -> Kustomizations {
        detect::kustomizations(files, &|path| self.before.is_output(path))
    }

    /// The roots of an environment that have to do with Rollouts.
    fn roots_of(&self, index: usize, environment: &Environment, found: &Kustomizations, tree: &dyn Tree) -> Vec<String> {
        let is_here = |folder: &&String| self.before.environment_of(&below(folder, "x")) == Some(index);
        // An environment's own folder is deployed, whoever includes it as well.
        let own = found.folders.iter().filter(|folder| !environment.path.is_empty() && **folder == environment.path);
        let mut roots: Vec<&String> = found.roots.iter().filter(is_here).chain(own).collect();
        roots.sort();
        roots.dedup();
        let matters = |folder: &&String| {
            let closure = closure::of(&self.at(folder), tree, &|path| path.to_string());
            closure.names_rollouts || closure.findings.iter().any(|finding| finding.code == "kustomization-unreadable")
        };
        roots.into_iter().filter(matters).cloned().collect()
    }

    fn detected(&mut self, index: usize, roots: Vec<String>) {
        let environment = &self.before.environments[index];
        // Where nobody named environments, each of several overlays is one.
        let is_split = roots.len() > 1 && self.before.environments.len() == 1 && environment.name.is_empty();
        if is_split {
            let names = detect::names(&roots.iter().map(String::as_str).collect::<Vec<_>>());
            let new = names.into_iter().zip(&roots).map(|(name, path)| Environment { name, path: path.clone(), ..environment.clone() });
            self.config.environments.extend(new.collect::<Vec<_>>());
        }
        for root in roots {
            self.kustomization(root, false);
        }
    }

    fn helm_environment(&mut self, index: usize, environment: &Environment, chart: &Chart) {
        let namespace = chart.namespace.clone().or_else(|| environment.namespace.clone());
        let chart = Chart { namespace: namespace.clone(), ..chart.clone() };
        let is_shared = self.before.environments.iter().enumerate().any(|(other, it)| other != index && it.path == environment.path);
        let Some(own) = self.config.environments.get_mut(index) else { return };
        own.namespace = own.namespace.clone().or(namespace);
        if is_shared {
            // What is built tells its environment by its folder.
            own.path = below(&environment.path, &format!(".{}", environment.name));
        }
        self.chart(index, chart);
    }

    fn chart(&mut self, environment: usize, chart: Chart) {
        let folder = self.config.environments.get(environment).map_or("", |environment| environment.path.as_str());
        let folder = if self.is_alone { chart.folder.as_str() } else { folder };
        let output = below(folder, BUILT);
        self.jobs.push(Job { recipe: Recipe::Chart(chart), output, is_configured: true });
    }

    fn kustomization(&mut self, folder: String, is_configured: bool) {
        let output = below(&folder, BUILT);
        self.jobs.push(Job { recipe: Recipe::Kustomization(folder), output, is_configured });
    }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Whether a file is a script, which no build makes.
pub(super) fn is_script(path: &str) -> bool {
    path == crate::config::NAME || path.split('/').any(|part| part == "lua_configuration")
}

/// Whether all files of the environment around `path` are made by its build.
pub(super) fn is_made(work: &Work, path: &str) -> bool {
    let environment = work.before.environment_of(path).and_then(|index| work.before.environments.get(index));
    work.is_alone || environment.is_some_and(|environment| matches!(environment.build, Build::Kustomize | Build::Helm(_)))
}

/// Whether the file is to be read as it stands, whatever else is built from it.
pub(super) fn is_kept(work: &Work, path: &str) -> bool {
    let environment = work.before.environment_of(path).and_then(|index| work.before.environments.get(index));
    is_script(path)
        || work.before.environments.iter().any(|environment| is_inside(path, &environment.output))
        || (!work.is_alone && environment.is_some_and(|environment| environment.build == Build::Nothing))
}
