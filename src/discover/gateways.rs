//! Scripts for traffic objects: the repository's own, those of the ConfigMap, and those that ship inside the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use include_dir::{Dir, include_dir};

use crate::config::is_inside;
use crate::files::Files;
use crate::model::{Finding, Gateway, GatewayDeclaration, Position, ScriptKey, ScriptOrigin, ScriptSource, Source, pointer};
use crate::yaml;

/// The folder of scripts in a repository.
pub(super) const FOLDER: &str = "lua_configuration";

/// What is appended to the name of the object that another is made beside.
pub(super) const SUFFIX: &str = "-canary";

const INGRESS: &str = "trafficrouting_ingress";
const SCRIPT: &str = "trafficRouting.lua";
const DECLARATION: &str = "gateway.yaml";
const LARGEST: usize = 1024 * 1024;

static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/lua_configuration");

/// The gateways that ship inside the binary, by script name, sorted.
pub fn shipped_gateways() -> &'static [(String, Gateway)] {
    static GATEWAYS: OnceLock<Vec<(String, Gateway)>> = OnceLock::new();
    GATEWAYS.get_or_init(|| {
        let mut texts = BTreeMap::new();
        collect(&SHIPPED, &mut texts);
        // A shipped declaration that cannot be read would be a finding of `every_shipped_gateway_can_be_read`, not of a user's.
        named(&texts, |_| ScriptOrigin::Shipped, &mut Vec::new())
    })
}

fn collect(folder: &'static Dir<'static>, texts: &mut BTreeMap<String, Text<'static>>) {
    for file in folder.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
            let path = path.replace('\\', "/");
            texts.insert(path.clone(), Text { path, text });
        }
    }
    for inner in folder.dirs().filter(|inner| inner.path().file_name().is_none_or(|name| name != "testdata")) {
        collect(inner, texts);
    }
}

/// A file below a folder of scripts.
struct Text<'a> {
    /// The path from the root, for people.
    path: String,
    text: &'a str,
}

/// The gateways of one environment: its own files, those at the root, the ConfigMap's, the shipped ones. The first of a name wins.
pub(super) fn of_environment(
    files: &Files,
    environment: &str,
    sources: &[Arc<Source>],
    findings: &mut Vec<Finding>,
) -> Vec<(String, Gateway)> {
    let mut gateways: BTreeMap<String, Gateway> = BTreeMap::new();
    let own = |folder: &str, findings: &mut Vec<Finding>| {
        named(&texts(files, folder, findings), |path| ScriptOrigin::File(path.to_owned()), findings)
    };
    let mut folders = vec![if environment.is_empty() { FOLDER.to_owned() } else { format!("{environment}/{FOLDER}") }];
    if !environment.is_empty() {
        folders.push(FOLDER.to_owned());
    }
    for folder in folders {
        for (name, gateway) in own(&folder, findings) {
            gateways.entry(name).or_insert(gateway);
        }
    }
    for source in sources {
        for (name, gateway) in of_config_map(source, files) {
            gateways.entry(name).or_insert(gateway);
        }
    }
    let mut all: Vec<_> = gateways.into_iter().collect();
    all.extend(shipped_gateways().iter().cloned());
    all
}

/// What is appended to the names of objects that a release makes beside others: by us, and by what users declare.
pub(super) fn suffixes(files: &Files) -> BTreeSet<String> {
    let is_declaration = |path: &str| path.ends_with(DECLARATION) && path.split('/').any(|part| part == FOLDER);
    let declarations = files.iter().filter(|(path, _)| is_declaration(path)).filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok());
    let suffixes = declarations.filter_map(|text| Some(declaration_of(text).ok()?.clone?.suffix));
    suffixes.chain([SUFFIX.to_owned()]).collect()
}

