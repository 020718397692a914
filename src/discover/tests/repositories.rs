//! Whole repositories: what is read, what is skipped, and what references lead to.

use std::collections::BTreeSet;

use super::{discovered, files, shown};
use crate::config::{self, Config};
use crate::discover::{Discovery, discover, originals, read, removed};
use crate::files::Files;

const ROLLOUT: &str = "apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps: [{replicas: 1, traffic: 20%}]
      trafficRoutings:
      - service: shop
        customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]
";

fn object(api_version: &str, kind: &str, name: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

fn deployment() -> String {
    object("apps/v1", "Deployment", "shop")
}

/// What the only Rollout's references lead to, by file.
#[track_caller]
fn led_to(discovery: &Discovery) -> (Vec<String>, Vec<String>) {
    let catalog = discovery.catalogs.iter().find(|catalog| !catalog.rollouts.is_empty()).expect("a Rollout");
    let (originals, findings) = originals(catalog, &catalog.rollouts[0]);
    let gateways = originals.gateways.into_iter().map(|(_, source)| source);
    let all = [originals.workload, originals.service].into_iter().chain(gateways).chain([originals.autoscaler]);
    let found = all.map(|source| source.map_or_else(|| "-".to_owned(), |source| format!("{} {}", source.path, source.object)));
    (
        found.collect(),
        findings.iter().map(|finding| format!("{}: {}", finding.message, finding.help.as_deref().unwrap_or_default())).collect(),
    )
}

#[test]
fn only_what_a_rollout_needs_is_read() {
    let autoscaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: other\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: shop\n";
    let files = files(&[
        ("a/rollout.yaml", ROLLOUT),
        ("a/workload.yaml", &format!("{}---\n{}", deployment(), object("v1", "Service", "shop"))),
        ("a/route.json", r#"{"apiVersion": "networking.istio.io/v1beta1", "kind": "VirtualService", "metadata": {"name": "shop"}}"#),
        ("a/scale.yaml", autoscaler),
        ("a/others.yaml", &format!("{}---\n{}", object("v1", "Service", "other"), object("v1", "Secret", "shop"))),
        ("a/broken.yaml", "a: [\n"),
        ("b/list.yaml", &format!("apiVersion: v1\nkind: List\nitems:\n- {}", object("v1", "ConfigMap", "x").replace('\n', "\n  "))),
    ]);
    let discovery = discovered(&files, &Config::default());
    assert_eq!(shown(&discovery), ["1:1 note[namespace-default] objects without a namespace are taken to be in `default`"]);
    assert_eq!((discovery.counts.files, discovery.counts.objects, discovery.counts.rollouts), (7, 5, 1));
    let (found, findings) = led_to(&discovery);
    assert_eq!(
        found,
        [
            "a/workload.yaml Deployment default/shop",
            "a/workload.yaml Service default/shop",
            "a/route.json VirtualService default/shop",
            "a/scale.yaml HorizontalPodAutoscaler default/other",
        ]
    );
    assert_eq!(findings, [] as [&str; 0]);
}

#[test]
fn lists_stand_for_their_objects() {
    let inner = deployment().replace('\n', "\n  ");
    let files = files(&[("rollout.yaml", ROLLOUT), ("list.yaml", &format!("apiVersion: v1\nkind: List\nitems:\n- {inner}"))]);
    let discovery = discovered(&files, &Config::default());
    let source = discovery.catalogs[0].sources.iter().find(|source| source.object.kind == "Deployment").expect("a Deployment");
    assert_eq!((source.places.at("").line, source.places.at("/metadata/name").line), (4, 7));
}

#[test]
fn references_that_lead_nowhere_are_found_with_candidates() {
    let files = files(&[
        ("rollout.yaml", ROLLOUT),
        ("b/service.yaml", &object("v1", "Service", "shop").replace("name: shop", "name: shop\n  namespace: web")),
        ("x/workload.yaml", &deployment()),
        ("y/workload.yaml", &deployment()),
    ]);
    let (found, findings) = led_to(&discovered(&files, &Config::default()));
    assert_eq!(found, ["-", "-", "-", "-"]);
    assert_eq!(
        findings,
        [
            "there are 2 Deployment default/shop: x/workload.yaml:1, y/workload.yaml:1: keep the one that is meant in the Rollout's folder, or describe environments in `.rollout.yaml`",
            "there is no Service default/shop: there is Service web/shop in b/service.yaml:1",
            "there is no VirtualService default/shop: write the VirtualService into the files read, or correct the name `shop`",
        ]
    );
}

#[test]
fn a_rollout_without_a_name_is_an_error_beside_others_too() {
    let named = |metadata: &str| ROLLOUT.replace("metadata: {name: shop}", metadata);
    let found = |text: &str| {
        let files = files(&[("good.yaml", &ROLLOUT.replacen("name: shop}", "name: good, namespace: prod}", 1)), ("shop.yaml", text)]);
        shown(&discovered(&files, &Config::default()))
    };
    for metadata in ["metadata: {namespace: prod}", "metadata: {name: }", "metadata: {name: ''}"] {
        assert_eq!(
            found(&named(metadata)),
            ["1:1 error[rollout-nameless] a Rollout needs a name: `metadata.name` is missing"],
            "{metadata}"
        );
    }
    assert_eq!(
        found(&named("metadata: {generateName: shop-}")),
        ["1:1 error[rollout-nameless] a Rollout with `generateName: shop-` has another name each time it is created"]
    );
    assert_eq!(found(&named("metadata: {name: 7}")), ["1:1 error[rollout-nameless] the name of a Rollout is a text, not 7"]);
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", named("metadata: {}").replace('\n', "\n  "));
    assert_eq!(found(&list), ["4:3 error[rollout-nameless] a Rollout needs a name: `metadata.name` is missing"]);
}

#[test]
fn placeholders_of_flux_are_errors_where_no_shell_reads_them() {
    let workload = "apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, annotations: {a: '${A}'}}
spec:
  template:
    metadata: {labels: {version: '${VERSION:=unset}'}}
    spec:
      containers:
      - name: shop
        image: ghcr.io/${OWNER}/shop:1
        command: [sh, -c, 'echo ${HOME}']
        env: [{name: A, value: '${B}'}]
";
    let files =
        files(&[("rollout.yaml", ROLLOUT), ("workload.yaml", workload), ("other.yaml", &workload.replace("name: shop,", "name: other,"))]);
    let discovery = discovered(&files, &Config::default());
    let (_, findings) = originals(&discovery.catalogs[0], &discovery.catalogs[0].rollouts[0]);
    let findings = findings.into_iter().filter(|finding| finding.code == "placeholder");
    let found = shown(&Discovery { findings: findings.collect(), ..Discovery::default() });
    assert_eq!(
        found,
        [
            "6:34 error[placeholder] `${VERSION:=unset}` is a placeholder, which a plan would bring into the cluster as it stands",
            "10:16 error[placeholder] `${OWNER}` is a placeholder, which a plan would bring into the cluster as it stands",
        ]
    );
}

/// The help of the finding about the missing workload, beside these files.
#[track_caller]
fn workload_help(others: &[(&str, &str)]) -> String {
    let all: Vec<_> = [("rollout.yaml", ROLLOUT)].into_iter().chain(others.iter().copied()).collect();
    let (_, findings) = led_to(&discovered(&files(&all), &Config::default()));
    let finding = findings.iter().find(|finding| finding.starts_with("there is no Deployment")).expect("a finding");
    finding.split_once(": ").expect("a help").1.to_owned()
}

#[test]
fn a_reference_that_leads_nowhere_names_what_may_be_meant() {
    let named = |name: &str| object("apps/v1", "Deployment", name);
    assert_eq!(workload_help(&[("app.yaml", &format!("a: 1\n---\n{}", named("shopp")))]), "did you mean `shopp`, in app.yaml:3?");
    let json = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shpp"}}"#;
    assert_eq!(workload_help(&[("app.json", json)]), "did you mean `shpp`, in app.json:1?");
    assert!(workload_help(&[("app.yaml", &named("prod-shop"))]).starts_with("there is `prod-shop` in app.yaml:1: kustomize renames"));
    assert!(workload_help(&[("app.yaml", &named("shop-eu"))]).starts_with("there is `shop-eu` in app.yaml:1: kustomize renames"));
    let release = object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "shop");
    assert!(workload_help(&[("release.yaml", &release)]).starts_with("the HelmRelease in release.yaml:1 may make it"));
    let elsewhere = named("shopp").replace("name: shopp", "name: shopp\n  namespace: other");
    for other in [named("cart"), object("v1", "Service", "shopp"), elsewhere] {
        assert_eq!(workload_help(&[("app.yaml", &other)]), "write the Deployment into the files read, or correct the name `shop`");
    }
}

#[test]
fn environments_keep_equal_names_apart() {
    let settings = "environments:\n- {name: prod, path: prod, namespace: web}\n- {name: test, path: test}\n";
    let files = files(&[
        (".rollout.yaml", settings),
        ("prod/rollout.yaml", ROLLOUT),
        ("prod/workload.yaml", &deployment()),
        ("test/rollout.yaml", ROLLOUT),
        ("test/workload.yaml", &deployment()),
        ("elsewhere/workload.yaml", &deployment()),
    ]);
    let (config, findings) = config::read(&files);
    assert_eq!(findings, []);
    let discovery = discovered(&files, &config);
    assert_eq!(shown(&discovery), ["1:1 note[namespace-default] objects without a namespace are taken to be in `default`"]);
    let paths = |index: usize| -> Vec<String> {
        let catalog = &discovery.catalogs[index];
        let (originals, _) = originals(catalog, &catalog.rollouts[0]);
        originals.workload.iter().map(|source| format!("{} {}", source.path, source.object)).collect()
    };
    assert_eq!(
        (paths(0), paths(1)),
        (vec!["prod/workload.yaml Deployment web/shop".to_owned()], vec!["test/workload.yaml Deployment default/shop".to_owned()])
    );
}

#[test]
fn rollouts_in_each_others_way_are_found() {
    let other = ROLLOUT.replace("{name: shop}\nspec", "{name: other}\nspec");
    let files = files(&[("a.yaml", ROLLOUT), ("b.yaml", &other), ("c.yaml", &ROLLOUT.replace("name: shop}", "name: third}"))]);
    let discovery = discovered(&files, &Config::default());
    let errors: Vec<_> = shown(&discovery).into_iter().filter(|line| line.contains("error")).collect();
    assert_eq!(
        errors,
        [
            "1:1 error[workload-shared] another Rollout releases the same workload `Deployment/shop`: `other` in b.yaml:1",
            "1:1 error[workload-shared] another Rollout releases the same workload `Deployment/shop`: `shop` in a.yaml:1",
        ]
    );
    assert_eq!(discovery.catalogs[0].rollouts.len(), 1);
}

#[test]
fn one_name_twice_is_found() {
    let files = files(&[("a.yaml", ROLLOUT), ("b.yaml", ROLLOUT)]);
    let discovery = discovered(&files, &Config::default());
    assert_eq!(shown(&discovery)[0], "1:1 error[rollout-twice] another Rollout has the same name `default/shop`: `shop` in b.yaml:1");
    assert_eq!(discovery.catalogs[0].rollouts, []);
}

#[test]
fn broken_yaml_stops_no_other_file() {
    let broken = format!("{}\n  - [", ROLLOUT.replace("name: shop}\nspec", "name: shop\nspec"));
    let files = files(&[
        ("broken.yaml", &broken),
        ("template.yaml", "apiVersion: rollouts.kruise.io/v1beta1\nkind: Rollout\n{{ if .Values.x }}\n"),
        ("other.yaml", "kind: ConfigMap\n  a: [\n"),
        ("good.yaml", ROLLOUT),
    ]);
    let discovery = discovered(&files, &Config::default());
    let errors: Vec<_> = discovery.findings.iter().filter(|finding| finding.code == "unreadable").collect();
    let paths: Vec<_> = errors.iter().filter_map(|finding| finding.place.as_ref()).map(|place| place.path.as_str()).collect();
    assert_eq!(paths, ["broken.yaml", "template.yaml"]);
    assert_eq!(errors[1].help.as_deref(), Some("it looks like a template: render it first"));
    assert_eq!((discovery.counts.unparsable, discovery.counts.rollouts), (2, 1));
}

#[test]
fn a_tab_is_named_as_what_yaml_does_not_take() {
    let text = format!("kind: ConfigMap\n---\n{}", ROLLOUT.replace("\nspec:", "\n\tlabels: {}\nspec:"));
    let discovery = discovered(&files(&[("tab.yaml", &text)]), &Config::default());
    let finding = discovery.findings.iter().find(|finding| finding.code == "unreadable").expect("the tab is found");
    assert_eq!(finding.help.as_deref(), Some("indent by spaces: YAML takes no tabs there"));
}

#[test]
fn traffic_that_nobody_routes_is_no_traffic_of_the_plan() {
    let (text, _) = ROLLOUT.split_once("      trafficRoutings").expect("the Rollout routes");
    let discovery = discovered(&files(&[("app.yaml", text)]), &Config::default());
    let steps = &discovery.catalogs[0].rollouts[0].steps;
    assert!(steps.iter().all(|step| !step.traffic.is_split()), "{steps:?}");
}

#[test]
fn huge_binary_and_output_files_are_not_read() {
    let mut files =
        files(&[("good.yaml", ROLLOUT), ("rollouts/lost.yaml", ROLLOUT), ("rollouts/prod/shop/plan.yaml", "kind: RolloutPlan\n")]);
    files.insert("huge.yaml", format!("{ROLLOUT}{}", "# x\n".repeat(1024 * 1024 + 1)).into_bytes());
    files.insert("binary.yaml", vec![0xff, 0xfe, 0x00]);
    files.insert("nul.yaml", b"kind: Rollout\0".to_vec());
    let discovery = discovered(&files, &Config::default());
    let counts = discovery.counts;
    assert_eq!((counts.read, counts.large, counts.binary, counts.output), (1, 1, 2, 2));
    let codes: Vec<_> = discovery.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["namespace-default", "file-too-large", "rollout-in-output"]);
}

