//! Plan ⇄ YAML text, and the digest that ties them.
//!
//! Reading trusts nothing: the digest must be that of the content, every key must lead to a version, every field be known.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{API_VERSION, DIGEST_ANNOTATION, KIND, validate};
use crate::model::{Plan, PlanSpec, Position, pointer::escape};
use crate::{digest as digests, yaml};

/// The longest text that is read.
const LONGEST: usize = 4 * 1024 * 1024;

/// Why a text is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Larger than any plan that a cluster would take.
    #[error("a plan has at most 4 MiB, not {0} bytes")]
    TooLarge(usize),
    /// Bytes that are no text.
    #[error("line {line}: a plan is UTF-8 text")]
    NotText {
        /// The line with the first wrong byte, counted from 1.
        line: usize,
    },
    /// Not YAML.
    #[error("{}: {message}", at(*position))]
    Yaml {
        /// Where it stops being YAML.
        position: Position,
        /// What the parser says.
        message: String,
    },
    /// No object, or more than one.
    #[error("a file holds one plan, this one has {0} objects")]
    NotOne(usize),
    /// An object of another sort, or a version of the format that is not ours.
    #[error("a plan is `{KIND}` of `{API_VERSION}`, {}", other(kind, api_version))]
    NotAPlan {
        /// The kind that was found; empty when there is none.
        kind: String,
        /// The version that was found; empty when there is none.
        api_version: String,
    },
    /// A field is unknown, missing, or not what it should be.
    #[error("{}: `{field}`: {message}", at(*position))]
    Field {
        /// Where it stands in the text.
        position: Position,
        /// Which: `spec.steps[1].gate`.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The content is not what was reviewed.
    #[error(
        "the plan's content has the digest `{actual}`, its annotation `{DIGEST_ANNOTATION}` says `{expected}`: it was edited, or rewritten on its way, as the `images` of a kustomization do"
    )]
    Digest {
        /// What the annotation says; empty when there is none.
        expected: String,
        /// What the content has.
        actual: String,
    },
    /// Well-formed, but its parts do not fit each other.
    #[error("the plan contradicts itself: {}", .0.join("; "))]
    Contradictions(Vec<String>),
}

/// Returns the digest of a plan's content.
pub fn digest(spec: &PlanSpec) -> String {
    digests::of_json(spec)
}

/// Returns the digest of a plan's content as it is stored, whichever version has written it.
pub fn digest_of(spec: &Value) -> String {
    digests::of_json(spec)
}

/// A plan's content as what is compared and stored: canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Its digest.
    pub digest: String,
    /// How many bytes it has.
    pub length: usize,
}

/// Returns the digest and the length of a plan's content.
pub fn sealed(spec: &PlanSpec) -> Sealed {
    let canonical = digests::canonical(spec);
    Sealed { digest: digests::of_bytes(&canonical), length: canonical.len() }
}

/// Returns the plan as YAML, with its digest.
pub fn to_text(plan: &Plan) -> String {
    yaml::write(&written(plan))
}

/// Returns the object that the text holds.
pub fn document(plan: &Plan) -> Value {
    serde_json::to_value(written(plan)).unwrap_or_default()
}

fn written(plan: &Plan) -> Written<'_> {
    Written {
        api_version: API_VERSION,
        kind: KIND,
        metadata: WrittenMetadata {
            name: &plan.name,
            namespace: &plan.namespace,
            annotations: Annotations { digest: digest(&plan.spec), substitute: "disabled", sync_options: "ServerSideApply=true" },
        },
        spec: &plan.spec,
    }
}

/// Returns the plan that a text holds.
pub fn from_text(bytes: &[u8]) -> Result<Plan, PlanError> {
    if bytes.len() > LONGEST {
        return Err(PlanError::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let readable = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        PlanError::NotText { line: readable.matches('\n').count() + 1 }
    })?;
    from_document(&only_document(text)?)
}

/// Returns the plan that an object of the API server holds.
pub fn from_value(value: Value) -> Result<Plan, PlanError> {
    from_document(&yaml::Document { value, places: crate::model::Places::default(), remarks: Vec::new() })
}

/// A plan as it is written. The order of the fields is the order of the text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: WrittenMetadata<'a>,
    spec: &'a PlanSpec,
}

#[derive(Serialize)]
struct WrittenMetadata<'a> {
    name: &'a str,
    namespace: &'a str,
    annotations: Annotations,
}

/// The digest, and what keeps engines from rewriting what was reviewed, or from failing where it is large.
#[derive(Serialize)]
struct Annotations {
    #[serde(rename = "rollout.dev/digest")]
    digest: String,
    #[serde(rename = "kustomize.toolkit.fluxcd.io/substitute")]
    substitute: &'static str,
    #[serde(rename = "argocd.argoproj.io/sync-options")]
    sync_options: &'static str,
}

