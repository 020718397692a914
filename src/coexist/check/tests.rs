//! Each rule with a repository that fails and one that passes.

use serde_json::{Value, json};

use super::{Layout, Placed, check};
use crate::coexist::fixture::{plan, source};
use crate::coexist::{argocd_block, engines, flux_block, settings};

/// The codes of what is found when these engines sync, and the layouts. Objects lie in `deploy/prod`, plans in `deploy/plans`.
fn found(engine_objects: &[Value], before: Option<(&str, Value)>, now: Option<&str>) -> (Vec<&'static str>, Vec<Layout>) {
    let plan = plan();
    let settings = settings(&plan);
    let sources: Vec<_> = engine_objects.iter().map(|value| source("engines.yaml", value.clone())).collect();
    let before = before.map(|(path, value)| (source(path, value), path));
    let placed: Vec<_> = settings
        .iter()
        .map(|setting| {
            let before = before.as_ref().filter(|(source, _)| source.object == setting.object());
            Placed { setting, path: now, before: before.map(|(source, path)| (source.as_ref(), *path)) }
        })
        .collect();
    let coexistence = check(&plan, &placed, "deploy/plans/prod/shop/plan.yaml", "plans/prod/shop", &engines(&sources, &[OURS.to_owned()]));
    let codes: Vec<_> = coexistence.findings.iter().map(|finding| finding.code).collect();
    (codes, coexistence.engines.iter().map(|synced| synced.layout).collect())
}

fn flux(path: &str, ignore: &Value) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "shop", "namespace": "flux-system"},
        "spec": {"path": path, "prune": true, "ignore": ignore},
    })
}

fn flux_complete() -> Value {
    flux_block(&settings(&plan()))["spec"]["ignore"].clone()
}

fn argocd(part: &Value) -> Value {
    let mut application = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"source": {"path": "deploy"}},
    });
    application["metadata"]["annotations"] = part["metadata"]["annotations"].clone();
    for field in ["ignoreDifferences", "syncPolicy"] {
        application["spec"][field] = part["spec"][field].clone();
    }
    application["spec"]["syncPolicy"]["automated"] = json!({"prune": true, "selfHeal": true});
    application
}

fn argocd_complete() -> Value {
    argocd_block(&settings(&plan()))
}

const OURS: &str = "git@example.com:team/shop.git";

const HERE: Option<&str> = Some("deploy/prod/app.yaml");

#[track_caller]
fn case(engine: Value, expected: &[&str]) {
    let (codes, layouts) = found(&[engine], None, HERE);
    assert_eq!(codes, expected);
    assert_eq!(layouts, [Layout::Paths]);
}

#[test]
fn the_settings_that_are_computed_are_complete() {
    case(flux("./deploy", &flux_complete()), &[]);
    case(argocd(&argocd_complete()), &[]);
}

#[test]
fn the_settings_name_what_stands_in_git_and_nothing_else() {
    let flux = flux_complete();
    let named: Vec<_> = flux.as_array().expect("a list").iter().map(|entry| format!("{} {}", entry["target"], entry["paths"])).collect();
    assert_eq!(
        named,
        [
            r#"{"kind":"Service","name":"^shop$","namespace":"^prod$","version":"v1"} ["/spec/selector"]"#,
            r#"{"group":"apps","kind":"Deployment","name":"^shop$","namespace":"^prod$"} ["/spec/template"]"#,
            r#"{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"^shop$","namespace":"^prod$"} ["/spec/rules"]"#,
        ]
    );
}

#[test]
fn an_engine_without_settings_rolls_out_at_once() {
    case(flux("deploy", &json!([])), &["engine-overwrites"]);
    case(flux("", &json!([])), &["engine-overwrites"]);
    let mut bare = argocd_complete();
    bare["spec"]["ignoreDifferences"] = json!([]);
    case(argocd(&bare), &["engine-overwrites"]);
    let mut owned = argocd_complete();
    for entry in owned["spec"]["ignoreDifferences"].as_array_mut().expect("a list") {
        entry["jsonPointers"] = json!([]);
        entry["managedFieldsManagers"] = json!(["rollout-agent"]);
    }
    case(argocd(&owned), &["engine-overwrites"]);
}