#[test]
fn an_overlay_reads_only_what_changed_and_finds_the_same_as_a_new_look() {
    let config = Config::default();
    let head = files(&[
        ("rollout.yaml", ROLLOUT),
        ("workload.yaml", &deployment()),
        ("new.yaml", &object("v1", "Service", "shop")),
        ("old.yaml", &object("apps/v1", "Deployment", "old")),
    ]);
    let changed = files(&[("workload.yaml", &deployment().replace("name: shop", "name: shop\n  labels: {a: b}"))]);
    let removed = BTreeSet::from(["new.yaml".to_owned()]);
    let same = |head: &Files, changed: &Files, removed: &BTreeSet<String>| {
        let mut whole = head.clone();
        for path in removed {
            whole.remove(path);
        }
        for (path, bytes) in changed.iter() {
            whole.insert(path, bytes.clone());
        }
        let overlaid = discover(&read(head, &config).overlaid(changed, removed, &config), &config);
        let fresh = discovered(&whole, &config);
        assert_eq!(overlaid.catalogs[0].sources, fresh.catalogs[0].sources);
        assert_eq!((overlaid.findings, overlaid.counts), (fresh.findings, fresh.counts));
    };
    same(&head, &changed, &removed);
    // A kustomization makes a patch of what was an object.
    same(&head, &files(&[("kustomization.yaml", "patches: [{path: workload.yaml}]\n")]), &BTreeSet::new());
}

