//! A function for pipelines of kpt and kustomize: a ResourceList in, the same list with plans out.
//!
//! Pure. The former plan among the items is the baseline, as the plan at the base revision is elsewhere: the list has no history.

mod list;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use list::ListError;

use crate::check;
use crate::config::{Build, Config, Environment, OUTPUT};
use crate::discover;
use crate::files::Files;
use crate::model::{Catalog, Finding, Plan, Rollout, Severity};
use crate::plan;
use crate::render::{self, Inputs, Scripts};
use list::ResourceList;

/// What a function answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The list to hand on.
    pub text: String,
    /// The same findings as in the list's results.
    pub findings: Vec<Finding>,
}

/// Where an item's file is written in its annotations, the newer name first.
const PATHS: [&str; 2] = ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"];
const INDEXES: [&str; 2] = ["internal.config.kubernetes.io/index", "config.kubernetes.io/index"];

/// A plan among the items.
struct Former {
    index: usize,
    plan: Option<Plan>,
}

/// Adds the plan of each Rollout to a list, in place of the one before.
pub fn run(bytes: &[u8]) -> Result<Outcome, ListError> {
    let list = ResourceList::read(bytes)?;
    let (files, items) = files(&list);
    let config = config(&list);
    let discovery = discover::discover(&discover::read(&files, &config), &config);
    let mut findings = discovery.findings.clone();
    let former = former(&list, &mut findings);
    let mut gone = Vec::new();
    let mut new = Vec::new();
    let scripts = Scripts::default();
    let mut planned = Vec::new();
    for catalog in &discovery.catalogs {
        for rollout in &catalog.rollouts {
            let name = (rollout.namespace.clone(), rollout.reference.name.clone());
            let before = former.get(&name);
            let plan = one(catalog, rollout, before.and_then(|former| former.plan.as_ref()), &scripts, &mut findings);
            planned.push(name);
            let Some(plan) = plan.filter(|plan| before.and_then(|former| former.plan.as_ref()) != Some(plan)) else { continue };
            new.push(item(&plan, catalog, before.and_then(|former| list.items().get(former.index))));
            gone.extend(before.map(|former| former.index));
        }
    }
    if let Some(exceeded) = scripts.exceeded() {
        (gone, new, findings) = (Vec::new(), Vec::new(), vec![exceeded]);
    }
    if !findings.iter().any(|finding| finding.severity == Severity::Error) {
        gone.extend(former.iter().filter(|(name, _)| !planned.contains(name)).map(|(_, former)| former.index));
    }
    findings.sort();
    findings.dedup();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, &items, list.items())).collect();
    let text = list.written(&|index| gone.contains(&index), &new, &results);
    Ok(Outcome { text, findings: findings.into_iter().map(|finding| placed(finding, &items, list.items())).collect() })
}

/// The items as files, each in the folder that it comes from, and which item each file is.
fn files(list: &ResourceList<'_>) -> (Files, BTreeMap<String, usize>) {
    let mut files = Files::default();
    let mut items = BTreeMap::new();
    for (index, item) in list.items().iter().enumerate().filter(|(_, item)| !is_plan(item)) {
        let path = annotation(item, &PATHS).unwrap_or_default();
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        // Hidden names hold no manifests of people, and a way up leads nowhere here.
        let folders = folders.split('/').filter(|part| !part.is_empty() && !part.starts_with('.'));
        let file = format!("item-{index}.yaml");
        let path = folders.chain([file.as_str()]).collect::<Vec<_>>().join("/");
        files.insert(path.clone(), list.item(index).into_bytes());
        items.insert(path, index);
    }
    (files, items)
}

fn config(list: &ResourceList<'_>) -> Config {
    let environment = Environment {
        name: list.setting("environment").unwrap_or_default().to_owned(),
        path: String::new(),
        output: list.setting("output").unwrap_or(OUTPUT).trim_matches('/').to_owned(),
        namespace: list.setting("namespace").map(str::to_owned),
        build: Build::Nothing,
    };
    Config { environments: vec![environment] }
}

fn is_plan(item: &Value) -> bool {
    item["kind"] == "RolloutPlan" && item["apiVersion"].as_str().is_some_and(|version| version.starts_with("rollout.dev/"))
}

