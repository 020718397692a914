//! Which files are cases, and which script each of them runs.

use crate::discover::script_at;
use crate::files::Files;
use crate::model::Gateway;

/// A case, and its script.
pub(super) struct Found<'a> {
    /// The case's file.
    pub(super) path: String,
    /// The file's text.
    pub(super) text: &'a str,
    /// The script, where there is one.
    pub(super) script: Option<FoundScript<'a>>,
}

/// A script that a case can run.
pub(super) struct FoundScript<'a> {
    /// The name that users know it by.
    pub(super) name: String,
    /// What errors call it: its file, or its name.
    pub(super) path: String,
    /// The Lua text.
    pub(super) text: &'a str,
}

/// Every case among `files`, in the order of their paths.
pub(super) fn cases<'a>(files: &'a Files, shipped: &'a [(String, Gateway)]) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (path, bytes) in files.iter() {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        if !is_yaml(path) || !has_key(text, "original") || !(has_key(text, "rollout") || has_key(text, "trafficRouting")) {
            continue;
        }
        let script = beside(path, files).or_else(|| for_kind(text, files, shipped));
        found.push(Found { path: path.to_owned(), text, script });
    }
    found
}

/// The script of the folder that holds the `testdata` folder of the case: `trafficRouting.lua`, or for an Ingress
/// `<class>.lua` beside the folder `<class>`.
fn beside<'a>(path: &str, files: &'a Files) -> Option<FoundScript<'a>> {
    let folder = match path.rsplit_once('/')?.0 {
        "testdata" => "",
        folder => folder.strip_suffix("/testdata")?,
    };
    let inside = if folder.is_empty() { "trafficRouting.lua".to_owned() } else { format!("{folder}/trafficRouting.lua") };
    [inside, format!("{folder}.lua")].into_iter().find_map(|path| {
        let text = std::str::from_utf8(files.get(&path)?).ok()?;
        let name = folder.rsplit('/').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/");
        Some(FoundScript { name, path, text })
    })
}

/// The script for the kind of the case's original: from the files, else one of the shipped ones.
fn for_kind<'a>(text: &str, files: &'a Files, shipped: &'a [(String, Gateway)]) -> Option<FoundScript<'a>> {
    let name = script_name(text)?;
    let own = files.iter().find(|(path, _)| script_at(path).as_deref() == Some(&*name));
    if let Some((path, bytes)) = own {
        let text = std::str::from_utf8(bytes).ok()?;
        return Some(FoundScript { name, path: path.to_owned(), text });
    }
    let (_, gateway) = shipped.iter().find(|(known, _)| *known == name)?;
    Some(FoundScript { path: name.clone(), name, text: &gateway.script.text })
}

fn script_name(text: &str) -> Option<String> {
    let case = crate::yaml::read_value(text).ok()?;
    let original = case.get("original")?;
    let kind = original.get("kind")?.as_str()?;
    if kind == "Ingress" {
        let routings = "/rollout/spec/strategy/canary/trafficRoutings/0/ingress/classType";
        let objects = "/trafficRouting/spec/objectRef/0/ingress/classType";
        let class = [routings, objects].into_iter().find_map(|pointer| case.pointer(pointer)?.as_str()).unwrap_or("nginx");
        return Some(format!("trafficrouting_ingress/{class}"));
    }
    let api_version = original.get("apiVersion")?.as_str()?;
    Some(format!("{}/{kind}", api_version.split_once('/').map_or(api_version, |(group, _)| group)))
}

fn is_yaml(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| matches!(extension, "yaml" | "yml"))
}

/// Whether the key may be one of the case's: at the start of a line, or anywhere in JSON. Cheap: most files of a repository are no
/// cases.
fn has_key(text: &str, key: &str) -> bool {
    let is_colon = |rest: &str| rest.trim_start().starts_with(':');
    if text.trim_start().starts_with('{') {
        return text.match_indices(key).any(|(start, key)| is_colon(text[start + key.len()..].trim_start_matches(['"', '\''])));
    }
    let is_key = |line: &str| {
        let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| is_colon(rest.trim_start_matches(['"', '\''])))
    };
    text.lines().any(is_key)
}

#[cfg(test)]
mod tests {
    use super::has_key;

    #[test]
    fn a_case_is_known_by_its_keys_in_yaml_and_in_json() {
        for text in
            ["original:\n", "a: 1\n\"original\" :\n", "{\"rollout\": {}, \"original\": {}}", "{\n  'original' : {}\n}", "{original: {}}"]
        {
            assert!(has_key(text, "original"), "{text}");
        }
        for text in ["  original:\n", "originals: 1\n", "# original\n", "{\"a\": \"original\"}"] {
            assert!(!has_key(text, "original"), "{text}");
        }
    }
}