#[test]
fn what_the_rollouts_of_either_state_name_is_read_of_both() {
    let config = Config::default();
    let other = ROLLOUT.replace("Deployment, name: shop", "Deployment, name: old");
    let objects = [("old.yaml", object("apps/v1", "Deployment", "old")), ("workload.yaml", deployment())];
    let objects = objects.iter().map(|(path, text)| (*path, text.as_str()));
    let head: Vec<_> = objects.clone().chain([("rollout.yaml", ROLLOUT)]).collect();
    let head = read(&files(&head), &config);
    let read_of = |base: &[(&str, &str)]| {
        let base = discover(&head.replaced(files(base), &config), &config);
        base.catalogs[0].sources.iter().map(|source| source.object.to_string()).collect::<Vec<_>>().join(", ")
    };
    let objects: Vec<_> = objects.collect();
    assert_eq!(read_of(&objects), "Deployment default/shop");
    let both = "Deployment default/old, Deployment default/shop, Rollout default/shop";
    assert_eq!(read_of(&[&objects[..], &[("rollout.yaml", &other)]].concat()), both);
}

#[test]
fn remarks_are_findings_of_the_objects_that_are_used() {
    let twice = deployment().replace("kind: Deployment\n", "kind: Deployment\nspec: {replicas: 1}\nspec: {replicas: 2}\n");
    let files = files(&[("rollout.yaml", ROLLOUT), ("workload.yaml", &twice)]);
    let discovery = discovered(&files, &Config::default());
    assert!(discovery.findings.iter().all(|finding| finding.code != "yaml-duplicate-key"));
    let (_, findings) = originals(&discovery.catalogs[0], &discovery.catalogs[0].rollouts[0]);
    assert!(findings.iter().any(|finding| finding.code == "yaml-duplicate-key"));
}

