//! What a step sends to the new version: a share of the requests, those that match, or both.

use serde::{Deserialize, Serialize};

use super::Weight;

/// What a step says about traffic. Neither a weight nor matches: routing stays as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The new version's share of all requests.
    pub weight: Option<Weight>,
    /// Requests that go to the new version whatever the weight; any one match suffices.
    pub matches: Vec<Match>,
}

impl Traffic {
    /// Whether the step says anything about traffic. A header modifier alone does not count.
    pub fn is_split(&self) -> bool {
        self.weight.is_some() || !self.matches.is_empty()
    }
}

/// Conditions on one request, all of which must hold. Serialized as OpenKruise's scripts read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// The request's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathMatch>,
    /// Headers, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<NamedMatch>,
    /// Query parameters, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query_params: Vec<NamedMatch>,
}

/// A condition on the request's path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathMatch {
    /// How the value is compared.
    #[serde(rename = "type")]
    pub kind: PathKind,
    /// The path, its prefix, or an expression.
    pub value: String,
}

/// How a path is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum PathKind {
    /// The whole path.
    Exact,
    /// Whole path elements from the start.
    PathPrefix,
    /// An expression in the gateway's own dialect.
    RegularExpression,
}

/// A condition on a header or a query parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedMatch {
    /// How the value is compared.
    #[serde(rename = "type")]
    pub kind: MatchKind,
    /// The header's or parameter's name.
    pub name: String,
    /// The value, or an expression.
    pub value: String,
}

/// How a header's or parameter's value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum MatchKind {
    /// The whole value.
    Exact,
    /// An expression in the gateway's own dialect.
    RegularExpression,
}

/// Changes to the headers of requests that reach the new version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeaderModifier {
    /// Headers overwritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<HeaderValue>,
    /// Headers added beside existing ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<HeaderValue>,
    /// Headers removed, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// A header and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderValue {
    /// The header's name.
    pub name: String,
    /// Its value.
    pub value: String,
}
