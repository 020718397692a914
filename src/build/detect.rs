//! Which kustomizations of a repository are roots: deployed as they are, and included by no other.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::kustomization;
use super::tree::joined;
use crate::files::Files;

/// The kustomizations among files, by folder. Relative to the root; no disk is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kustomizations {
    /// Every folder with a kustomization file.
    pub(super) folders: BTreeSet<String>,
    /// Those that nothing includes and that are no components.
    pub(super) roots: BTreeSet<String>,
}

/// Finds kustomizations, but for those that `is_left_out`.
pub(super) fn kustomizations(files: &Files, is_left_out: &dyn Fn(&str) -> bool) -> Kustomizations {
    let mut folders: BTreeMap<String, (bool, BTreeSet<Utf8PathBuf>)> = BTreeMap::new();
    for (path, bytes) in files.iter() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !kustomization::NAMES.contains(&name) || is_left_out(path) || folders.contains_key(folder) {
            continue;
        }
        let (is_component, included) = match kustomization::read(bytes) {
            Ok(Some(read)) => {
                let targets = read.entries.iter().filter(|entry| entry.is_resource).map(|entry| within(folder, &entry.path));
                (read.is_component, targets.flatten().collect())
            }
            Ok(None) => continue,
            // Whoever builds it says what is wrong with it.
            Err(_) => (false, BTreeSet::new()),
        };
        folders.insert(folder.to_owned(), (is_component, included));
    }
    let included: BTreeSet<&Utf8Path> = folders.values().flat_map(|(_, included)| included).map(Utf8PathBuf::as_path).collect();
    let is_root = |(folder, (is_component, _)): &(&String, &(bool, _))| !is_component && !included.contains(Utf8Path::new(folder.as_str()));
    let roots = folders.iter().filter(is_root).map(|(folder, _)| folder.clone()).collect();
    Kustomizations { roots, folders: folders.into_keys().collect() }
}

/// `path` as seen from `folder`, below the root; none when it leaves the root.
fn within(folder: &str, path: &str) -> Option<Utf8PathBuf> {
    let root = Utf8Path::new("/root-of-all-files");
    joined(&root.join(folder), path).strip_prefix(root).ok().map(Utf8Path::to_owned)
}

/// A name for each folder, as short as tells them apart: `dev` and `prod`, or `shop-prod` and `cart-prod`.
pub(super) fn names(folders: &[&str]) -> Vec<String> {
    let label = |folder: &str, parts: usize| -> String {
        let all: Vec<&str> = folder.split('/').collect();
        let last = all[all.len().saturating_sub(parts)..].join("-");
        let plain: String =
            last.chars().map(|character| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' }).collect();
        plain.trim_matches('-').chars().take(63).collect()
    };
    let longest = folders.iter().map(|folder| folder.split('/').count()).max().unwrap_or(1);
    for parts in 1..=longest {
        // `apps/shop/overlays/prod`: that it is an overlay tells nothing.
        let shortened: Vec<String> =
            folders.iter().map(|folder| folder.split('/').filter(|part| *part != "overlays").collect::<Vec<_>>().join("/")).collect();
        let names: Vec<String> = shortened.iter().map(|folder| label(folder, parts)).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() && names.iter().all(|name| !name.is_empty()) {
            return names;
        }
    }
    (1..=folders.len()).map(|number| format!("kustomization-{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{kustomizations, names};
    use crate::files::Files;

    #[test]
    fn overlays_that_nothing_includes_are_roots() {
        let files: Files = [
            ("base/kustomization.yaml", "resources: [app.yaml]"),
            ("overlays/dev/kustomization.yaml", "resources: [../../base]"),
            ("overlays/prod/kustomization.yml", "bases: [../../base]\ncomponents: [../../extra]"),
            ("extra/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1"),
            ("unused/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1"),
            ("flux/kustomization.yaml", "kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1"),
            ("broken/kustomization.yaml", "a: ["),
            ("rollouts/kustomization.yaml", "resources: [plan.yaml]"),
        ]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text.as_bytes().into()))
        .collect();
        let found = kustomizations(&files, &|path| path.starts_with("rollouts/"));
        assert_eq!(found.roots.into_iter().collect::<Vec<_>>(), ["broken", "overlays/dev", "overlays/prod"]);
        assert_eq!(found.folders.len(), 6);
    }

    #[test]
    fn names_are_as_short_as_tells_folders_apart() {
        assert_eq!(names(&["overlays/dev", "overlays/prod"]), ["dev", "prod"]);
        assert_eq!(names(&["apps/cart/overlays/prod", "apps/shop/overlays/prod"]), ["cart-prod", "shop-prod"]);
        assert_eq!(names(&["a_b", "a-b"]), ["kustomization-1", "kustomization-2"]);
    }
}