#[test]
fn a_labelled_kind_can_be_released() {
    let rollout = ROLLOUT
        .replace("apps/v1, kind: Deployment", "example.com/v1, kind: GameSet")
        .replace("enableExtraWorkloadForCanary: true", "disableGenerateCanaryService: true");
    let labelled =
        "apiVersion: example.com/v1\nkind: GameSet\nmetadata:\n  name: shop\n  labels: {rollouts.kruise.io/workload-type: statefulset}\n";
    let with = discovered(&files(&[("rollout.yaml", &rollout), ("workload.yaml", labelled)]), &Config::default());
    assert_eq!(with.counts.rollouts, 1);
    let without = discovered(&files(&[("rollout.yaml", &rollout)]), &Config::default());
    assert_eq!((without.counts.rollouts, without.findings[1].code), (0, "workload-unsupported"));
}

#[test]
fn a_rollout_that_is_no_text_is_an_error_at_the_first_wrong_byte() {
    let mut files = files(&[]);
    files.insert("shop.yaml", b"apiVersion: rollouts.kruise.io/v1beta1\nkind: Rollout\nx: a\xff\n".as_slice());
    let discovery = discovered(&files, &Config::default());
    assert_eq!(shown(&discovery), ["3:5 error[unreadable] this cannot be read: the byte 0xff is not UTF-8 text"]);
}

