//! `.rollout.yaml`: the environments of a repository.
//!
//! Nothing here reads a disk. A file with faults gives findings, and as many environments as can be understood.

mod build;
mod schema;

pub use build::{Build, Capabilities, Chart, is_api_version, is_version};
pub use schema::schema;

use serde_json::{Map, Value};

use crate::files::Files;
use crate::model::{Finding, Places, Position, pointer};
use crate::yaml;

/// The file's name.
pub const NAME: &str = ".rollout.yaml";

/// Where plans go when nobody says otherwise.
pub const OUTPUT: &str = "rollouts";

/// The fields of an environment.
const FIELDS: [&str; 5] = ["name", "path", "output", "namespace", "build"];

/// What a repository's owner chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// At least one, in the order written; the unnamed one when there is no file.
    pub environments: Vec<Environment>,
}

/// One of several deployments that a repository holds, with names of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The name; empty for the unnamed one.
    pub name: String,
    /// The folder that holds its files, relative to the root, without a slash at its end; empty for the root.
    pub path: String,
    /// The folder that plans go to, relative to the root, without a slash at its end.
    pub output: String,
    /// The namespace of objects that say none.
    pub namespace: Option<String>,
    /// What makes its manifests.
    pub build: Build,
}

impl Default for Config {
    fn default() -> Self {
        Self { environments: vec![Environment::unnamed()] }
    }
}

impl Environment {
    /// The whole root, without a name.
    pub fn unnamed() -> Self {
        Self { name: String::new(), path: String::new(), output: OUTPUT.into(), namespace: None, build: Build::Detected }
    }
}

impl Config {
    /// The environment that the file `path` belongs to, counted from 0: the one with the deepest folder around it.
    pub fn environment_of(&self, path: &str) -> Option<usize> {
        let around = self.environments.iter().enumerate().filter(|(_, environment)| is_inside(path, &environment.path));
        around.max_by_key(|(index, environment)| (environment.path.len(), std::cmp::Reverse(*index))).map(|(index, _)| index)
    }

    /// Whether the file `path` lies where plans are written.
    pub fn is_output(&self, path: &str) -> bool {
        self.environments.iter().any(|environment| is_inside(path, &environment.output))
    }
}

/// Whether the file `path` lies in `folder`; every file lies in the empty one.
pub fn is_inside(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// What `.rollout.yaml` at the root of `files` says; without it the one unnamed environment.
pub fn read(files: &Files) -> (Config, Vec<Finding>) {
    let Some(bytes) = files.get(NAME) else { return (Config::default(), Vec::new()) };
    let (config, mut findings) = from_bytes(bytes);
    if findings.is_empty() {
        findings = empty(&config, bytes, files);
    }
    (config, findings)
}

/// A finding for each environment in whose folder there is nothing: most often its path is written wrongly.
fn empty(config: &Config, bytes: &[u8], files: &Files) -> Vec<Finding> {
    let is_empty = |environment: &Environment| !files.iter().any(|(path, _)| is_inside(path, &environment.path));
    let document = std::str::from_utf8(bytes).ok().and_then(|text| yaml::split(text).ok()).and_then(|raw| yaml::read(raw.first()?).ok()?);
    let place = |index: usize| {
        let start = Position { line: 1, column: 1 };
        document.as_ref().map_or(start, |document| document.places.at(&format!("/environments/{index}/path")))
    };
    let finding = |(index, environment): (usize, &Environment)| {
        let message = format!("nothing is in `{}`, the folder of the environment `{}`", environment.path, environment.name);
        Finding::warning("environment-empty", message).at(NAME, place(index)).help("write its folder, relative to the root")
    };
    config.environments.iter().enumerate().filter(|(_, environment)| is_empty(environment)).map(finding).collect()
}

/// What the bytes of a `.rollout.yaml` say.
pub fn from_bytes(bytes: &[u8]) -> (Config, Vec<Finding>) {
    let unreadable = |message: String, position: Position| {
        let finding = Finding::error("config-unreadable", format!("`{NAME}` cannot be read: {message}")).at(NAME, position);
        (Config::default(), vec![finding])
    };
    let start = Position { line: 1, column: 1 };
    let Ok(text) = std::str::from_utf8(bytes) else { return unreadable("it is not UTF-8".into(), start) };
    let documents = match yaml::split(text) {
        Ok(documents) => documents,
        Err(error) => return unreadable(error.message, error.position),
    };
    let mut read = Vec::new();
    for raw in &documents {
        match yaml::read(raw) {
            Ok(document) => read.extend(document),
            Err(error) => return unreadable(error.message, error.position),
        }
    }
    match read.as_slice() {
        [] => (Config::default(), Vec::new()),
        [document] => from_value(&document.value, &document.places),
        [_, second, ..] => unreadable("it holds several documents".into(), second.places.at("")),
    }
}

fn from_value(value: &Value, places: &Places) -> (Config, Vec<Finding>) {
    let mut reader = Reader { places, findings: Vec::new() };
    let mut environments = Vec::new();
    if let Some(fields) = reader.map("", value, &["environments"]) {
        match fields.get("environments") {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    environments.extend(reader.environment(&format!("/environments/{index}"), item));
                }
            }
            Some(other) => reader.fault(
                "/environments",
                format!("`environments` is a list, not {other}"),
                "`environments: [{name: prod, path: deploy/prod}]`",
            ),
        }
    }
    reader.distinct(&environments);
    if environments.is_empty() {
        environments.push(Environment::unnamed());
    }
    (Config { environments }, reader.findings)
}