fn texts<'a>(files: &'a Files, folder: &str, findings: &mut Vec<Finding>) -> BTreeMap<String, Text<'a>> {
    let mut texts = BTreeMap::new();
    for (path, bytes) in files.iter().filter(|(path, _)| is_inside(path, folder)) {
        let name = &path[folder.len() + 1..];
        let is_script = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "lua");
        if !(is_script || name.ends_with(DECLARATION)) || name.split('/').any(|part| part == "testdata") {
            continue;
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= LARGEST => {
                texts.insert(name.to_owned(), Text { path: path.to_owned(), text });
            }
            Ok(_) => findings.push(at_start(path, format!("a script of {} KiB is not read", bytes.len() / 1024))),
            Err(_) => findings.push(at_start(path, "a script that is not UTF-8 is not read".to_owned())),
        }
    }
    texts
}

fn at_start(path: &str, message: String) -> Finding {
    Finding::error("script-unreadable", message).at(path, Position { line: 1, column: 1 })
}

fn named(texts: &BTreeMap<String, Text<'_>>, origin: impl Fn(&str) -> ScriptOrigin, findings: &mut Vec<Finding>) -> Vec<(String, Gateway)> {
    let mut gateways = Vec::new();
    for (path, script) in texts {
        let Some((name, declaration)) = script_name(path) else { continue };
        let source = ScriptSource { name: name.clone(), text: script.text.to_owned(), origin: origin(&script.path) };
        let gateway = match texts.get(&declaration) {
            Some(declared) => match declaration_of(declared.text) {
                Ok(declaration) => Gateway::declared(source, declaration),
                Err((position, message)) => {
                    let finding = Finding::error("gateway-invalid", message).at(&declared.path, position);
                    findings.push(finding.help("`role: route`; the fields are those of the shipped gateways"));
                    continue;
                }
            },
            None => undeclared(source),
        };
        gateways.push((name, gateway));
    }
    gateways.sort_by(|left, right| left.0.cmp(&right.0));
    gateways.dedup_by(|left, right| left.0 == right.0);
    gateways
}

/// The name of the script at `path`, wherever the folder of scripts around it lies; `None` for any other file.
pub fn script_at(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let last = |number: usize| parts.len().checked_sub(number).map(|start| parts[start..].join("/"));
    [3, 2].into_iter().find_map(|number| script_name(&last(number)?)).map(|(name, _)| name)
}

/// The script's name, and where its declaration stands: `<group>/<Kind>/trafficRouting.lua`, `trafficrouting_ingress/<class>.lua`,
/// or `trafficrouting_ingress/<class>/trafficRouting.lua`.
fn script_name(path: &str) -> Option<(String, String)> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [group, kind, SCRIPT] => Some((format!("{group}/{kind}"), format!("{group}/{kind}/{DECLARATION}"))),
        [INGRESS, file] => {
            let class = file.strip_suffix(".lua").filter(|class| !class.is_empty())?;
            Some((format!("{INGRESS}/{class}"), format!("{INGRESS}/{class}/{DECLARATION}")))
        }
        _ => None,
    }
}

fn declaration_of(text: &str) -> Result<GatewayDeclaration, (Position, String)> {
    let value = yaml::read_value(text).map_err(|error| (error.position, error.message))?;
    serde_json::from_value(value).map_err(|error| (Position { line: 1, column: 1 }, error.to_string()))
}

/// A script without a declaration may do everything; that it rewrites a copy, or a definition, is known from the shipped one.
fn undeclared(script: ScriptSource) -> Gateway {
    let is_shipped = script.origin == ScriptOrigin::Shipped;
    let mut gateway = Gateway::undeclared(script);
    if is_shipped {
        return gateway;
    }
    let is_ingress = gateway.script.name.starts_with(INGRESS);
    let same = shipped_gateways().iter().find(|(name, _)| *name == gateway.script.name);
    let alike = || shipped_gateways().iter().find(|(name, _)| is_ingress && *name == format!("{INGRESS}/nginx"));
    if let Some((_, shipped)) = same.or_else(alike) {
        gateway.role = shipped.role;
        gateway.accepted.clone_from(&shipped.accepted);
        gateway.clone.clone_from(&shipped.clone);
    }
    gateway
}

