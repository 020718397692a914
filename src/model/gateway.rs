//! A kind of traffic object: the script that rewrites it, and what that script can do.

use serde::Deserialize;

use super::{MatchKind, PathKind, Place, ScriptSource};

/// A Rollout's reference to one traffic object.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayRef {
    /// The API version: `networking.istio.io/v1beta1`.
    pub api_version: String,
    /// The kind: `VirtualService`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The dialect of an Ingress: `nginx`. Absent for every other kind.
    pub ingress_class: Option<String>,
    /// Where the reference stands.
    pub place: Place,
}

/// A script with its declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Gateway {
    /// The script's text and where it comes from.
    pub script: ScriptSource,
    /// Definitions are written before routes and taken away after them.
    pub role: Role,
    /// The JSON pointers that the script changes. Empty: computed from what changed.
    pub paths: Vec<String>,
    /// Weights, if the script can express them.
    pub weights: Option<WeightSupport>,
    /// What requests the script can tell apart.
    pub matches: MatchSupport,
    /// Whether the script can change headers, and when.
    pub header_modifier: HeaderModifierSupport,
    /// The condition by which a controller says that it took the object.
    pub accepted: Option<Accepted>,
    /// Set when the script rewrites a second object beside the original, which stays as it is.
    pub clone: Option<Clone>,
    /// Lists that may not grow over a length.
    pub limits: Vec<ListLimit>,
}

/// What a `gateway.yaml` says about the script beside it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayDeclaration {
    /// Definitions are written before routes and taken away after them.
    pub role: Role,
    /// The JSON pointers that the script changes.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Absent: the script cannot express weights.
    #[serde(default)]
    pub weights: Option<WeightSupport>,
    /// Absent: the script cannot tell requests apart.
    #[serde(default)]
    pub matches: MatchSupport,
    /// Absent: the script cannot change headers.
    #[serde(default)]
    pub header_modifier: HeaderModifierSupport,
    /// The condition by which a controller says that it took the object.
    #[serde(default)]
    pub accepted: Option<Accepted>,
    /// How the second object is made, for scripts that rewrite one.
    #[serde(default)]
    pub clone: Option<Clone>,
    /// Lists that may not grow over a length.
    #[serde(default)]
    pub limits: Vec<ListLimit>,
}

impl Gateway {
    /// A script with what its `gateway.yaml` says.
    pub fn declared(script: ScriptSource, declaration: GatewayDeclaration) -> Self {
        let GatewayDeclaration { role, paths, weights, matches, header_modifier, accepted, clone, limits } = declaration;
        Self { script, role, paths, weights, matches, header_modifier, accepted, clone, limits }
    }

    /// A script about which nothing is said: a route, taken to do everything.
    pub fn undeclared(script: ScriptSource) -> Self {
        Self {
            script,
            role: Role::Route,
            paths: Vec::new(),
            weights: Some(WeightSupport { lists: Vec::new(), sum: None }),
            matches: MatchSupport {
                headers: vec![MatchKind::Exact, MatchKind::RegularExpression],
                query_params: vec![MatchKind::Exact, MatchKind::RegularExpression],
                path: vec![PathKind::Exact, PathKind::PathPrefix, PathKind::RegularExpression],
                cookie_header: None,
                cookies: None,
                max_matches: None,
                max_conditions: None,
                with_weight: true,
            },
            header_modifier: HeaderModifierSupport::Always,
            accepted: None,
            clone: None,
            limits: Vec::new(),
        }
    }
}

/// What a traffic object is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Names versions that routes point to, such as DestinationRule subsets.
    Definition,
    /// Sends requests to versions.
    Route,
}

/// How a script expresses weights.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WeightSupport {
    /// Lists whose `weight` members must sum up to the same number, as pointers with `*` for every list element:
    /// `/spec/http/*/route`. The check is on lists that the script changed.
    #[serde(default)]
    pub lists: Vec<String>,
    /// What the weights of one list sum up to; absent when they are relative.
    pub sum: Option<u32>,
}

/// What requests a script can tell apart; an empty list says none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MatchSupport {
    /// Comparisons of headers.
    pub headers: Vec<MatchKind>,
    /// Comparisons of query parameters.
    pub query_params: Vec<MatchKind>,
    /// Comparisons of paths.
    pub path: Vec<PathKind>,
    /// The header name that stands for a cookie, if the dialect has one: `canary-by-cookie`.
    pub cookie_header: Option<String>,
    /// Comparisons of that cookie; absent: those of headers.
    pub cookies: Option<Vec<MatchKind>>,
    /// How many matches a step may have; absent: any number.
    pub max_matches: Option<usize>,
    /// How many headers, parameters and paths one match may have together; absent: any number.
    pub max_conditions: Option<usize>,
    /// Whether a step may have both matches and a weight. When not, the matches alone are rendered, with a finding.
    pub with_weight: bool,
}

/// When a script can change request headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderModifierSupport {
    /// Never.
    #[default]
    Never,
    /// In steps with matches.
    Matches,
    /// In every step with traffic.
    Always,
}

/// A status condition to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepted {
    /// The condition's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The wanted status: `True`.
    pub status: String,
}

/// How the second object is made from the original.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clone {
    /// Appended to the original's name: `-canary`.
    pub suffix: String,
    /// Spec fields taken over: `ingressClassName`, `tls`, `rules`.
    pub fields: Vec<String>,
    /// Where the clone points to the stable Service, as pointers with `*`; elements of the lists on the way that do not are dropped,
    /// and the names are replaced by the canary Service's: `/spec/rules/*/http/paths/*/backend/service/name`.
    pub service_names: Vec<String>,
    /// Annotations not taken over: those that an applying tool keeps for itself.
    #[serde(default)]
    pub dropped_annotations: Vec<String>,
}

/// A list that may not grow over a length.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListLimit {
    /// The list, as a pointer with `*` for every list element.
    pub list: String,
    /// The most elements it may have.
    pub max: usize,
}
