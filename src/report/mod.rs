//! Values → text, one file a format. Nothing here decides anything, and nothing is read but the arguments.
//!
//! What comes from a repository is escaped: no control character of a manifest reaches a terminal.

mod cases;
pub mod codes;
mod coexist;
mod effective;
mod failure;
mod findings;
mod fold;
mod github;
mod html;
mod json;
mod links;
mod live;
mod markdown;
pub mod summary;
mod table;
mod text;
mod timeline;
mod traffic;
mod words;

use serde_json::Value;

use crate::diff::ObjectDiff;
use crate::exposure::Exposure;
use crate::model::Plan;

pub use cases::{cases, cases_json};
pub use coexist::coexistence;
pub use failure::failure;
pub use findings::{findings, sum};
pub use fold::{Body, ObjectChange, Repeats, Varying, Way};
pub use github::github;
pub use html::{HtmlRelease, State, html, html_release};
pub use json::{JsonPlan, VERSION, json, json_plan, json_schema};
pub use links::{Links, is_address};
pub use live::{Live, headline, live, live_json, live_list};
pub use markdown::{Comment, LEAST_LIMIT, LIMIT, markdown, name_of, page_of};
pub use table::table;
pub use text::{colored, short, text};
pub use timeline::{timeline, timeline_json};
pub use words::{Colors, count, one_line, visible};

/// A plan, and what is told about it beside its content.
#[derive(Debug, Clone)]
pub struct PlanReport<'a> {
    /// The environment's name; empty for the unnamed one.
    pub environment: &'a str,
    /// The plan's file, relative to the root.
    pub path: String,
    /// The plan.
    pub plan: &'a Plan,
    /// The digest of its content.
    pub digest: String,
    /// The plan as its file holds it.
    pub text: String,
    /// The same as a value; null where nobody asks for it.
    pub document: Value,
    /// What changes on the way from each state to the next; empty where nobody asks for it.
    pub transitions: Vec<Transition>,
    /// Who gets which version as the plan's objects say, where that is known already.
    pub exposure: Option<&'a Exposure>,
}

/// What changes between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The state before: `baseline`, `step-1`.
    pub from: String,
    /// The state after: `step-2`, `target`.
    pub to: String,
    /// How the objects differ, sorted.
    pub diffs: Vec<ObjectDiff>,
}