/// The plans among the items, by namespace and name.
fn former(list: &ResourceList<'_>, findings: &mut Vec<Finding>) -> BTreeMap<(String, String), Former> {
    let mut former = BTreeMap::new();
    for (index, item) in list.items().iter().enumerate().filter(|(_, item)| is_plan(item)) {
        let name = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = (name("/metadata/namespace"), name("/metadata/name"));
        let plan = match plan::from_text(list.item(index).as_bytes()) {
            Ok(plan) => Some(plan),
            Err(error) => {
                let message = format!("the plan before cannot be read and is not used: {error}");
                findings.push(Finding::warning("base-plan-unreadable", message).about(format!("RolloutPlan {}/{}", name.0, name.1)));
                None
            }
        };
        former.insert(name, Former { index, plan });
    }
    former
}

fn one(catalog: &Catalog, rollout: &Rollout, previous: Option<&Plan>, scripts: &Scripts, findings: &mut Vec<Finding>) -> Option<Plan> {
    let (head, found) = discover::originals(catalog, rollout);
    findings.extend(found);
    match render::plan(&Inputs { rollout, catalog, head: &head, base: None, previous, scripts }) {
        Ok(rendered) => {
            findings.extend(rendered.findings);
            if let Some(unsound) = plan::validate::check(&rendered.plan) {
                findings.push(unsound);
                return None;
            }
            findings.extend(plan::size::check(&rendered.plan, &plan::sealed(&rendered.plan.spec)));
            findings.extend(check::check(&rendered.plan, &head));
            Some(rendered.plan)
        }
        Err(found) => {
            findings.extend(found);
            None
        }
    }
}

/// The plan as an item, with the file of the one before, or where `rollout render --out` writes it.
fn item(plan: &Plan, catalog: &Catalog, before: Option<&Value>) -> Value {
    let mut item = plan::document(plan);
    let parts = [&catalog.output, &catalog.environment, &plan.namespace, &plan.name];
    let folders: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let path =
        before.and_then(|before| annotation(before, &PATHS)).map_or_else(|| format!("{}/plan.yaml", folders.join("/")), str::to_owned);
    let index = before.and_then(|before| annotation(before, &INDEXES)).unwrap_or("0");
    item["metadata"]["annotations"][PATHS[0]] = path.into();
    item["metadata"]["annotations"][INDEXES[0]] = index.into();
    item
}

fn annotation<'a>(item: &'a Value, names: &[&str]) -> Option<&'a str> {
    let annotations = item.pointer("/metadata/annotations")?;
    names.iter().find_map(|name| annotations.get(name)?.as_str())
}

/// A finding as one of the function's results.
fn result(finding: &Finding, items: &BTreeMap<String, usize>, all: &[Value]) -> Value {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "info",
    };
    let help = finding.help.as_ref().map(|help| format!("; help: {help}")).unwrap_or_default();
    let mut result = json!({
        "message": format!("{}{help}", finding.message),
        "severity": severity,
        "tags": {"rollout.dev/code": finding.code},
    });
    let item = finding.place.as_ref().and_then(|place| all.get(*items.get(&place.path)?));
    if let Some(item) = item {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
        let fields = [("apiVersion", "/apiVersion"), ("kind", "/kind"), ("name", "/metadata/name"), ("namespace", "/metadata/namespace")];
        for (field, pointer) in fields {
            if let Some(value) = text(pointer) {
                result["resourceRef"][field] = value.into();
            }
        }
        if let Some(path) = annotation(item, &PATHS) {
            result["file"]["path"] = path.into();
            let index = annotation(item, &INDEXES).and_then(|index| index.parse::<u32>().ok());
            result["file"]["index"] = index.unwrap_or_default().into();
        }
    }
    result
}

/// A finding at the file of the item, for people.
fn placed(mut finding: Finding, items: &BTreeMap<String, usize>, all: &[Value]) -> Finding {
    let item = finding.place.as_ref().and_then(|place| all.get(*items.get(&place.path)?));
    match item.map(|item| annotation(item, &PATHS)) {
        Some(Some(path)) => finding.place.iter_mut().for_each(|place| path.clone_into(&mut place.path)),
        // An item without a file is known by its name only.
        Some(None) => finding.place = None,
        None => {}
    }
    finding
}