#[test]
fn objects_without_a_separator_between_them_are_an_error_where_the_second_begins() {
    let expected = |line: usize| {
        format!(
            "{line}:1 error[documents-joined] a second object begins here without a `---` before it: only the last object of a document counts"
        )
    };
    for (text, line) in [
        (format!("{ROLLOUT}{}", deployment()), 13),
        (format!("{}{ROLLOUT}", deployment()), 5),
        (format!("{}# between\n{ROLLOUT}", deployment()), 6),
    ] {
        let discovery = discovered(&files(&[("shop.yaml", &text)]), &Config::default());
        assert_eq!(shown(&discovery), [expected(line)], "{text}");
        assert_eq!(discovery.findings[0].help.as_deref(), Some("write a line `---` between the two objects"));
    }
    let joined = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: shop}}\n\n{}", deployment());
    let discovery = discovered(&files(&[("rollout.yaml", ROLLOUT), ("shop.yaml", &joined)]), &Config::default());
    assert!(shown(&discovery).contains(&expected(5)), "{:?}", shown(&discovery));
}

#[test]
fn objects_of_others_may_be_joined() {
    let joined = format!("{}{}", object("v1", "Service", "other"), object("apps/v1", "Deployment", "other"));
    let discovery = discovered(&files(&[("rollout.yaml", ROLLOUT), ("other.yaml", &joined)]), &Config::default());
    assert_eq!(shown(&discovery), ["1:1 note[namespace-default] objects without a namespace are taken to be in `default`"]);
}

/// What is said of an Ingress with this `spec`, in lines from 5 on, that nginx serves.
fn ingress(spec: &str) -> Vec<String> {
    let rollout = ROLLOUT
        .replace("customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]", "ingress: {name: shop}");
    let ingress = object("networking.k8s.io/v1", "Ingress", "shop") + spec;
    let all = [deployment(), object("v1", "Service", "shop")].join("---\n");
    let discovery = discovered(&files(&[("a.yaml", &rollout), ("b.yaml", &ingress), ("c.yaml", &all)]), &Config::default());
    let catalog = &discovery.catalogs[0];
    let findings = originals(catalog, &catalog.rollouts[0]).1;
    let line = |finding: &crate::model::Finding| finding.place.as_ref().map_or(0, |place| place.position.line);
    findings.iter().map(|finding| format!("{} {}: {}", line(finding), finding.code, finding.message)).collect()
}

