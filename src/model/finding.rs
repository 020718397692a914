//! What a user should know or change before the merge: where, what, and the way out.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Place, Position};

/// A stable name for a sort of finding, in small letters and dashes: `step-replicas-missing`.
pub type Code = &'static str;

/// One thing to know or to change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Finding {
    /// Where it stands; absent when it concerns no file.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// How bad it is.
    pub severity: Severity,
    /// What sort of finding.
    pub code: Code,
    /// The object concerned: `Rollout prod/shop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What is wrong, with what was written: lowercase, no period.
    pub message: String,
    /// The way out, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// How bad a finding is. Only errors make the answer no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No plan, or a plan that does harm.
    Error,
    /// A plan that may not do what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Finding {
    /// An error: the release cannot be carried out as written.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning: the release may not do what was meant.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// A note: worth knowing.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message.into())
    }

    /// The same finding, at a position of a file.
    #[must_use]
    pub fn at(mut self, path: &str, position: Position) -> Self {
        self.place = Some(Place { path: path.into(), position });
        self
    }

    /// The same finding, about an object.
    #[must_use]
    pub fn about(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }

    /// The same finding, with the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn new(severity: Severity, code: Code, message: String) -> Self {
        Self { place: None, severity, code, object: None, message, help: None }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}
