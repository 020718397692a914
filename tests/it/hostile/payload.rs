//! The declarations in `tests/hostile`, expanded: what is committed, what is run, what must come out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// A file of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    Link(String),
    Gone,
}

/// A repository before and after a change, and the run on it.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    /// `family/name`.
    pub(super) name: String,
    /// How many texts it carries.
    pub(super) count: usize,
    pub(super) needs: Vec<String>,
    /// The formats that it is rendered in.
    pub(super) formats: Vec<String>,
    pub(super) before: BTreeMap<String, Content>,
    pub(super) change: BTreeMap<String, Content>,
    pub(super) after: Vec<Vec<String>>,
    pub(super) run: Vec<String>,
    pub(super) exits: Vec<i32>,
    pub(super) says: Vec<String>,
    pub(super) never: Vec<String>,
    pub(super) markup: Vec<String>,
}

/// All payloads of the families in a folder, in the order of their names.
pub(super) fn all(folder: &Path) -> Vec<Payload> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files.iter().flat_map(|path| family(path)).collect()
}

const FIELDS: &[&str] = &["what", "needs", "formats", "is", "before", "payloads", "generated"];
const OF_PAYLOAD: &[&str] = &["name", "change", "after", "run", "exits", "says", "never", "markup"];
const OF_GENERATED: &[&str] = &["name", "texts", "places", "apart"];

fn family(path: &Path) -> Vec<Payload> {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let value: Value = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
    known(name, &value, FIELDS);
    assert!(value["what"].is_string(), "{name}: `what` says what must not happen");
    let mut before = if value["is"] == "shop" { shop() } else { BTreeMap::new() };
    before.extend(contents(&value["before"]));
    let begun = Payload {
        name: name.to_owned(),
        count: 1,
        needs: texts(&value["needs"]),
        formats: if value["formats"].is_null() { super::look::FORMATS.map(str::to_owned).into() } else { texts(&value["formats"]) },
        before,
        change: BTreeMap::new(),
        after: Vec::new(),
        run: vec![".".into(), "--changed".into()],
        exits: vec![0, 1, 2],
        says: Vec::new(),
        never: Vec::new(),
        markup: Vec::new(),
    };
    let mut payloads: Vec<Payload> = list(&value["payloads"]).iter().map(|value| declared(&begun, value)).collect();
    for value in list(&value["generated"]) {
        known(name, value, OF_GENERATED);
        let texts = texts(&value["texts"]);
        let name = value["name"].as_str().expect("generated payloads have a name");
        for place in list(&value["places"]) {
            if value["apart"] == true {
                let alone = |(number, text)| generated(&begun, &format!("{name}-{number}"), std::slice::from_ref(text), place);
                payloads.extend(texts.iter().enumerate().map(alone));
            } else {
                payloads.push(generated(&begun, name, &texts, place));
            }
        }
    }
    payloads
}

/// The application that most families begin with.
fn shop() -> BTreeMap<String, Content> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/istio-subset/before");
    let read = |file: &str| Content::Bytes(fs::read(example.join(file)).unwrap());
    ["istio.yaml", "nginx.yaml", "rollout.yaml"].into_iter().map(|file| (format!("deploy/shop/{file}"), read(file))).collect()
}

fn declared(begun: &Payload, value: &Value) -> Payload {
    known(&begun.name, value, OF_PAYLOAD);
    let mut payload = begun.clone();
    payload.name = format!("{}/{}", begun.name, value["name"].as_str().expect("a payload has a name"));
    payload.change = contents(&value["change"]);
    payload.after = list(&value["after"]).iter().map(texts).collect();
    if !value["run"].is_null() {
        payload.run = texts(&value["run"]);
    }
    if !value["exits"].is_null() {
        payload.exits = list(&value["exits"]).iter().map(|exit| i32::try_from(exit.as_i64().unwrap()).unwrap()).collect();
    }
    payload.says = texts(&value["says"]);
    payload.never = texts(&value["never"]);
    payload.markup = texts(&value["markup"]);
    payload
}

/// All texts in one place.
fn generated(begun: &Payload, name: &str, texts: &[String], place: &Value) -> Payload {
    let mut payload = declared(begun, place);
    payload.name = format!("{}/{name}-{}", begun.name, place["name"].as_str().unwrap());
    payload.count = texts.len();
    payload.change = BTreeMap::new();
    for (number, text) in texts.iter().enumerate() {
        let filled = |template: &str| {
            let json = Value::from(text.as_str()).to_string();
            template.replace("{{n}}", &number.to_string()).replace("{{json}}", &json).replace("{{text}}", text)
        };
        for (path, content) in contents(&place["change"]) {
            let content = match content {
                Content::Bytes(bytes) => Content::Bytes(filled(std::str::from_utf8(&bytes).unwrap()).into_bytes()),
                Content::Link(target) => Content::Link(filled(&target)),
                Content::Gone => Content::Gone,
            };
            // Two texts in one file stand in documents of their own.
            match (payload.change.get_mut(&filled(&path)), content) {
                (Some(Content::Bytes(before)), Content::Bytes(more)) => before.extend(more),
                (_, content) => _ = payload.change.insert(filled(&path), content),
            }
        }
    }
    payload
}

fn contents(value: &Value) -> BTreeMap<String, Content> {
    let Some(fields) = value.as_object() else { return BTreeMap::new() };
    fields.iter().map(|(path, value)| (path.clone(), content(value))).collect()
}

fn content(value: &Value) -> Content {
    if let Some(text) = value.as_str() {
        return Content::Bytes(text.as_bytes().to_owned());
    }
    let Some(fields) = value.as_object() else {
        assert!(value.is_null(), "a file is a text, a map or null, not {value}");
        return Content::Gone;
    };
    let field = |name: &str| fields.get(name).and_then(Value::as_str);
    if let Some(target) = field("link") {
        Content::Link(target.to_owned())
    } else if let Some(digits) = field("hex") {
        Content::Bytes(bytes(digits))
    } else {
        let times = usize::try_from(fields["times"].as_u64().unwrap()).unwrap();
        Content::Bytes(field("repeat").expect("link, hex or repeat").repeat(times).into_bytes())
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter(|digit| !digit.is_whitespace()).map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(|text| text.as_str().unwrap_or_else(|| panic!("{text} is no text")).to_owned()).collect()
}

#[track_caller]
fn known(name: &str, value: &Value, fields: &[&str]) {
    let unknown: Vec<_> = value.as_object().unwrap().keys().filter(|field| !fields.contains(&field.as_str())).collect();
    assert!(unknown.is_empty(), "{name}: unknown fields {unknown:?}");
}
