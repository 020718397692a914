//! What would break the truce between an engine and a plan. Each rule is one function and one code.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::argocd::{COMPARE, OTHER_OPTIONS, RESPECT, SERVER_SIDE_DIFF};
use super::engine::{Cover, Engine, EngineKind};
use super::settings::{Setting, settings};
use super::{flux, goes_by_index};
use crate::model::{Finding, Manifest, Plan, Source};

/// How a repository is synced, as far as it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Layout {
    /// The engine syncs the manifests, and leaves alone the paths that plans change.
    #[serde(rename = "own: paths")]
    Paths,
    /// The engine syncs plans, and not the objects in them.
    #[serde(rename = "own: objects")]
    Objects,
}

/// An object of a plan, and where it stands in git.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    /// What the plan changes of it.
    pub setting: &'a Setting,
    /// The file, from the root of the repository. None: it stands in no file.
    pub path: Option<&'a str>,
    /// The same object at the base, and its file.
    pub before: Option<(&'a Source, &'a str)>,
}

/// An engine that has to do with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Synced {
    /// Which engine.
    pub kind: EngineKind,
    /// Its object: `Flux Kustomization flux-system/shop`.
    pub engine: String,
    /// Which layout this is.
    pub layout: Layout,
    /// Whether it has all settings that it needs.
    pub is_complete: bool,
}

/// How a plan and the engines of its repository get along.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coexistence {
    /// What engines have to leave alone.
    pub settings: Vec<Setting>,
    /// Those that have to do with the plan, in the order given.
    pub engines: Vec<Synced>,
    /// What breaks it.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// Tells how a plan gets along with the engines. `placed` has an entry for each of its settings; `plan_path` is its file from the
/// root of the repository, `folder` the one that people know.
pub fn check(plan: &Plan, placed: &[Placed<'_>], plan_path: &str, folder: &str, engines: &[Engine]) -> Coexistence {
    let mut findings = Vec::new();
    let mut synced = Vec::new();
    for engine in engines {
        let own: Vec<&Setting> =
            placed.iter().filter(|one| one.path.is_some_and(|path| is_of(engine, path, engines))).map(|one| one.setting).collect();
        let before = findings.len();
        rules(engine, &own, folder, &mut findings);
        let is_complete = findings.len() == before;
        leaves(engine, placed, &mut findings);
        let layout = match own.as_slice() {
            [] if is_of(engine, plan_path, engines) => Layout::Objects,
            [] => continue,
            _ => Layout::Paths,
        };
        synced.push(Synced { kind: engine.kind, engine: engine.label(), layout, is_complete });
    }
    let is_synced = engines.iter().any(|engine| engine.syncs(plan_path).is_some());
    if !synced.is_empty() && !is_synced {
        let message = format!("no engine of this repository syncs the plan: `{plan_path}` is in none of their folders");
        let finding = Finding::note("plan-not-synced", message).about(format!("RolloutPlan {}/{}", plan.namespace, plan.name));
        findings.push(finding.help("choose an `output` inside of a folder that is synced, or apply the plan by other means"));
    }
    Coexistence { settings: settings(plan), engines: synced, findings }
}

/// Whether it is this engine that syncs a file: of several the one with the nearest folder.
fn is_of(engine: &Engine, path: &str, engines: &[Engine]) -> bool {
    engine.syncs(path).is_some_and(|depth| engines.iter().filter_map(|other| other.syncs(path)).all(|other| other <= depth))
}

fn rules(engine: &Engine, own: &[&Setting], folder: &str, findings: &mut Vec<Finding>) {
    for cover in [Cover::None, Cover::ByManager] {
        findings.extend(overwrites(engine, own, cover, folder));
    }
    for setting in own {
        findings.extend(by_index(engine, setting));
        findings.extend(unanchored(engine, setting));
    }
    if engine.kind == EngineKind::ArgoCd && !own.is_empty() {
        findings.extend(respect_missing(engine, folder));
        findings.extend(options_missing(engine, folder));
    }
}

/// The name of the file with the settings for an engine.
fn file(engine: &Engine) -> &'static str {
    match engine.kind {
        EngineKind::Flux => "flux.txt",
        EngineKind::ArgoCd => "argocd.txt",
    }
}

/// What the engine writes at once, whatever the plan says: all paths of all objects that it leaves alone no better than so.
fn overwrites(engine: &Engine, own: &[&Setting], cover: Cover, folder: &str) -> Option<Finding> {
    let of = |setting: &&Setting| {
        let open: Vec<String> =
            setting.paths.iter().filter(|path| engine.cover(setting, path) == cover).map(|path| format!("`{path}`")).collect();
        (!open.is_empty()).then(|| format!("{} of {}", open.join(", "), setting.object()))
    };
    let open: Vec<String> = own.iter().filter_map(of).collect();
    if open.is_empty() {
        return None;
    }
    let (engine_name, open) = (engine.label(), open.join(" and "));
    let message = match cover {
        Cover::ByManager => {
            format!("{engine_name} writes {open} as soon as the agent owns nothing of it: `managedFieldsManagers` is no lasting setting")
        }
        Cover::None | Cover::Whole => format!("{engine_name} writes {open} at once, whatever the plan says"),
    };
    let version = if engine.kind == EngineKind::Flux { " (kustomize-controller 1.9.0 or newer)" } else { "" };
    let help = format!("merge `{folder}/{}` into its object{version}", file(engine));
    Some(engine.place(Finding::warning("engine-overwrites", message), &engine.list()).help(help))
}