struct Reader<'a> {
    places: &'a Places,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn fault(&mut self, pointer: &str, message: String, help: &str) {
        self.findings.push(Finding::error("config-invalid", message).at(NAME, self.places.at(pointer)).help(help));
    }

    fn map<'v>(&mut self, pointer: &str, value: &'v Value, known: &[&str]) -> Option<&'v Map<String, Value>> {
        let Some(fields) = value.as_object() else {
            self.fault(pointer, format!("a map is needed here, not {value}"), &format!("its fields: {}", listed(known)));
            return None;
        };
        for (field, value) in fields.iter().filter(|(field, _)| !known.contains(&field.as_str())) {
            self.fault(
                &pointer::child(pointer, field),
                format!("unknown field `{field}` with {value}"),
                &format!("the fields here: {}", listed(known)),
            );
        }
        Some(fields)
    }

    fn text(&mut self, pointer: &str, fields: &Map<String, Value>, field: &str) -> Option<String> {
        match fields.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.fault(&format!("{pointer}/{field}"), format!("`{field}` is a text, not {other}"), "put it in quotes");
                None
            }
        }
    }

    fn folder(&mut self, pointer: &str, fields: &Map<String, Value>, field: &str) -> Option<String> {
        let written = self.text(pointer, fields, field)?;
        let below = below_the_root(&written);
        if below.is_none() {
            self.fault(
                &format!("{pointer}/{field}"),
                format!("`{field}` is a folder below the root, not `{written}`"),
                "write it relative to the root, with `/` and without `..`",
            );
        }
        below
    }

    /// A name as Kubernetes takes it; absent where there is none, or an empty one.
    fn label(&mut self, pointer: &str, fields: &Map<String, Value>, field: &str) -> Option<String> {
        let label = self.text(pointer, fields, field).filter(|label| !label.is_empty());
        if let Some(label) = label.as_deref().filter(|label| !is_label(label)) {
            let message = format!("a {field} is of small letters, digits and dashes, not `{label}`");
            self.fault(&format!("{pointer}/{field}"), message, &format!("`{field}: prod`"));
        }
        label
    }

    fn environment(&mut self, pointer: &str, value: &Value) -> Option<Environment> {
        let before = self.findings.len();
        let fields = self.map(pointer, value, &FIELDS)?;
        let name = self.text(pointer, fields, "name").unwrap_or_default();
        if !is_label(&name) {
            let at = format!("{pointer}/name");
            self.fault(&at, format!("an environment's `name` is of small letters, digits and dashes, not `{name}`"), "`name: prod`");
        }
        let path = self.folder(pointer, fields, "path").unwrap_or_default();
        let output = self.folder(pointer, fields, "output").unwrap_or_else(|| OUTPUT.into());
        if output.split('/').any(|name| name.starts_with('.')) {
            let message = format!("plans go to no hidden folder: `{output}`");
            self.fault(&format!("{pointer}/output"), message, "choose a folder whose name does not begin with a dot");
        }
        if output.is_empty() || is_inside(&format!("{path}/"), &output) {
            let at = format!("{pointer}/output");
            self.fault(
                &at,
                format!("the output folder `{output}` holds the environment's own files in `{path}`"),
                "plans need a folder of their own: `output: rollouts`",
            );
        }
        let namespace = self.label(pointer, fields, "namespace");
        let build = self.build(&format!("{pointer}/build"), fields.get("build"));
        let is_sound = self.findings[before..].iter().all(|finding| finding.severity != crate::model::Severity::Error);
        is_sound.then_some(Environment { name, path, output, namespace, build })
    }

    fn distinct(&mut self, environments: &[Environment]) {
        for (index, environment) in environments.iter().enumerate() {
            let pointer = format!("/environments/{index}");
            if environments[..index].iter().any(|earlier| earlier.name == environment.name) {
                let message = format!("two environments have the name `{}`", environment.name);
                self.fault(&format!("{pointer}/name"), message, "give every environment a name of its own");
            }
            // One chart serves several environments.
            let is_chart = |environment: &Environment| matches!(environment.build, Build::Helm(_));
            let is_same = |earlier: &&Environment| earlier.path == environment.path && !(is_chart(earlier) && is_chart(environment));
            if let Some(earlier) = environments[..index].iter().find(is_same) {
                let message =
                    format!("the environments `{}` and `{}` have the same path `{}`", earlier.name, environment.name, environment.path);
                self.fault(&format!("{pointer}/path"), message, "give every environment a folder of its own");
            }
        }
    }
}