/// What is read beside `spec`. Engines and API servers may add metadata; a status is not ours to judge.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Read {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    metadata: ReadMetadata,
    spec: PlanSpec,
    #[serde(rename = "status", default)]
    _status: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct ReadMetadata {
    name: Name,
    namespace: Name,
    #[serde(default, rename = "annotations")]
    _annotations: std::collections::BTreeMap<String, String>,
}

/// A name as clusters allow it; it may become part of a path.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if validate::is_name(&text) {
            Ok(Self(text))
        } else {
            Err(format!("a name has small letters, digits, `-` and `.`, it is not `{}`", text.escape_debug()))
        }
    }
}

fn only_document(text: &str) -> Result<yaml::Document, PlanError> {
    let unreadable = |error: yaml::ReadError| PlanError::Yaml { position: error.position, message: error.message };
    let mut documents = Vec::new();
    for raw in yaml::split(text).map_err(unreadable)? {
        documents.extend(yaml::read(&raw).map_err(unreadable)?);
    }
    let count = documents.len();
    documents.pop().filter(|_| count == 1).ok_or(PlanError::NotOne(count))
}

fn from_document(document: &yaml::Document) -> Result<Plan, PlanError> {
    check_kind(&document.value)?;
    let read: Read = serde_path_to_error::deserialize(&document.value).map_err(|error| {
        let position = document.places.at(&pointer(error.path()));
        PlanError::Field { position, field: error.path().to_string(), message: error.inner().to_string() }
    })?;
    check_digest(&document.value)?;
    let plan = Plan { name: read.metadata.name.0, namespace: read.metadata.namespace.0, spec: read.spec };
    let contradictions = validate::validate(&plan);
    if contradictions.is_empty() { Ok(plan) } else { Err(PlanError::Contradictions(contradictions)) }
}

/// Whether it is a plan, of the version of the format that is ours.
pub(super) fn check_kind(document: &Value) -> Result<(), PlanError> {
    let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == API_VERSION && kind == KIND { Ok(()) } else { Err(PlanError::NotAPlan { kind, api_version }) }
}

/// Whether the content is what the annotation says. It is the stored content that has the digest, not what this version would
/// write of it.
pub(super) fn check_digest(document: &Value) -> Result<(), PlanError> {
    let actual = digest_of(document.get("spec").unwrap_or(&Value::Null));
    let annotations = document.pointer("/metadata/annotations");
    let expected = annotations.and_then(|annotations| annotations.get(DIGEST_ANNOTATION)).and_then(Value::as_str).unwrap_or_default();
    if expected == actual { Ok(()) } else { Err(PlanError::Digest { expected: expected.to_owned(), actual }) }
}

/// What stands there instead of a plan.
fn other(kind: &str, api_version: &str) -> String {
    match (kind, api_version) {
        ("", "") => "and this is no object: it has neither `kind` nor `apiVersion`".to_owned(),
        ("", _) => "and this has no `kind`".to_owned(),
        (_, "") => format!("not `{kind}` without an `apiVersion`"),
        (_, _) => format!("not `{kind}` of `{api_version}`"),
    }
}

/// Returns the JSON pointer of a path.
pub(super) fn pointer(path: &serde_path_to_error::Path) -> String {
    use fmt::Write as _;
    use serde_path_to_error::Segment;

    let mut pointer = String::new();
    for segment in path {
        let _ = match segment {
            Segment::Seq { index } => write!(pointer, "/{index}"),
            Segment::Map { key } => write!(pointer, "/{}", escape(key)),
            Segment::Enum { variant } => write!(pointer, "/{variant}"),
            Segment::Unknown => Ok(()),
        };
    }
    pointer
}

fn at(position: Position) -> String {
    format!("line {}, column {}", position.line, position.column)
}

#[cfg(test)]
mod tests {
    use super::{PlanError, digest, from_text, to_text};
    use crate::plan::fixture;

    const TEXT: &str = include_str!("../../tests/fixtures/plan.yaml");

