//! Which Rollouts somebody asks for: what the others name is not read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::relabelled::{self, ChangedFile};
use super::wanted::Wanted;
use super::{engines, gateways, wanted};
use crate::config::Config;
use crate::model::Source;

/// A change of more bytes than this is looked at as a whole repository is.
const LARGE: usize = 64 << 10;

/// The Rollouts that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked(Option<Arc<Concerned>>);

/// What a Rollout that a change concerns has in common with the change.
#[derive(Debug, Default)]
struct Concerned {
    /// The texts in which one of its objects is named.
    texts: Vec<String>,
    /// The namespaces where workloads or Services have other labels.
    namespaces: BTreeSet<String>,
}

impl Asked {
    /// Every Rollout.
    pub fn all() -> Self {
        Self(None)
    }

    /// Those that a change can concern, given the files that differ. Rather one too many: a Rollout is among them if one of the
    /// files holds the name of something that it names, or if the labels change by which others in its namespace are selected.
    pub fn concerned(changed: &[ChangedFile<'_>], config: &Config) -> Self {
        let (mut texts, mut length) = (Vec::new(), 0);
        let sides = changed.iter().flat_map(|(path, now, before)| now.iter().chain(before).map(move |bytes| (*path, *bytes)));
        for (path, bytes) in sides {
            length += bytes.len();
            match std::str::from_utf8(bytes) {
                Ok(text) if length <= LARGE && !is_about_all(path, text) => texts.push(text.to_owned()),
                Ok(_) | Err(_) => return Self::all(),
            }
        }
        let relabelled = relabelled::of_files(changed.iter().copied(), config);
        let namespaces = relabelled.iter().map(|object| object.namespace().to_owned()).collect();
        Self(Some(Arc::new(Concerned { texts, namespaces })))
    }

    /// Whether a Rollout that names `wanted` is asked for.
    pub(super) fn is_asked(&self, rollout: &Source, wanted: &Wanted) -> bool {
        let Some(concerned) = &self.0 else { return true };
        let is_named = |name: &str| concerned.texts.iter().any(|text| text.contains(name));
        concerned.namespaces.contains(&rollout.object.namespace) || wanted.names().chain([rollout.manifest.name()]).any(is_named)
    }
}

/// Whether a file tells how others are read or served, or may hold a name that cannot be seen in its text.
fn is_about_all(path: &str, text: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let is_plain = [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending));
    let is_of_layout = name.starts_with('.') || name.starts_with("Chart.") || name.to_lowercase().starts_with("kustomization");
    let is_script = path.split('/').any(|part| part == gateways::FOLDER) || text.contains(wanted::SCRIPTS);
    !is_plain || is_of_layout || is_script || engines::may_hold(text) || text.contains('\\')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Asked;
    use crate::config::Config;
    use crate::discover::wanted::Wanted;
    use crate::model::{Manifest, Places, Source};

    fn rollout() -> Source {
        let value = json!({
            "apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {"name": "release"},
            "spec": {
                "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
                "strategy": {"canary": {"trafficRoutings": [{"service": "front", "ingress": {"name": "door"}}]}},
            },
        });
        let manifest = Manifest::try_from(value).expect("a manifest");
        let object = manifest.object_ref("prod");
        Source { manifest, object, path: "rollout.yaml".into(), places: Places::default(), remarks: Vec::new() }
    }

    fn is_asked(asked: &Asked) -> bool {
        let mut wanted = Wanted::default();
        wanted.add(&rollout());
        asked.is_asked(&rollout(), &wanted)
    }

    fn concerned(path: &str, text: &str) -> Asked {
        Asked::concerned(&[(path, Some(text.as_bytes()), None)], &Config::default())
    }

    #[track_caller]
    fn case(path: &str, text: &str, expected: bool) {
        let asked = concerned(path, text);
        assert_eq!(is_asked(&asked), expected, "{path}: {text}");
    }

    #[test]
    fn a_rollout_is_concerned_by_the_names_of_its_objects() {
        for name in ["release", "shop", "front", "door"] {
            case("a.yaml", &format!("kind: X\nmetadata:\n  name: {name}\n"), true);
            case("a.yaml", &format!("{{\"metadata\": {{\"name\": \"{name}\"}}}}"), true);
        }
        case("a.yaml", "kind: Deployment\nmetadata:\n  name: other\n", false);
        assert!(!is_asked(&Asked::concerned(&[], &Config::default())));
    }

    #[test]
    fn a_rollout_is_concerned_by_other_labels_in_its_namespace() {
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: NAMESPACE, labels: {app: b}}\n";
        case("a.yaml", &pod.replace("NAMESPACE", "prod"), true);
        case("a.yaml", &pod.replace("NAMESPACE", "test"), false);
    }

    #[test]
    fn what_tells_how_files_are_read_concerns_every_rollout() {
        for path in [".rollout.yaml", "x/Chart.yaml", "x/kustomization.yaml", "lua_configuration/a/B/gateway.yaml", "B/trafficRouting.lua"]
        {
            case(path, "a: 1\n", true);
        }
        case("a.yaml", "metadata:\n  name: kruise-rollout-configuration\n", true);
        case("a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\n", true);
        case("a.yaml", "name: \"\\x73hop\"\n", true);
        case("a.yaml", &"#".repeat(100_000), true);
    }
}