#[test]
fn an_ingress_of_a_removed_version_is_an_error_at_that_version() {
    let rollout = ROLLOUT
        .replace("customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]", "ingress: {name: shop}");
    for version in ["extensions/v1beta1", "networking.k8s.io/v1beta1"] {
        let files = files(&[
            ("rollout.yaml", rollout.as_str()),
            ("app.yaml", &format!("{}---\n{}", deployment(), object("v1", "Service", "shop"))),
            ("ingress.yaml", &object(version, "Ingress", "shop")),
        ]);
        let (_, findings) = led_to(&discovered(&files, &Config::default()));
        let message = format!("no cluster since Kubernetes 1.22 has an Ingress of `{version}`: write it as `networking.k8s.io/v1`: ");
        assert!(findings.len() == 1 && findings[0].starts_with(&message), "{findings:?}");
    }
}

#[test]
fn an_ingress_of_another_class_is_told_of() {
    assert_eq!(ingress("spec: {ingressClassName: nginx-internal}\n"), Vec::<String>::new());
    assert_eq!(ingress("spec: {}\n"), Vec::<String>::new());
    let said = ["5 ingress-class-differs: Ingress default/shop is of the class `alb`, and the Rollout has it written for `nginx`"];
    assert_eq!(ingress("spec: {ingressClassName: alb}\n"), said);
    assert_eq!(ingress("  annotations: {kubernetes.io/ingress.class: alb}\n"), said);
}

#[test]
fn a_default_backend_that_no_step_moves_is_told_of() {
    let backend = |service: &str| ingress(&format!("spec:\n  defaultBackend: {{service: {{name: {service}, port: {{number: 80}}}}}}\n"));
    assert_eq!(backend("other"), Vec::<String>::new());
    assert_eq!(
        backend("shop"),
        [
            "6 default-backend-stays: requests that no rule of Ingress default/shop takes go to Service `shop` by its `defaultBackend`, and never reach the new version before the end"
        ]
    );
}

/// What is said when `before` becomes `after`.
fn taken_away(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let config = Config::default();
    let (before, after) = (read(&files(before), &config), read(&files(after), &config));
    let findings = removed(&discover(&after, &config), &discover(&before, &config), &after, &config);
    findings
        .iter()
        .map(|finding| format!("{} {}: {}", finding.place.as_ref().map_or("", |place| &place.path), finding.code, finding.message))
        .collect()
}

#[test]
fn a_rollout_that_goes_while_its_pods_change_is_told_of() {
    let workload =
        |image: &str| deployment() + &format!("spec:\n  template: {{spec: {{containers: [{{name: shop, image: \"{image}\"}}]}}}}\n");
    let (old, new) = (workload("shop:1"), workload("shop:2"));
    let before = [("app/rollout.yaml", ROLLOUT), ("app/shop.yaml", old.as_str())];
    let said = [
        "app/moved.yaml rollout-removed: Rollout default/shop is taken away, and Deployment default/shop gets new pods: they are out at once, without steps",
    ];
    assert_eq!(taken_away(&before, &[("app/moved.yaml", &new)]), said);
    let nothing = Vec::<String>::new();
    assert_eq!(taken_away(&before, &[("app/shop.yaml", &old)]), nothing, "no new pods");
    assert_eq!(taken_away(&before, &[]), nothing, "the workload goes too");
    assert_eq!(taken_away(&before, &[("app/shop.yaml", &new), ("b.yaml", ROLLOUT)]), nothing, "moved");
    let occupied = [("app/removed-0.yaml", new.as_str())];
    assert_eq!(taken_away(&before, &occupied), [said[0].replace("app/moved", "app/removed-0")], "a file of that name is the user's");
    let renamed = ROLLOUT.replacen("name: shop", "name: other", 1);
    assert_eq!(taken_away(&before, &[("app/shop.yaml", &new), ("b.yaml", &renamed)]), nothing, "another one releases it");
    let disabled = ROLLOUT.replacen("spec:", "spec:\n  disabled: true", 1);
    assert_eq!(taken_away(&[("a.yaml", &disabled), ("b.yaml", &old)], &[("b.yaml", &new)]), nothing, "it was disabled");
}

fn with_bytes(path: &str, bytes: &[u8]) -> Files {
    let mut files = files(&[("rollout.yaml", ROLLOUT)]);
    files.insert(path, bytes);
    files
}