#[test]
fn all_that_an_engine_writes_is_told_at_once() {
    let plan = plan();
    let settings = settings(&plan);
    let engine = [source("engines.yaml", flux("deploy", &json!([])))];
    let placed: Vec<_> = settings.iter().map(|setting| Placed { setting, path: HERE, before: None }).collect();
    let findings = check(&plan, &placed, "deploy/plans/prod/shop/plan.yaml", "plans/prod/shop", &engines(&engine, &[])).findings;
    let messages: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Flux Kustomization flux-system/shop writes `/spec/selector` of Service prod/shop and `/spec/template` of Deployment prod/shop and `/spec/rules` of HTTPRoute prod/shop at once, whatever the plan says"
        ]
    );
}

#[test]
fn a_wider_path_and_a_plain_expression_do_as_well() {
    let mut wide = argocd_complete();
    wide["spec"]["ignoreDifferences"][1]["jsonPointers"] = json!(["/spec"]);
    wide["spec"]["ignoreDifferences"][2]["jsonPointers"] = json!([]);
    wide["spec"]["ignoreDifferences"][2]["jqPathExpressions"] = json!([".spec.rules"]);
    case(argocd(&wide), &[]);
}

#[test]
fn differences_that_are_not_respected_are_written() {
    let mut part = argocd_complete();
    part["spec"]["syncPolicy"]["syncOptions"] = json!(["ServerSideApply=true", "ApplyOutOfSyncOnly=true"]);
    case(argocd(&part), &["argocd-respect-missing"]);
}

#[test]
fn missing_options_make_an_application_out_of_sync() {
    let mut part = argocd_complete();
    part["spec"]["syncPolicy"]["syncOptions"] = json!(["RespectIgnoreDifferences=true", "ServerSideApply=true"]);
    case(argocd(&part), &["argocd-options-missing"]);
    let mut part = argocd_complete();
    part["metadata"]["annotations"] = json!({});
    case(argocd(&part), &["argocd-options-missing"]);
}

#[test]
fn an_item_of_a_list_is_no_path_to_ignore() {
    let mut ignore = flux_complete();
    ignore[2]["paths"] = json!(["/spec/rules", "/spec/rules/0/backendRefs"]);
    case(flux("deploy", &ignore), &["ignore-by-index"]);
    let mut part = argocd_complete();
    part["spec"]["ignoreDifferences"][2]["jqPathExpressions"] = json!([".spec.rules[].backendRefs[].weight"]);
    case(argocd(&part), &["ignore-by-index"]);
}

#[test]
fn a_name_has_to_be_anchored() {
    let mut ignore = flux_complete();
    ignore[0]["target"]["name"] = json!("shop");
    case(flux("deploy", &ignore), &["flux-name-unanchored"]);
}

#[test]
fn what_leaves_a_synced_folder_is_deleted() {
    let deployment = |annotations: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "prod", "annotations": annotations}});
    let moved = |engine: Value, annotations: Value| {
        found(&[engine], Some(("deploy/prod/app.yaml", deployment(annotations))), Some("apps/app.yaml"))
    };
    let flux = || flux("deploy", &json!([]));
    assert_eq!(moved(flux(), json!({})), (vec!["manifest-leaves-sync"], vec![Layout::Objects]));
    assert_eq!(moved(flux(), json!({"kustomize.toolkit.fluxcd.io/prune": "disabled"})), (vec![], vec![Layout::Objects]));
    let argocd = || argocd(&argocd_complete());
    assert_eq!(moved(argocd(), json!({})).0, ["manifest-leaves-sync"]);
    assert_eq!(moved(argocd(), json!({"argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false"})).0, Vec::<&str>::new());
}

