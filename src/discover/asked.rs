//! Which Rollouts somebody asks for: what the others name is not read.

use std::sync::Arc;

use super::wanted::Wanted;
use super::{gateways, wanted};
use crate::model::Source;

/// A change of more bytes than this is looked at as a whole repository is.
const LARGE: usize = 64 << 10;

/// The Rollouts that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked(Option<Arc<[String]>>);

impl Asked {
    /// Every Rollout.
    pub fn all() -> Self {
        Self(None)
    }

    /// Those that a change can concern, given the files that differ, each as it is and as it was. Rather one too many: a
    /// Rollout is among them if one of the files holds the name of something that it names.
    pub fn concerned<'a>(changed: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut texts, mut length) = (Vec::new(), 0);
        for (path, bytes) in changed {
            length += bytes.len();
            match std::str::from_utf8(bytes) {
                Ok(text) if length <= LARGE && !is_about_all(path, text) => texts.push(text.to_owned()),
                Ok(_) | Err(_) => return Self::all(),
            }
        }
        Self(Some(texts.into()))
    }

    /// Whether a Rollout that names `wanted` is asked for.
    pub(super) fn is_asked(&self, rollout: &Source, wanted: &Wanted) -> bool {
        let Some(texts) = &self.0 else { return true };
        wanted.names().chain([rollout.manifest.name()]).any(|name| texts.iter().any(|text| text.contains(name)))
    }
}

/// Whether a file tells how others are read or served, or may hold a name that cannot be seen in its text.
fn is_about_all(path: &str, text: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let is_plain = [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending));
    let is_of_layout = name.starts_with('.') || name.starts_with("Chart.") || name.to_lowercase().starts_with("kustomization");
    let is_script = path.split('/').any(|part| part == gateways::FOLDER) || text.contains(wanted::SCRIPTS);
    !is_plain || is_of_layout || is_script || text.contains('\\')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Asked;
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

    #[track_caller]
    fn case(path: &str, text: &str, expected: bool) {
        let asked = Asked::concerned([(path, text.as_bytes())].into_iter());
        assert_eq!(is_asked(&asked), expected, "{path}: {text}");
    }

    #[test]
    fn a_rollout_is_concerned_by_the_names_of_its_objects() {
        for name in ["release", "shop", "front", "door"] {
            case("a.yaml", &format!("kind: X\nmetadata:\n  name: {name}\n"), true);
            case("a.yaml", &format!("{{\"metadata\": {{\"name\": \"{name}\"}}}}"), true);
        }
        case("a.yaml", "kind: Deployment\nmetadata:\n  name: other\n", false);
        assert!(!is_asked(&Asked::concerned(std::iter::empty())));
    }

    #[test]
    fn what_tells_how_files_are_read_concerns_every_rollout() {
        for path in [".rollout.yaml", "x/Chart.yaml", "x/kustomization.yaml", "lua_configuration/a/B/gateway.yaml", "B/trafficRouting.lua"]
        {
            case(path, "a: 1\n", true);
        }
        case("a.yaml", "metadata:\n  name: kruise-rollout-configuration\n", true);
        case("a.yaml", "name: \"\\x73hop\"\n", true);
        case("a.yaml", &"#".repeat(100_000), true);
    }
}