/// Ignoring an item of a list freezes or frees the wrong part.
fn by_index(engine: &Engine, setting: &Setting) -> Vec<Finding> {
    let mut found = Vec::new();
    for entry in engine.entries(setting) {
        let pointers = engine.pointers(&entry);
        let mut places: Vec<(String, String)> = pointers.into_iter().filter(|(_, path)| goes_by_index(path)).collect();
        let expressions = entry.value.get("jqPathExpressions").and_then(Value::as_array);
        let expressions = expressions.into_iter().flatten().enumerate().filter_map(|(index, text)| Some((index, text.as_str()?)));
        let by_item = expressions.filter(|(_, text)| text.contains('['));
        places.extend(by_item.map(|(index, text)| (format!("{}/jqPathExpressions/{index}", entry.pointer), text.to_owned())));
        for (place, path) in places {
            let message = format!("`{path}` is an item of a list of {}: engines take a list as a whole", setting.object());
            found.push(
                engine.place(Finding::warning("ignore-by-index", message), &place).help("ignore the whole list, as the plan's settings do"),
            );
        }
    }
    found
}

/// A name that is not held to its ends is another object's name as well.
fn unanchored(engine: &Engine, setting: &Setting) -> Vec<Finding> {
    if engine.kind != EngineKind::Flux {
        return Vec::new();
    }
    let mut found = Vec::new();
    for entry in engine.entries(setting) {
        for field in ["name", "namespace"] {
            let pattern = entry.value.pointer(&format!("/target/{field}")).and_then(Value::as_str);
            let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty() && flux::is_unanchored(pattern)) else { continue };
            let message = format!("the {field} `{pattern}` is a regular expression, and matches more than {}", setting.object());
            let place = format!("{}/target/{field}", entry.pointer);
            found.push(
                engine
                    .place(Finding::warning("flux-name-unanchored", message), &place)
                    .help(format!("`{field}: ^{}$`", pattern.trim_start_matches('^').trim_end_matches('$'))),
            );
        }
    }
    found
}

fn options(engine: &Engine) -> Vec<&str> {
    let list = engine.at(&format!("{}/spec/syncPolicy/syncOptions", engine.root)).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Without it every sync writes what is ignored.
fn respect_missing(engine: &Engine, folder: &str) -> Option<Finding> {
    let is_ignoring = engine.at(&engine.list()).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !is_ignoring || options(engine).contains(&RESPECT) {
        return None;
    }
    let message = format!("{} hides differences and still writes them: `{RESPECT}` is missing", engine.label());
    let help = format!("merge `{folder}/argocd.txt` into its object");
    Some(engine.place(Finding::warning("argocd-respect-missing", message), &format!("{}/spec/syncPolicy", engine.root)).help(help))
}

/// Without them the Application is OutOfSync during a release, or writes ignored fields with others.
fn options_missing(engine: &Engine, folder: &str) -> Option<Finding> {
    let set = options(engine);
    let mut missing: Vec<String> =
        OTHER_OPTIONS.iter().filter(|option| !set.contains(option)).map(|option| format!("`{option}`")).collect();
    let annotations = engine.at(&format!("{}/metadata/annotations", engine.root));
    let compare = annotations.and_then(|annotations| annotations.get(COMPARE)).and_then(Value::as_str).unwrap_or_default();
    if !compare.split(',').any(|option| option.trim() == SERVER_SIDE_DIFF) {
        missing.push(format!("`{COMPARE}: {SERVER_SIDE_DIFF}`"));
    }
    if missing.is_empty() {
        return None;
    }
    let message = format!("{} is out of sync during a release: {} missing", engine.label(), is_or_are(&missing));
    let help = format!("merge `{folder}/argocd.txt` into its object");
    Some(engine.place(Finding::warning("argocd-options-missing", message), &format!("{}/spec/syncPolicy", engine.root)).help(help))
}

fn is_or_are(missing: &[String]) -> String {
    format!("{} {}", missing.join(", "), if missing.len() == 1 { "is" } else { "are" })
}

/// What leaves a synced folder is deleted in the cluster, unless the object itself forbids it.
fn leaves(engine: &Engine, placed: &[Placed<'_>], findings: &mut Vec<Finding>) {
    for one in placed.iter().filter(|_| engine.prunes()) {
        let Some((source, _)) = one.before.filter(|(_, path)| engine.syncs(path).is_some()) else { continue };
        let is_still_here = one.path.is_some_and(|path| engine.syncs(path).is_some());
        if is_still_here || is_kept(engine.kind, &source.manifest) {
            continue;
        }
        let message = format!("{} leaves the folder that {} syncs, which deletes it in the cluster", one.setting.object(), engine.label());
        let annotation = match engine.kind {
            EngineKind::Flux => "`kustomize.toolkit.fluxcd.io/prune: disabled`",
            EngineKind::ArgoCd => "`argocd.argoproj.io/sync-options: Prune=false`",
        };
        let help = format!("first merge and sync {annotation} on it, then move it");
        findings.push(engine.place(Finding::error("manifest-leaves-sync", message), "").help(help));
    }
}

fn is_kept(kind: EngineKind, manifest: &Manifest) -> bool {
    match kind {
        EngineKind::Flux => {
            let name = "kustomize.toolkit.fluxcd.io/prune";
            let value = manifest.annotation(name).or_else(|| manifest.label(name));
            value.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
        }
        EngineKind::ArgoCd => {
            let options = manifest.annotation("argocd.argoproj.io/sync-options").unwrap_or_default();
            options.split(',').any(|option| option.trim() == "Prune=false")
        }
    }
}

#[cfg(test)]
mod tests;
