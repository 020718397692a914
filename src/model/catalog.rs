//! What a repository holds for one environment: Rollouts and all objects they may name.

use std::sync::Arc;

use super::{Finding, Gateway, GatewayRef, Manifest, NeighborIndex, ObjectRef, Others, Place, Places, Position, Rollout, Stored};

/// One environment of a repository.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The environment's name; empty for the unnamed one.
    pub environment: String,
    /// The namespace of objects that say none.
    pub namespace: String,
    /// Where plans of this environment go, relative to the root.
    pub output: String,
    /// Valid Rollouts, sorted by namespace and name.
    pub rollouts: Vec<Rollout>,
    /// Every object read, sorted by object and path.
    pub sources: Vec<Arc<Stored>>,
    /// Workloads, Services and routes by labels and names, those that no Rollout names among them.
    pub neighbors: NeighborIndex,
    /// The names of objects that were not read because no Rollout names them.
    pub others: Others,
    /// The gateways that this environment's references can use: the user's own first, then the shipped ones.
    pub gateways: Vec<(String, Gateway)>,
}

/// One object of a repository, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The object.
    pub manifest: Manifest,
    /// Its name in a cluster, with the environment's namespace where the file says none.
    pub object: ObjectRef,
    /// The file, relative to the root, with `/`.
    pub path: String,
    /// The positions of its nodes in the file.
    pub places: Places,
    /// What a reader of the file should know, should a plan use the object: keys written twice, values that tools read differently.
    pub remarks: Vec<Finding>,
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolution<'a> {
    /// No object.
    Missing,
    /// The nearest object.
    Found(&'a Arc<Stored>),
    /// Several equally near ones.
    Ambiguous(Vec<&'a Arc<Stored>>),
}

/// A script's text, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSource {
    /// The name that users know it by: `networking.istio.io/VirtualService`, `trafficrouting_ingress/nginx`.
    pub name: String,
    /// The Lua text.
    pub text: String,
    /// Where it comes from.
    pub origin: ScriptOrigin,
}

/// Where a script comes from, in the order of who wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptOrigin {
    /// A file of the repository.
    File(String),
    /// A key of the ConfigMap `kruise-rollout-configuration`.
    ConfigMap(ScriptKey),
    /// The binary.
    Shipped,
}

/// Where a script stands in a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptKey {
    /// The file.
    pub path: String,
    /// Where the value of its key begins.
    pub position: Position,
    /// Whether the script's lines are lines of the file, which begin below that: a literal block.
    pub is_block: bool,
}

impl ScriptSource {
    /// Where a line of the script stands in the repository, without a line its start. None: it ships with the program.
    pub fn place_of(&self, line: Option<u32>) -> Option<Place> {
        let at = |path: &str, line: u32| Some(Place { path: path.to_owned(), position: Position { line, column: 1 } });
        match (&self.origin, line) {
            (ScriptOrigin::File(path), line) => at(path, line.unwrap_or(1)),
            (ScriptOrigin::ConfigMap(key), Some(line)) if key.is_block => at(&key.path, key.position.line.saturating_add(line)),
            (ScriptOrigin::ConfigMap(key), _) => Some(Place { path: key.path.clone(), position: key.position }),
            (ScriptOrigin::Shipped, _) => None,
        }
    }
}

impl Catalog {
    /// The object named `object` nearest to the file `near`: the same directory, then upwards, then anywhere in the environment.
    pub fn resolve(&self, object: &ObjectRef, near: &str) -> Resolution<'_> {
        let start = self.sources.partition_point(|source| source.object < *object);
        let candidates: Vec<_> = self.sources[start..].iter().take_while(|source| source.object == *object).collect();
        match candidates.as_slice() {
            [] => return Resolution::Missing,
            [only] => return Resolution::Found(only),
            _ => {}
        }
        let mut directory = directory_of(near);
        loop {
            let here: Vec<_> = candidates.iter().copied().filter(|source| directory_of(&source.path) == directory).collect();
            match here.as_slice() {
                [] if directory.is_empty() => break,
                [] => directory = directory_of(directory),
                [only] => return Resolution::Found(only),
                _ => return Resolution::Ambiguous(here),
            }
        }
        Resolution::Ambiguous(candidates)
    }

    /// What people call a Rollout: `eu:prod/shop`, in the unnamed environment `prod/shop`.
    pub fn name_of(&self, rollout: &Rollout) -> String {
        let separator = if self.environment.is_empty() { "" } else { ":" };
        format!("{}{separator}{}/{}", self.environment, rollout.namespace, rollout.reference.name)
    }

    /// The gateway that serves `reference`: what the user wrote wins over what ships.
    pub fn gateway(&self, reference: &GatewayRef) -> Option<&Gateway> {
        let wanted = reference.script_name();
        self.gateways.iter().find(|(name, _)| *name == wanted).map(|(_, gateway)| gateway)
    }
}

impl GatewayRef {
    /// The name of the script that serves the object: `<group>/<Kind>`, or `trafficrouting_ingress/<class>`.
    pub fn script_name(&self) -> String {
        match &self.ingress_class {
            Some(class) => format!("trafficrouting_ingress/{class}"),
            None => format!("{}/{}", self.api_version.split_once('/').map_or(self.api_version.as_str(), |(group, _)| group), self.kind),
        }
    }
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}