    /// The error of the fixture with a change, whose digest is made right so that later checks are reached.
    #[track_caller]
    fn case(from: &str, to: &str, expected: &str) {
        assert!(TEXT.contains(from), "{from}");
        let changed = TEXT.replacen(from, to, 1);
        let mut error = from_text(changed.as_bytes()).expect_err("refused");
        if let PlanError::Digest { expected, actual } = &error {
            error = from_text(changed.replace(expected, actual).as_bytes()).expect_err("refused");
        }
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn a_plan_comes_back_from_its_text() {
        let plan = fixture();
        let text = to_text(&plan);
        assert_eq!(from_text(text.as_bytes()).expect("a plan"), plan);
        assert_eq!(to_text(&from_text(text.as_bytes()).expect("a plan")), text);
    }

    #[test]
    fn a_plan_comes_back_from_what_the_api_server_gives() {
        let mut object = super::document(&fixture());
        object["metadata"]["managedFields"] = serde_json::json!([{"manager": "kubectl"}]);
        object["metadata"]["resourceVersion"] = "7".into();
        object["status"] = serde_json::json!({"phase": "Gated"});
        assert_eq!(super::from_value(object).expect("a plan"), fixture());
    }

    #[test]
    fn changed_content_is_refused_with_both_digests() {
        let error = from_text(TEXT.replace("shop:1.1.0", "shop:6.6.6").as_bytes()).expect_err("tampered");
        let PlanError::Digest { expected, actual } = error else { unreachable!("another error: {error}") };
        assert_eq!(expected, digest(&fixture().spec));
        assert_ne!(expected, actual);
        let error = from_text(TEXT.replace("rollout.dev/digest", "rollout.dev/other").as_bytes()).expect_err("no digest");
        assert!(matches!(error, PlanError::Digest { expected, .. } if expected.is_empty()));
    }

    #[test]
    fn engines_may_add_metadata_and_the_agent_a_status() {
        let text = TEXT.replacen("metadata:\n", "metadata:\n  uid: abc\n  labels: {team: shop}\n", 1) + "status: {phase: Running}\n";
        assert_eq!(from_text(text.as_bytes()).expect("a plan"), fixture());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        case("rollout.dev/v1alpha1", "rollout.dev/v9", "not `RolloutPlan` of `rollout.dev/v9`");
        case("kind: RolloutPlan", "kind: Rollout", "not `Rollout` of");
        case("kind: RolloutPlan", "stile: RolloutPlan", "`rollout.dev/v1alpha1`, and this has no `kind`");
        case("apiVersion: rollout.dev/v1alpha1", "version: 1", "not `RolloutPlan` without an `apiVersion`");
        case("style: Canary", "style: Purple", "`spec.style`: unknown variant `Purple`");
        case("    replicas: 50%", "    replicas: 0", "`spec.steps[1].replicas`: replicas are a number of at least 1");
        case("style: Canary", "stile: Canary", "unknown field `stile`");
        case("  - Service/shop@1", "  - Service/shop@9", "`spec.baseline`: `Service/shop@9` is not among `spec.objects`");
        case("  - Service/shop@1", "  - Service/shop", "`Kind/name@number`, not `Service/shop`");
        case("  - Service/shop@1", "  - Deployment/shop@2", "`spec.baseline`: `Deployment/shop` is named twice");
        case(
            "    - Deployment/shop-canary\n    - Serv",
            "    - Deployment/none\n    - Serv",
            "`spec.abort[1].remove`: `Deployment/none` is not",
        );
        case("    - Deployment/shop-canary\n    - Serv", "    - Deployment/shop\n    - Serv", "`Deployment/shop` is the user's own");
        case(
            "      apiVersion: networking.istio.io/v1\n",
            "      apiVersion: \"*/v1\"\n",
            "a plan may not change `VirtualService` of `*/v1`",
        );
        case("    - /spec/http\n", "    - /metadata/finalizers\n", "a plan may not change `/metadata/finalizers`");
        case("name: step-2", "name: step-3", "`spec.steps[1].name`: `step-3` should be `step-2`");
        case("  namespace: prod", "  namespace: ../prod", "`metadata.namespace`: a name has small letters");
        case("        namespace: prod", "        namespace: kube-system", "the object is in the namespace \"kube-system\"");
        case("/spec/selector/pod-template-hash", "/spec/selectors/hash", "leads to no field of a map");
        case("/spec/selector/pod-template-hash", "/spec/selector/app", "has a value already");
    }

    #[test]
    fn texts_that_are_no_plan_end_in_an_error() {
        for text in ["", "- 1", "text", "a: &a [*a]", "{", "a: b\n---\nc: d\n"] {
            assert!(from_text(text.as_bytes()).is_err(), "{text}");
        }
        let error = from_text(b"a: b").expect_err("refused").to_string();
        assert!(error.ends_with("and this is no object: it has neither `kind` nor `apiVersion`"), "{error}");
        assert_eq!(from_text(b"a: 1\nb: \xff"), Err(PlanError::NotText { line: 2 }));
        assert_eq!(from_text(&vec![b' '; 5 * 1024 * 1024]), Err(PlanError::TooLarge(5 * 1024 * 1024)));
    }
}
