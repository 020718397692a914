//! What is tried: one function a reader, which panics when a promise is broken.

use rollout::config::Config;
use rollout::files::Files;
use rollout::lua::{Script, ScriptErrorKind};
use rollout::model::pointer;
use rollout::{discover, function, patch, plan, yaml};
use serde_json::{Value, json};

use crate::corpus;

/// A reader to try.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Words of its language.
    pub(crate) words: &'static [&'static str],
    pub(crate) try_one: fn(&[u8]),
}

const YAML: &[&str] = &[
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!!binary ",
    "!<x> ",
    "!a,",
    "---\n",
    "...\n",
    "? ",
    ": ",
    "- ",
    "|\n",
    ">-\n",
    "|+2\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "'",
    "#",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "%YAML 1.1\n",
    "0644",
    "1e3",
    ".inf",
    "yes",
    "~",
    "\\/",
    "\\u0000",
    "\\x",
    "\\ud83d",
    "\0",
    "null",
    "kind: Rollout\n",
    "kind: List\nitems:\n",
    "apiVersion: rollouts.kruise.io/v1beta1\n",
    "99999999999999999999",
    "-5",
    "100%",
    "{{ x }}",
];

const LUA: &[&str] = &[
    "for k, v in ",
    "pairs(obj)",
    "ipairs(obj)",
    " do ",
    " end ",
    "function(",
    ")",
    "return ",
    "local ",
    "t[obj] = 1 ",
    "{}",
    "[",
    "]",
    "setmetatable(",
    "__index",
    "__len",
    "__call",
    "pcall(",
    "error(",
    "string.rep('x', 1e5)",
    "table.sort(",
    "table.concat(",
    "json.encode(obj)",
    "json.decode(",
    "('%s'):format(",
    "#",
    "..",
    "--[[",
    "]]",
    "[[",
    "'",
    "\"",
    "\\",
    "`",
    "if ",
    " then ",
    " else ",
    "while true do ",
    "repeat ",
    " until ",
    "obj",
    "1e308",
    "0/0",
    "nil",
    "string.gsub(",
    "'(.-)%1'",
    "'%b()'",
    "in ",
    "+=",
    "\0",
];

const POINTERS: &[&str] =
    &["/", "~0", "~1", "~", "-", "0", "00", "1", "99999999999999999999", "\"", "{", "}", "[", "]", ",", ":", "null", "a", "\u{e4}"];

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "yaml",
        corpus: || corpus::ending(&["examples", "lua_configuration", "tests/fixtures"], &[".yaml", ".json"]),
        words: YAML,
        try_one: yaml,
    },
    Target { name: "lua", corpus: || corpus::ending(&["lua_configuration", "examples"], &[".lua"]), words: LUA, try_one: lua },
    Target { name: "plan", corpus: || corpus::ending(&["examples", "tests/fixtures"], &["plan.yaml"]), words: YAML, try_one: plan },
    Target { name: "function", corpus: corpus::resource_lists, words: YAML, try_one: function },
    Target { name: "repository", corpus: corpus::repositories, words: YAML, try_one: repository },
    Target {
        name: "patch",
        corpus: || corpus::ending(&["examples"], &["deployment.yaml", "service.yaml"]),
        words: POINTERS,
        try_one: patch,
    },
];

/// What is read is written so that it is read again; reading is the same each time.
fn yaml(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(documents) = yaml::split(text) else { return };
    for raw in &documents {
        let read = yaml::read(raw);
        assert_eq!(read, yaml::read(raw), "reading twice");
        if let Ok(Some(document)) = read {
            let written = yaml::write_json(&document.value);
            assert_eq!(yaml::read_value(&written).as_ref(), Ok(&document.value), "{written}");
        }
    }
}

/// A script that compiles answers alike each time.
fn lua(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let object = json!({
        "data": {"spec": {"hosts": ["a"], "http": [{"route": [{"destination": {"host": "shop"}}]}], "rules": []}, "labels": {}, "annotations": {}},
        "canaryWeight": 20, "stableWeight": 80, "canaryService": "shop-canary", "stableService": "shop", "annotations": {}, "weight": "20",
    });
    match Script::compile("fuzz.lua", text) {
        Ok(script) => {
            let one = script.call(&[("obj", &object)]);
            if !one.as_ref().is_err_and(|error| error.kind == ScriptErrorKind::Time) {
                assert_eq!(one, script.call(&[("obj", &object)]), "calling twice");
            }
        }
        Err(error) => assert!(error.message.len() < 1100, "{error}"),
    }
}

/// A plan that is read is written as the same plan.
fn plan(input: &[u8]) {
    if let Ok(read) = plan::from_text(input) {
        let written = plan::to_text(&read);
        assert_eq!(plan::from_text(written.as_bytes()).as_ref(), Ok(&read), "{written}");
    }
}

/// The answer is a list again, and is the same each time.
fn function(input: &[u8]) {
    if let Ok(outcome) = function::run(input) {
        let again = function::run(input).map(|outcome| outcome.text);
        assert_eq!(again.as_ref(), Ok(&outcome.text), "running twice");
        let listed = yaml::read_value(&outcome.text).map(|value| value["kind"].clone());
        assert_eq!(listed, Ok(json!("ResourceList")), "{}", outcome.text);
    }
}

/// Whatever a repository holds, it is read alike each time.
fn repository(input: &[u8]) {
    let mut files = Files::default();
    for (path, bytes) in corpus::split(input) {
        files.insert(path, bytes);
    }
    let config = Config::default();
    let discovered = || discover::discover(&discover::read(&files, &config), &config);
    let (one, other) = (discovered(), discovered());
    assert_eq!(one.findings, other.findings, "reading twice");
    for catalog in &one.catalogs {
        for rollout in &catalog.rollouts {
            drop(discover::originals(catalog, rollout));
        }
    }
}

/// What is taken from one object and put into another one is there then.
fn patch(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for token in text.split('/') {
        assert_eq!(pointer::unescape(&pointer::escape(token)), token);
    }
    let Ok(live) = yaml::read_value(&text) else { return };
    let wanted = json!({"metadata": {"name": "x"}, "spec": {"replicas": 3, "template": {"a/b": [1, {"c~d": null}]}}});
    let paths: Vec<String> = text.split_whitespace().filter(|word| word.starts_with('/')).take(20).map(str::to_owned).collect();
    let paths = if paths.is_empty() { vec!["/spec/replicas".to_owned(), "/spec/template/a~1b".to_owned()] } else { paths };
    let values = patch::values_at(&wanted, &paths);
    let applied: Value = patch::apply(&live, &values);
    assert_eq!(patch::apply(&applied, &values), applied, "applying twice");
    drop(patch::differences(&live, &wanted, &paths));
    drop(patch::exact(&values, &live));
}
