//! Plans as one page that a reviewer opens: charts, a step at a time, findings. It asks nothing of any network, reads without
//! its script, and may do nothing but run its own (`csp`).
//!
//! maud escapes what comes from a repository; `data` escapes the block that the script reads.

mod chart;
mod csp;
mod data;
mod diff;
mod findings;
mod page;
mod release;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::files::Files;
use crate::model::{Finding, ObjectRef};

use super::summary::{self, Release};
use super::{Links, PlanReport};

/// One state of a plan, with late values by name.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// `baseline`, `step-1`, `finish`.
    pub name: String,
    /// Every object that exists.
    pub objects: BTreeMap<ObjectRef, Value>,
}

/// A plan's part of the page: all that is kept of a plan.
#[derive(Debug, Clone)]
pub struct HtmlRelease {
    /// What is told about it, without diffs.
    release: Release,
    /// Its part of the page.
    article: String,
}

/// What is told beside the releases.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    findings: &'a [Finding],
    /// Lines of findings come from here.
    files: &'a Files,
    /// Where files and commit can be looked at.
    links: &'a Links,
}

/// Returns a plan's part of the page. `states` are the baseline, each step, and the end; the report has its transitions;
/// `engines` tells how engines have to be set, as text.
pub fn html_release(mut report: PlanReport<'_>, states: &[State], engines: String) -> HtmlRelease {
    let transitions = std::mem::take(&mut report.transitions);
    let release = Release { engines, ..summary::release(report) };
    let article = release::article(&release, &transitions, states).into_string();
    HtmlRelease { release, article }
}

/// Returns the page: one file, whole. Lines of findings come from `files`, addresses from `links`.
pub fn html(releases: Vec<HtmlRelease>, findings: &[Finding], files: &Files, links: &Links) -> String {
    let (releases, articles): (Vec<_>, Vec<_>) = releases.into_iter().map(|release| (release.release, release.article)).unzip();
    page::page(&releases, articles, &Told { findings, files, links }).into_string()
}