fn utf_16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn what_a_rollout_names_and_is_no_text_is_an_error() {
    let note = "1:1 note[namespace-default] objects without a namespace are taken to be in `default`";
    let shown = |files: &Files| shown(&discovered(files, &Config::default())).into_iter().filter(|line| line != note).collect::<Vec<_>>();
    let latin = |text: &str| [text.as_bytes(), b"# sch\xf6n\n"].concat();
    let said = "error[unreadable] this cannot be read: ";
    assert_eq!(shown(&with_bytes("a.yaml", &latin(&deployment()))), [format!("5:6 {said}the byte 0xf6 is not UTF-8 text")]);
    let flow = deployment().replace("metadata:\n  name: shop", "metadata: {name: shop}");
    assert_eq!(shown(&with_bytes("a.yaml", &latin(&flow))), [format!("4:6 {said}the byte 0xf6 is not UTF-8 text")]);
    assert_eq!(shown(&with_bytes("a.yaml", &utf_16(&deployment()))), [format!("1:1 {said}it is UTF-16 text")]);
    assert_eq!(shown(&with_bytes("a.yaml", &utf_16(ROLLOUT))), [format!("1:1 {said}it is UTF-16 text")]);
    assert_eq!(shown(&with_bytes("a.yaml", b"kind: Rollout\0rollouts.kruise.io")), [format!("1:14 {said}a byte 0x00, which no text has")]);
    for unrelated in [latin(&object("apps/v1", "Deployment", "other")), latin(&object("v1", "Secret", "shop")), b"\xff\0kind: A".to_vec()] {
        assert_eq!(shown(&with_bytes("a.yaml", &unrelated)), [] as [&str; 0]);
    }
    let skipped = with_bytes("a.txt", &latin(&deployment()));
    assert_eq!(shown(&skipped), [] as [&str; 0]);
}

#[test]
fn a_rollout_that_cannot_be_read_is_not_gone() {
    let config = Config::default();
    let state = |image: &str, path: &str, rollout: &[u8]| {
        let workload = format!("{}spec:\n  template: {{image: {image}}}\n", deployment());
        let mut state = files(&[("workload.yaml", &workload)]);
        state.insert(path, rollout);
        state
    };
    let before = state("a:1", "rollout.yaml", ROLLOUT.as_bytes());
    let base = discovered(&before, &config);
    let codes = |head: &Files| {
        let documents = read(head, &config);
        let head = discover(&documents, &config);
        let found = removed(&head, &base, &documents, &config);
        [head.findings, found]
            .concat()
            .iter()
            .filter(|finding| finding.code != "namespace-default")
            .map(|finding| finding.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&state("a:2", "other.yaml", b"kind: A\n")), ["rollout-removed"]);
    let tab = ROLLOUT.replace("spec:\n", "spec:\n\ta: 1\n");
    let template = ROLLOUT.replace("replicas: 1", "replicas: {{ .Values.replicas }}");
    let joined = format!("{ROLLOUT}{}", object("v1", "Service", "shop"));
    for (broken, code) in [
        (tab.as_bytes(), "unreadable"),
        (template.as_bytes(), "unreadable"),
        (joined.as_bytes(), "documents-joined"),
        (&utf_16(ROLLOUT), "unreadable"),
    ] {
        assert_eq!(codes(&state("a:2", "rollout.yaml", broken)), [code]);
        assert_eq!(codes(&state("a:2", "moved.yaml", broken)), [code]);
    }
}

#[test]
fn two_rollouts_of_one_name_are_told_of_where_nothing_has_a_place() {
    let rollout = |name: &str| {
        let spec = r#"{"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}, "strategy": {"canary": {"enableExtraWorkloadForCanary": true, "steps": [{"replicas": 1}]}}}"#;
        format!(
            r#"{{"apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {{"name": "{name}", "namespace": "prod", "annotations": {{"u": "x\/y"}}}}, "spec": {spec}}}"#
        )
    };
    let list =
        |names: [&str; 2]| format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}, {}]}}"#, rollout(names[0]), rollout(names[1]));
    let codes = |names: [&str; 2]| {
        let discovery = discovered(&files(&[("all.json", &list(names))]), &Config::default());
        let codes: Vec<_> = discovery.findings.iter().map(|finding| finding.code).collect();
        (codes, discovery.counts.rollouts)
    };
    assert_eq!(codes(["shop", "shop"]), (vec!["rollout-twice"], 0));
    assert_eq!(codes(["shop", "other"]).0[0], "workload-shared");
}

