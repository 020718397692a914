//! What is printed, by format: made of each plan at once, so that a thousand plans are never kept.

use serde_json::Value;

use super::{Args, Format};
use crate::cli::commit::{self, Told};
use crate::cli::plans::Planned;
use crate::cli::repository::Repository;
use crate::cli::{Failure, World};
use crate::coexist::Coexistence;
use crate::files::Files;
use crate::model::{Catalog, Finding, ObjectKey};
use crate::plan;
use crate::report::summary::{self, Release};
use crate::report::{self, Colors, HtmlRelease, JsonPlan, PlanReport};
use crate::tree::{self, TreeError};

/// What is left of a plan when its report is made: of a thousand plans, no more than what is printed and written.
pub(super) struct Reported<'a> {
    pub(super) catalog: &'a Catalog,
    /// The text to print; empty for JSON and HTML.
    text: String,
    /// The plan's part of a JSON report; none otherwise.
    document: Option<JsonPlan>,
    /// The plan's part of a page; none otherwise.
    html: Option<HtmlRelease>,
    /// What pages about all plans need; none otherwise.
    release: Option<Release>,
    /// The plan's files, where they are written or compared.
    pub(super) files: Result<Files, TreeError>,
    /// What a commit tells about it.
    pub(super) told: Told,
    /// The plan's namespace and name.
    pub(super) namespace: String,
    pub(super) name: String,
    /// What it changes that may be another plan's too.
    pub(super) changed: Vec<ObjectKey>,
    /// How the plan gets along with the engines of the repository.
    pub(super) findings: Vec<Finding>,
}

impl Args {
    /// Computes only what will be shown and written.
    pub(super) fn report<'a>(&self, catalog: &'a Catalog, planned: &Planned, coexistence: &Coexistence, colors: Colors) -> Reported<'a> {
        let (plan, digest) = (&planned.plan, planned.sealed.digest.clone());
        let folder = tree::directory(&catalog.output, &catalog.environment, plan).unwrap_or_default();
        let mut report = PlanReport {
            environment: &catalog.environment,
            path: format!("{folder}/plan.yaml"),
            plan,
            digest: digest.clone(),
            text: String::new(),
            document: Value::Null,
            transitions: Vec::new(),
            exposure: Some(&planned.exposure),
        };
        let (mut text, mut document, mut html, mut release) = (String::new(), None, None, None);
        let transitions = match self.format {
            Format::Text if !self.is_settling() => tree::forward(plan),
            Format::Yaml | Format::Github if !self.is_settling() => Vec::new(),
            Format::Text | Format::Html | Format::Json | Format::Markdown | Format::Yaml | Format::Github => tree::transitions(plan),
        };
        let files = if self.is_settling() { tree::files("", &catalog.environment, plan, &transitions) } else { Ok(Files::default()) };
        match self.format {
            Format::Text => {
                report.transitions = transitions;
                text = report::text(report, colors);
                text.push_str(&report::coexistence(coexistence, colors));
            }
            Format::Html => {
                report.transitions = transitions;
                let engines = report::coexistence(coexistence, Colors::Never);
                html = Some(report::html_release(report, &tree::states(plan), engines));
            }
            Format::Json => {
                let told = summary::release(report);
                document = Some(report::json_plan(&told, transitions, plan::document(plan), coexistence));
                release = Some(told);
            }
            Format::Yaml => text = plan::to_text(plan),
            Format::Markdown => {
                report.transitions = transitions;
                let engines = report::coexistence(coexistence, Colors::Never);
                release = Some(Release { engines, ..summary::release(report) });
            }
            Format::Github => {}
        }
        let told = Told {
            name: format!("{}{}/{}", qualifier(&catalog.environment), plan.namespace, plan.name),
            sentence: commit::sentence(plan),
            digest,
        };
        // A thousand of them wait for the last to be made.
        text.shrink_to_fit();
        let changed = super::shared::changed(plan);
        let (namespace, name, findings) = (plan.namespace.clone(), plan.name.clone(), coexistence.findings.clone());
        Reported { catalog, text, document, html, release, files, told, namespace, name, changed, findings }
    }

    /// Prints all plans in their order.
    pub(super) fn print(
        &self,
        reports: Vec<Reported<'_>>,
        findings: &[Finding],
        repository: &Repository,
        world: &mut World<'_>,
    ) -> Result<(), Failure> {
        let separator = match self.format {
            Format::Text => "\n",
            Format::Yaml => "---\n",
            Format::Html => {
                let releases = reports.into_iter().filter_map(|report| report.html).collect();
                let links = self.page.links(&repository.folder, &world.environment);
                world.stdout.write_all(report::html(releases, findings, &repository.files, &links).as_bytes())?;
                return Ok(());
            }
            Format::Json => {
                let (plans, releases): (Vec<_>, Vec<_>) = reports.into_iter().map(|report| (report.document, report.release)).unzip();
                let (plans, releases) = (plans.into_iter().flatten().collect(), releases.into_iter().flatten().collect::<Vec<_>>());
                world.stdout.write_all(report::json(plans, &releases, findings).as_bytes())?;
                return Ok(());
            }
            Format::Markdown => {
                let releases: Vec<Release> = reports.into_iter().filter_map(|report| report.release).collect();
                let links = self.page.links(&repository.folder, &world.environment);
                world.stdout.write_all(report::markdown(&releases, findings, self.page.comment(&links)).as_bytes())?;
                return Ok(());
            }
            Format::Github => {
                let links = self.page.links(&repository.folder, &world.environment);
                world.stdout.write_all(report::github(findings, &links).as_bytes())?;
                return Ok(());
            }
        };
        for (index, report) in reports.into_iter().enumerate() {
            if index > 0 {
                world.stdout.write_all(separator.as_bytes())?;
            }
            world.stdout.write_all(report.text.as_bytes())?;
        }
        Ok(())
    }
}

/// What stands before a plan's name: nothing in the unnamed environment.
fn qualifier(environment: &str) -> String {
    if environment.is_empty() { String::new() } else { format!("{environment}:") }
}
