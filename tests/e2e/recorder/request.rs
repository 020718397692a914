//! One request of a client, as far as gateways look at it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A GET request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    /// The path, without the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// The query's parameters.
    pub(crate) query: BTreeMap<String, String>,
}

impl Request {
    /// A request that asks for nothing special.
    pub(crate) fn plain(path: &str) -> Self {
        Self { path: path.to_owned(), headers: BTreeMap::new(), query: BTreeMap::new() }
    }

    /// A request that satisfies one entry of a plan's `matches`; none for a pattern that is more than words with `.*` around.
    ///
    /// The header `canary-by-cookie` means the cookie of that name.
    pub(crate) fn matching(entry: &Value) -> Option<Self> {
        let mut request = Self::plain("/");
        for header in entry["headers"].as_array().into_iter().flatten() {
            let (name, value) = condition(header)?;
            if name == "canary-by-cookie" {
                request.headers.insert("cookie".to_owned(), format!("{value}=always"));
            } else {
                request.headers.insert(name.to_lowercase(), value);
            }
        }
        for parameter in entry["queryParams"].as_array().into_iter().flatten() {
            let (name, value) = condition(parameter)?;
            request.query.insert(name, value);
        }
        if let Some(path) = entry["path"]["value"].as_str() {
            path.clone_into(&mut request.path);
        }
        Some(request)
    }

    /// Returns the value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.headers.get("cookie")?;
        cookies.split(';').filter_map(|pair| pair.trim().split_once('=')).find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GET {}", self.path)?;
        for (index, (name, value)) in self.query.iter().enumerate() {
            write!(formatter, "{}{name}={value}", if index == 0 { '?' } else { '&' })?;
        }
        for (name, value) in &self.headers {
            write!(formatter, " {name}:{value}")?;
        }
        Ok(())
    }
}

/// A name and a value that satisfies the condition.
fn condition(value: &Value) -> Option<(String, String)> {
    let name = value["name"].as_str()?.to_owned();
    let wanted = value["value"].as_str()?;
    if value["type"].as_str().unwrap_or("Exact") == "Exact" {
        return Some((name, wanted.to_owned()));
    }
    let word = word_of(wanted).2;
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)).then(|| (name, word.to_owned()))
}

/// Whether a pattern takes the whole value. Patterns of tests are words with `.*` at either end, and no more.
pub(crate) fn fits(pattern: &str, value: &str) -> bool {
    let (start, end, word) = word_of(pattern);
    match (start, end) {
        (false, false) => value == word,
        (true, false) => value.ends_with(word),
        (false, true) => value.starts_with(word),
        (true, true) => value.contains(word),
    }
}

/// Whether anything may stand before and after the word of a pattern, and the word.
fn word_of(pattern: &str) -> (bool, bool, &str) {
    let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
    let (start, rest) = pattern.strip_prefix(".*").map_or((false, pattern), |rest| (true, rest));
    let (end, word) = rest.strip_suffix(".*").map_or((false, rest), |word| (true, word));
    (start, end, word)
}
