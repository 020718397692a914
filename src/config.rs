//! `.rollout.yaml`: the environments of a repository.
//!
//! Nothing here reads a disk. A file with faults gives findings, and as many environments as can be understood.

use serde_json::{Map, Value};

use crate::files::Files;
use crate::model::{Finding, Places, Position};
use crate::yaml;

/// The file's name.
pub const NAME: &str = ".rollout.yaml";

/// Where plans go when nobody says otherwise.
pub const OUTPUT: &str = "rollouts";

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
    /// What makes its manifests, as written.
    pub build: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { environments: vec![Environment::unnamed()] }
    }
}

impl Environment {
    /// The whole root, without a name.
    pub fn unnamed() -> Self {
        Self { name: String::new(), path: String::new(), output: OUTPUT.into(), namespace: None, build: None }
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
    match files.get(NAME) {
        Some(bytes) => from_bytes(bytes),
        None => (Config::default(), Vec::new()),
    }
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
            let at = format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1"));
            self.fault(&at, format!("unknown field `{field}` with {value}"), &format!("the fields here: {}", listed(known)));
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
        let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if written.starts_with('/') || parts.contains(&"..") || written.contains('\\') {
            self.fault(
                &format!("{pointer}/{field}"),
                format!("`{field}` is a folder below the root, not `{written}`"),
                "write it relative to the root, with `/` and without `..`",
            );
            return None;
        }
        Some(parts.join("/"))
    }

    fn environment(&mut self, pointer: &str, value: &Value) -> Option<Environment> {
        let before = self.findings.len();
        let fields = self.map(pointer, value, &["name", "path", "output", "namespace", "build"])?;
        let name = self.text(pointer, fields, "name").unwrap_or_default();
        if !is_label(&name) {
            let at = format!("{pointer}/name");
            self.fault(&at, format!("an environment's `name` is of small letters, digits and dashes, not `{name}`"), "`name: prod`");
        }
        let path = self.folder(pointer, fields, "path").unwrap_or_default();
        let output = self.folder(pointer, fields, "output").unwrap_or_else(|| OUTPUT.into());
        if output.is_empty() || is_inside(&format!("{path}/"), &output) {
            let at = format!("{pointer}/output");
            self.fault(
                &at,
                format!("the output folder `{output}` holds the environment's own files in `{path}`"),
                "plans need a folder of their own: `output: rollouts`",
            );
        }
        let namespace = self.text(pointer, fields, "namespace").filter(|namespace| !namespace.is_empty());
        if let Some(namespace) = namespace.as_deref().filter(|namespace| !is_label(namespace)) {
            let message = format!("a namespace is of small letters, digits and dashes, not `{namespace}`");
            self.fault(&format!("{pointer}/namespace"), message, "`namespace: prod`");
        }
        let build = self.text(pointer, fields, "build");
        if build.is_some() {
            let finding = Finding::warning("config-build", "`build` is not carried out yet: the files in `path` are read as they stand");
            self.findings.push(finding.at(NAME, self.places.at(&format!("{pointer}/build"))));
        }
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
            if let Some(earlier) = environments[..index].iter().find(|earlier| earlier.path == environment.path) {
                let message =
                    format!("the environments `{}` and `{}` have the same path `{}`", earlier.name, environment.name, environment.path);
                self.fault(&format!("{pointer}/path"), message, "give every environment a folder of its own");
            }
        }
    }
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
    use super::{Config, Environment, from_bytes};

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
        case("environments:\n- {name: a, path: u}\n- {name: a, path: v}\n", &["3:10 two environments have the name `a`"]);
        case("environments:\n- {name: a, path: x}\n- {name: b, path: x}\n", &["3:19 the environments `a` and `b` have the same path `x`"]);
    }
}