fn of_config_map(source: &Source, files: &Files) -> Vec<(String, Gateway)> {
    let Some(data) = source.manifest.at("/data").and_then(serde_json::Value::as_object) else { return Vec::new() };
    let mut gateways = Vec::new();
    for (key, text) in data.iter().filter_map(|(key, text)| Some((key, text.as_str()?))).filter(|(_, text)| !text.is_empty()) {
        let Some(rest) = key.strip_prefix("lua.traffic.routing.") else { continue };
        let Some((kind, group)) = rest.split_once('.') else { continue };
        let name = if kind == "ingress" { format!("{INGRESS}/{group}") } else { format!("{group}/{kind}") };
        let position = source.places.at(&format!("/data/{}", pointer::escape(key)));
        let is_block = is_literal_block(files, &source.path, position);
        let origin = ScriptOrigin::ConfigMap(ScriptKey { path: source.path.clone(), position, is_block });
        let script = ScriptSource { name: name.clone(), text: text.to_owned(), origin };
        gateways.push((name, undeclared(script)));
    }
    gateways
}

/// Whether a literal block begins at a place of a file: `|`, perhaps with what to do about its end.
fn is_literal_block(files: &Files, path: &str, position: Position) -> bool {
    let text = files.get(path).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let number = usize::try_from(position.line).unwrap_or_default().saturating_sub(1);
    let column = usize::try_from(position.column).unwrap_or_default().saturating_sub(1);
    let line = text.and_then(|text| text.lines().nth(number)).unwrap_or_default();
    line.chars().nth(column) == Some('|')
}

#[cfg(test)]
mod tests {
    use super::{SHIPPED, Text, collect, named, of_environment, shipped_gateways};
    use crate::files::Files;
    use crate::model::{Role, ScriptOrigin};

    fn files(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().into())).collect()
    }

    #[test]
    fn every_shipped_gateway_can_be_read() {
        let mut texts = std::collections::BTreeMap::<String, Text<'static>>::new();
        collect(&SHIPPED, &mut texts);
        let mut findings = Vec::new();
        named(&texts, |_| ScriptOrigin::Shipped, &mut findings);
        assert_eq!(findings, []);
    }

    #[test]
    fn what_the_user_wrote_wins() {
        let files = files(&[
            ("lua_configuration/example.com/Route/trafficRouting.lua", "return 1"),
            ("lua_configuration/example.com/Route/gateway.yaml", "role: definition\n"),
            ("lua_configuration/trafficrouting_ingress/own.lua", "return 2"),
            ("lua_configuration/trafficrouting_ingress/folder/trafficRouting.lua", "return 3"),
            ("prod/lua_configuration/example.com/Route/trafficRouting.lua", "return 4"),
        ]);
        let mut findings = Vec::new();
        let gateways = of_environment(&files, "prod", &[], &mut findings);
        let shown: Vec<_> = gateways[..gateways.len() - shipped_gateways().len()]
            .iter()
            .map(|(name, gateway)| (name.as_str(), gateway.script.text.as_str(), gateway.role))
            .collect();
        assert_eq!(
            shown,
            [
                ("example.com/Route", "return 4", Role::Route),
                ("trafficrouting_ingress/folder", "return 3", Role::Route),
                ("trafficrouting_ingress/own", "return 2", Role::Route),
            ]
        );
        let gateways = of_environment(&files, "", &[], &mut findings);
        assert_eq!((gateways[0].1.script.text.as_str(), gateways[0].1.role), ("return 1", Role::Definition));
        assert_eq!(findings, []);
    }

    #[test]
    fn a_broken_declaration_is_found() {
        let files = files(&[
            ("lua_configuration/example.com/Route/trafficRouting.lua", "return 1"),
            ("lua_configuration/example.com/Route/gateway.yaml", "role: both\n"),
        ]);
        let mut findings = Vec::new();
        of_environment(&files, "", &[], &mut findings);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].code, "gateway-invalid");
    }
}