#[test]
fn scripts_of_the_cluster_serve_every_environment_wherever_they_lie() {
    let (config, findings) = config::from_bytes(b"environments: [{name: dev, path: dev}, {name: prod, path: prod}]");
    assert_eq!(findings, []);
    let scripts = |text: &str| {
        format!(
            "{}data: {{lua.traffic.routing.VirtualService.networking.istio.io: {text}}}\n",
            object("v1", "ConfigMap", "kruise-rollout-configuration")
        )
    };
    let (outside, inside) = (scripts("return 1"), scripts("return 2"));
    let others = [
        ("infra/cm.yaml", outside.as_str()),
        ("prod/cm.yaml", inside.as_str()),
        ("rollouts/cm.yaml", "kind: ConfigMap\nname: kruise-rollout-configuration\na: ["),
    ];
    let discovery = discovered(&files(&others), &config);
    assert_eq!(shown(&discovery), [] as [&str; 0]);
    let of = |index: usize| &discovery.catalogs[index].gateways[0].1.script;
    assert_eq!((of(0).text.as_str(), of(1).text.as_str()), ("return 1", "return 2"), "an environment's own comes first");
    let place = of(0).place_of(Some(3)).expect("a place");
    assert_eq!((place.path.as_str(), place.position.line), ("infra/cm.yaml", 5), "a text in one line has no lines of its own");
    let block = format!(
        "{}data:\n  lua.traffic.routing.VirtualService.networking.istio.io: |-\n    local a = 1\n    return a\n",
        object("v1", "ConfigMap", "kruise-rollout-configuration")
    );
    let discovery_of_block = discovered(&files(&[("infra/cm.yaml", &block)]), &config);
    let place = discovery_of_block.catalogs[0].gateways[0].1.script.place_of(Some(2)).expect("a place");
    assert_eq!((place.path.as_str(), place.position.line), ("infra/cm.yaml", 8));
    let broken = format!("{outside}a: [\n");
    let discovery = discovered(&files(&[("infra/cm.yaml", &broken)]), &config);
    assert_eq!(discovery.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["script-unreadable"]);
}

#[test]
fn of_very_many_faults_the_worst_are_told_and_the_others_counted() {
    let listed = |one: &dyn Fn(usize) -> String| (0..20_000).map(one).collect::<Vec<_>>().concat();
    let unknown = listed(&|number| format!("  unknown{number}: 1\n"));
    let discovery = discovered(&files(&[("a.yaml", &format!("{ROLLOUT}{unknown}"))]), &Config::default());
    let said = shown(&discovery);
    assert_eq!(said.len(), 18, "{said:?}");
    assert!(said.iter().any(|said| said.ends_with("19984 more fields in this map are unknown")), "{said:?}");

    let names = listed(&|number| format!("{{path: {number}}}, "));
    let many = ROLLOUT.replace("traffic: 20%}", &format!("matches: [{names}]}}"));
    let said = shown(&discovered(&files(&[("a.yaml", &many)]), &Config::default()));
    assert_eq!(said.iter().filter(|said| said.contains("matches-too-many")).count(), 1, "{said:?}");
    assert!(said.len() < 40, "{said:?}");

    let routes = listed(&|number| format!("{{kind: A{number}}}, "));
    let many = ROLLOUT.replace("customNetworkRefs: [", &format!("customNetworkRefs: [{routes}"));
    let said = shown(&discovered(&files(&[("a.yaml", &many)]), &Config::default()));
    assert_eq!(said.len(), 102, "{said:?}");
    assert!(said.iter().any(|said| said.contains("error[findings-many]")), "{said:?}");
}

#[test]
fn headers_beyond_the_limit_are_not_looked_at() {
    let names = "same, ".repeat(60);
    let many = ROLLOUT.replace("traffic: 20%}", &format!("traffic: 20%, requestHeaderModifier: {{remove: [{names}]}}}}"));
    let said = shown(&discovered(&files(&[("a.yaml", &many)]), &Config::default()));
    assert_eq!(said.iter().filter(|said| said.contains("conditions-too-many")).count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|said| said.contains("name-twice")).count(), 15, "{said:?}");
}
