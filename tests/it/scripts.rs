//! The shipped scripts against their cases, and what a user's own script and cases may look like.

use std::collections::BTreeMap;

use camino::Utf8Path;
use rollout::cases::{self, CaseReport, Outcome};
use rollout::files::Files;
use rollout::model::GatewayDeclaration;
use rollout::{disk, yaml};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn shipped() -> Files {
    let reading = disk::read(&Utf8Path::new(HERE).join("lua_configuration").join("..")).unwrap();
    reading
        .files
        .iter()
        .filter(|(path, _)| path.starts_with("lua_configuration/"))
        .map(|(path, bytes)| (path.into(), bytes.clone()))
        .collect()
}

#[track_caller]
fn all_pass(reports: &[CaseReport]) {
    let failed: Vec<_> = reports.iter().filter(|report| !report.is_passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn all_shipped_cases_pass() {
    let reports = cases::run(&shipped(), &[]);
    assert!(reports.len() >= 40, "{}", reports.len());
    all_pass(&reports);
}

#[test]
fn every_shipped_script_has_a_declaration_and_ten_cases() {
    let files = shipped();
    let mut counts = BTreeMap::new();
    for (path, bytes) in files.iter() {
        if let Some(folder) = path.strip_suffix("/trafficRouting.lua") {
            let declaration = files.get(&format!("{folder}/gateway.yaml")).unwrap_or_else(|| panic!("{folder} has no gateway.yaml"));
            let value = yaml::read_value(std::str::from_utf8(declaration).unwrap()).unwrap();
            serde_json::from_value::<GatewayDeclaration>(value).unwrap_or_else(|error| panic!("{folder}: {error}"));
            counts.insert(folder.to_owned(), 0);
            assert!(rollout::lua::beyond_lua51(std::str::from_utf8(bytes).unwrap()).is_empty(), "{path}");
        }
    }
    for report in cases::run(&files, &[]) {
        let (folder, _) = report.path.split_once("/testdata/").unwrap();
        *counts.get_mut(folder).unwrap() += 1;
    }
    assert_eq!(counts.len(), rollout::discover::shipped_gateways().len(), "{counts:?}");
    assert!(counts.values().all(|count| *count >= 10), "{counts:?}");
}

#[test]
fn all_of_the_cases_of_openkruise_pass() {
    let reading = disk::read(&Utf8Path::new(HERE).join("tests/conformance")).unwrap();
    let mut files = shipped();
    for (path, bytes) in reading.files.iter() {
        files.insert(format!("conformance/{path}"), bytes.clone());
    }
    let reports: Vec<_> = cases::run(&files, &[]).into_iter().filter(|report| report.path.starts_with("conformance/")).collect();
    assert_eq!(reports.len(), 3);
    all_pass(&reports);
}

fn user_files(script: &str, case: &str) -> Files {
    let mut files = Files::default();
    files.insert("lua_configuration/example.io/Route/trafficRouting.lua", script.as_bytes());
    files.insert("lua_configuration/example.io/Route/testdata/case.yaml", case.as_bytes());
    files
}

/// Written as many scripts for OpenKruise are: globals, `#`, string functions, `json`, tables shared between results.
const USER_SCRIPT: &str = r#"
spec = obj.data.spec
backends = {}
for i, target in ipairs(spec.targets) do
    if target.service == obj.stableService then target.share = obj.stableWeight end
    backends[#backends + 1] = target.service
end
if obj.canaryWeight ~= -1 then
    table.insert(spec.targets, {service = obj.canaryService, share = obj.canaryWeight})
end
if obj.matches then
    for _, match in ipairs(obj.matches) do
        for _, header in ipairs(match.headers) do
            spec.rule = string.format("%s=%s", header.name, header.value)
        end
    end
end
annotations = obj.data.annotations or {}
annotations.backends = json.encode(backends)
return {spec = spec, labels = obj.data.labels, annotations = annotations}
"#;

const USER_CASE: &str = r#"
rollout:
  spec:
    strategy:
      canary:
        steps:
        - traffic: 30%
        - matches: [{headers: [{name: a, value: b}]}]
        trafficRoutings: [{service: web}]
original: {apiVersion: example.io/v1, kind: Route, metadata: {name: web}, spec: {targets: [{service: web}], empty: []}}
expected:
- {metadata: {annotations: {backends: '["web"]'}}, spec: {targets: [{service: web, share: 70}, {service: web-canary, share: 30}], empty: []}}
- {metadata: {annotations: {backends: '["web"]'}}, spec: {targets: [{service: web, share: 101}], rule: a=b, empty: []}}
"#;

#[test]
fn a_script_written_for_openkruise_runs_as_it_is() {
    all_pass(&cases::run(&user_files(USER_SCRIPT, USER_CASE), &[]));
}

#[test]
fn a_case_that_differs_says_what_was_expected_and_what_came() {
    let reports = cases::run(&user_files(USER_SCRIPT, &USER_CASE.replace("share: 70", "share: 71")), &[]);
    let outcomes = reports[0].outcomes.as_ref().unwrap();
    let Outcome::Differs { expected, actual } = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(expected.pointer("/spec/targets/0/share"), Some(&71.into()));
    assert_eq!(actual.pointer("/spec/targets/0/share"), Some(&70.into()));
    assert_eq!(outcomes[1], Outcome::Passed);
}

#[test]
fn a_step_too_few_and_a_step_too_many_are_failures() {
    let too_many = USER_CASE.replace("        - matches: [{headers: [{name: a, value: b}]}]\n", "");
    let reports = cases::run(&user_files(USER_SCRIPT, &too_many), &[]);
    assert_eq!(reports[0].outcomes.as_ref().unwrap()[1], Outcome::NoSuchStep);
    let too_few = USER_CASE.lines().take(11).fold(String::new(), |text, line| text + line + "\n");
    let reports = cases::run(&user_files(USER_SCRIPT, &too_few), &[]);
    assert!(matches!(reports[0].outcomes.as_ref().unwrap()[1], Outcome::Unexpected { .. }));
}

#[test]
fn a_script_that_raises_fails_its_case_with_name_and_line() {
    let reports = cases::run(&user_files("\nerror('no')", USER_CASE), &[]);
    let Outcome::Failed { message } = &reports[0].outcomes.as_ref().unwrap()[0] else { panic!("{reports:?}") };
    assert!(message.starts_with("lua_configuration/example.io/Route/trafficRouting.lua:2: "), "{message}");
}

#[test]
fn a_case_may_expect_an_error() {
    let case = USER_CASE.split("expected:").next().unwrap().to_owned() + "expected:\n- {error: 'no'}\n- {error: 'no'}\n";
    all_pass(&cases::run(&user_files("error('no')", &case), &[]));
    assert!(!cases::run(&user_files("error('yes')", &case), &[])[0].is_passed());
}

#[test]
fn a_case_runs_the_script_that_a_release_would_run() {
    let case = "rollout: {spec: {strategy: {canary: {steps: [{traffic: 20%}], trafficRoutings: [{service: shop, ingress: {name: shop, classType: CLASS}}]}}}}
original: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop}, spec: {}}
expected:
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: shop-canary, annotations: {own: 'yes'}}
";
    let script = "return { own = 'yes' }";
    let shipped = [("trafficrouting_ingress/nginx".to_owned(), rollout::discover::shipped_gateways()[0].1.clone())];
    for (class, path) in [
        ("nginx", "lua_configuration/trafficrouting_ingress/nginx.lua"),
        ("mine", "prod/lua_configuration/trafficrouting_ingress/mine.lua"),
        ("mine", "trafficrouting_ingress/mine/trafficRouting.lua"),
    ] {
        let files: Files = [("cases/a.yaml", case.replace("CLASS", class)), (path, script.to_owned())]
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.into_bytes().into()))
            .collect();
        let reports = cases::run(&files, &shipped);
        assert_eq!(reports[0].script.as_deref(), Some(format!("trafficrouting_ingress/{class}").as_str()), "{path}");
        all_pass(&reports);
    }
}