#[test]
fn a_plan_that_nobody_syncs_is_told_of() {
    case(flux("deploy/prod", &flux_complete()), &["plan-not-synced"]);
}

#[test]
fn the_nearest_folder_is_the_one_that_counts() {
    let (codes, layouts) = found(&[flux(".", &json!([])), flux("deploy", &flux_complete())], None, HERE);
    assert_eq!((codes, layouts), (vec![], vec![Layout::Paths]));
}

#[test]
fn a_set_of_applications_is_read_by_its_template() {
    let template = argocd(&argocd_complete());
    let set = |path: &str, generators: Value| {
        let mut set =
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "all", "namespace": "argocd"}});
        set["spec"] = json!({"generators": generators, "template": template});
        set["spec"]["template"]["spec"]["source"]["path"] = json!(path);
        set
    };
    case(set("{{path}}", json!([{"git": {"directories": [{"path": "*"}]}}])), &[]);
    let mut bare = set("deploy/{{.env}}", json!([]));
    bare["spec"]["template"]["spec"]["ignoreDifferences"] = json!([]);
    case(bare, &["engine-overwrites"]);
}

fn repository(url: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "here", "namespace": "flux-system"},
        "spec": {"url": url},
    })
}

fn flux_from(kind: &str, name: &str, path: &str) -> Value {
    let mut kustomization = flux(path, &json!([]));
    kustomization["spec"]["sourceRef"] = json!({"kind": kind, "name": name});
    kustomization
}

#[test]
fn an_engine_of_another_repository_has_nothing_to_do_with_the_plan() {
    let is_found = |objects: &[Value]| !found(objects, None, HERE).1.is_empty();
    for (url, expected) in [
        ("https://example.com/team/shop", true),
        ("https://git.example.org/mirrors/Shop.git/", true),
        ("https://example.com/team/podinfo", false),
        ("https://example.com/team/${NAME}", true),
    ] {
        assert_eq!(is_found(&[repository(url), flux_from("GitRepository", "here", "./")]), expected, "Flux {url}");
        let mut application = argocd(&argocd_complete());
        application["spec"]["source"] = json!({"path": ".", "repoURL": url});
        assert_eq!(is_found(&[application.clone()]), expected, "Argo CD {url}");
        application["spec"]["source"] = Value::Null;
        application["spec"]["sources"] = json!([{"chart": "x", "repoURL": "https://charts.example.com"}, {"path": ".", "repoURL": url}]);
        assert_eq!(is_found(&[application]), expected, "Argo CD, several sources, {url}");
    }
    assert!(is_found(&[flux_from("GitRepository", "elsewhere", "./")]), "no file holds the GitRepository");
}

#[test]
fn an_engine_syncs_the_folders_that_are_copied_into_its_artifact() {
    let generator = json!({
        "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator", "metadata": {"name": "all", "namespace": "flux-system"},
        "spec": {
            "sources": [{"alias": "monorepo", "kind": "GitRepository", "name": "here"}],
            "artifacts": [{"name": "apps", "copy": [
                {"from": "@monorepo/deploy/base/**", "to": "@artifact/base/"},
                {"from": "@monorepo/deploy/prod/**", "to": "@artifact/production/"},
            ]}],
        },
    });
    let case = |url: &str, path: &str, expected: &[&str]| {
        let (codes, _) = found(&[repository(url), generator.clone(), flux_from("ExternalArtifact", "apps", path)], None, HERE);
        assert_eq!(codes, expected, "{url} {path}");
    };
    case("https://example.com/team/shop", "./production", &["engine-overwrites", "plan-not-synced"]);
    case("https://example.com/team/shop", "./base", &[]);
    case("https://example.com/team/podinfo", "./production", &[]);
    let (codes, _) = found(&[flux_from("ExternalArtifact", "unknown", "./")], None, HERE);
    assert_eq!(codes, [] as [&str; 0], "what is in an artifact that no file describes is not known");
}