/// A relative path without `.` and empty parts; absent when it leads out of the root.
fn below_the_root(written: &str) -> Option<String> {
    let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let leads_out = written.starts_with('/') || parts.contains(&"..") || written.contains('\\');
    (!leads_out).then(|| parts.join("/"))
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn listed(fields: &[&str]) -> String {
    fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Build, Capabilities, Chart, Config, Environment, from_bytes, read};
    use crate::files::Files;

    #[track_caller]
    fn case(text: &str, expected: &[&str]) {
        let (_, findings) = from_bytes(text.as_bytes());
        let found: Vec<_> = findings
            .iter()
            .map(|finding| {
                let position = finding.place.as_ref().map(|place| place.position);
                position.map_or_else(String::new, |position| format!("{}:{} {}", position.line, position.column, finding.message))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn environments_are_read_in_order() {
        let (config, findings) = from_bytes(
            b"environments:\n- {name: prod, path: ./deploy/prod/, namespace: shop}\n- {name: test, path: deploy/test, output: plans/}\n",
        );
        assert_eq!(findings, []);
        let named = |name: &str, path: &str| Environment { name: name.into(), path: path.into(), ..Environment::unnamed() };
        assert_eq!(
            config.environments,
            [
                Environment { namespace: Some("shop".into()), ..named("prod", "deploy/prod") },
                Environment { output: "plans".into(), ..named("test", "deploy/test") },
            ]
        );
        assert_eq!(config.environment_of("deploy/test/a.yaml"), Some(1));
        assert_eq!(config.environment_of("deploy/testing/a.yaml"), None);
        assert!(config.is_output("plans/test/shop/plan.yaml"));
    }

    #[test]
    fn a_folder_without_files_is_told_of() {
        let text = "environments:\n- {name: prod, path: deploy/prod}\n- {name: test, path: deploy/tset}\n";
        let mut files = Files::default();
        files.insert(".rollout.yaml", text.as_bytes());
        files.insert("deploy/prod/shop.yaml", *b"a: 1");
        files.insert("deploy/test/shop.yaml", *b"a: 1");
        let (config, findings) = read(&files);
        assert_eq!(config.environments.len(), 2);
        let said: Vec<_> =
            findings.iter().map(|finding| (finding.place.as_ref().unwrap().position.line, finding.message.as_str())).collect();
        assert_eq!(said, [(3, "nothing is in `deploy/tset`, the folder of the environment `test`")]);
    }

    #[test]
    fn an_empty_file_says_nothing() {
        assert_eq!(from_bytes(b"# nothing\n"), (Config::default(), Vec::new()));
    }

    #[test]
    fn every_fault_has_its_place() {
        case("environment: []\n", &["1:14 unknown field `environment` with []"]);
        case("environments: 5\n", &["1:15 `environments` is a list, not 5"]);
        case("environments:\n- {name: prod, paths: a}\n", &["2:23 unknown field `paths` with \"a\""]);
        case("environments:\n- {name: Prod}\n", &["2:10 an environment's `name` is of small letters, digits and dashes, not `Prod`"]);
        case("environments:\n- {name: prod, path: ../a}\n", &["2:22 `path` is a folder below the root, not `../a`"]);
        case(
            "environments:\n- {name: prod, path: a/b, output: a}\n",
            &["2:35 the output folder `a` holds the environment's own files in `a/b`"],
        );
        for output in [".git/hooks", ".github/workflows", "a/.circleci"] {
            let message = format!("2:30 plans go to no hidden folder: `{output}`");
            case(&format!("environments:\n- {{name: a, path: p, output: {output}}}\n"), &[&message]);
        }
        case("environments:\n- {name: a, path: u}\n- {name: a, path: v}\n", &["3:10 two environments have the name `a`"]);
        case("environments:\n- {name: a, path: x}\n- {name: b, path: x}\n", &["3:19 the environments `a` and `b` have the same path `x`"]);
    }

    #[test]
    fn a_build_is_none_kustomize_or_a_chart() {
        let text = b"environments:
- {name: a, path: a, build: none}
- {name: b, path: b, build: kustomize}
- {name: c, build: {helm: {chart: ./charts/shop, values: [values.yaml, env/c.yaml], release: shop, namespace: c}}}
- {name: d, build: {helm: {chart: charts/shop}}}
- {name: e, path: e}
";
        let (config, findings) = from_bytes(text);
        assert_eq!(findings, []);
        let chart = |values: &[&str], release: Option<&str>, namespace: Option<&str>| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            Build::Helm(Chart {
                folder: "charts/shop".into(),
                values,
                release: release.map(str::to_owned),
                namespace: namespace.map(str::to_owned),
                capabilities: Capabilities::default(),
            })
        };
        let builds: Vec<_> = config.environments.into_iter().map(|environment| environment.build).collect();
        let c = chart(&["values.yaml", "env/c.yaml"], Some("shop"), Some("c"));
        assert_eq!(builds, [Build::Nothing, Build::Kustomize, c, chart(&[], None, None), Build::Detected]);
    }

    #[test]
    fn a_chart_may_be_told_about_the_cluster() {
        let text = b"environments: [{name: a, build: {helm: {chart: x, kubeVersion: \"1.34\", apiVersions: [a.io/v1, b.io/v1/Route]}}}]";
        let (config, findings) = from_bytes(text);
        assert_eq!(findings, []);
        let Build::Helm(chart) = &config.environments[0].build else { panic!("a chart") };
        assert_eq!(chart.capabilities.kube_version.as_deref(), Some("1.34"));
        assert_eq!(chart.capabilities.api_versions, ["a.io/v1", "b.io/v1/Route"]);
        case(
            "environments:\n- {name: a, build: {helm: {chart: x, kubeVersion: new, apiVersions: ['-f,x', 1]}}}\n",
            &[
                "2:51 `kubeVersion` is a version of Kubernetes, not `new`",
                "2:70 an API version is a text, not \"-f,x\"",
                "2:78 an API version is a text, not 1",
            ],
        );
    }

    #[test]
    fn a_build_without_meaning_is_a_fault() {
        case("environments:\n- {name: a, build: make}\n", &["2:20 `build` cannot be \"make\""]);
        case("environments:\n- {name: a, build: {jsonnet: x}}\n", &["2:30 unknown field `jsonnet` with \"x\""]);
        case("environments:\n- {name: a, build: {helm: {}}}\n", &["2:27 `helm` names no `chart`"]);
        case("environments:\n- {name: a, build: {helm: {chart: ../x}}}\n", &["2:35 `chart` is a folder below the root, not `../x`"]);
        case(
            "environments:\n- {name: a, build: {helm: {chart: x, values: [/etc/passwd], release: A}}}\n",
            &[
                "2:47 a file of values is below the root, not \"/etc/passwd\"",
                "2:70 a release is of small letters, digits and dashes, not `A`",
            ],
        );
    }
}