#[test]
fn blessed_cases_pass_and_keep_their_text() {
    let wrong = format!("# why\n{}", USER_CASE.replace("share: 70", "share: 71"));
    let mut files = user_files(USER_SCRIPT, &wrong);
    let changed = cases::bless(&files, &[]);
    assert_eq!(changed.len(), 1);
    for (path, bytes) in changed.iter() {
        assert!(std::str::from_utf8(bytes).unwrap().starts_with("# why\n"));
        files.insert(path, bytes.clone());
    }
    all_pass(&cases::run(&files, &[]));
    assert!(cases::bless(&files, &[]).is_empty());
}

#[test]
fn a_case_without_script_or_steps_says_so() {
    let mut files = Files::default();
    files.insert("case.yaml", USER_CASE.as_bytes());
    let reports = cases::run(&files, &[]);
    assert_eq!(reports[0].outcomes, Err("there is no script for example.io/v1 Route".into()));
    let reports = cases::run(&user_files(USER_SCRIPT, "rollout: {}\noriginal: {}\nexpected: []\n"), &[]);
    assert!(reports[0].outcomes.is_err());
}

#[test]
fn files_that_are_no_cases_are_none() {
    let mut files = Files::default();
    files.insert("a.yaml", "original: [".as_bytes());
    files.insert("b.yaml", "kind: Deployment\n".as_bytes());
    files.insert("c.yaml", b"\xff\xfe".as_slice());
    assert!(cases::run(&files, &[]).is_empty());
}
