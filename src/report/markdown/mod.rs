//! A comment for a pull request: what is released, one table a Rollout, findings, and collapsed diffs.
//!
//! What does not fit is left out in whole parts, and the comment says what and where all of it is. What comes from the
//! repository is code (`escape`), so that it can be no markup, no mention and no link.

mod budget;
mod escape;
mod tables;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use self::budget::{Kind, Page, Piece};
use self::escape::{cell, code, fenced, html, prose};
use self::tables::{name, some};
use super::count;
use super::fold::{Body, ObjectChange, Repeats, Way};
use super::links::Links;
use super::summary::{self, Impact, Release, Row};
use crate::diff;
use crate::digest;
use crate::model::{Finding, Place, Severity};

/// The most bytes of a comment: GitHub refuses 65,536 characters.
pub const LIMIT: usize = 65_000;

/// The least limit that leaves room for a headline and for saying what is missing.
pub const LEAST_LIMIT: usize = 8_192;

/// Kept free for saying what is left out.
const NOTICE: usize = 2_560;

/// So many diffs that were left out are named.
const MOST_NAMED: usize = 5;

/// What a comment is made with beside its content.
#[derive(Debug, Clone, Copy)]
pub struct Comment<'a> {
    /// Tells the comments of one pull request apart; the marker holds it. Letters, digits and `-_./:`.
    pub key: &'a str,
    /// Where files can be looked at.
    pub links: &'a Links,
    /// The most bytes; less than `LEAST_LIMIT` counts as that.
    pub limit: usize,
}

/// Returns the comment. Its first line is a marker by which it is found again.
pub fn markdown(releases: &[Release], findings: &[Finding], comment: Comment<'_>) -> String {
    let impact = summary::impact(releases, findings);
    let head = head(releases, &impact, comment);
    let page = page(releases, findings, comment);
    let all: BTreeSet<usize> = (0..page.pieces.len()).collect();
    let limit = comment.limit.max(LEAST_LIMIT);
    let foot = foot(comment.links, None);
    let whole = page.text(&all);
    if !page.pieces.iter().any(Piece::is_dropped) && head.len() + whole.len() + foot.len() <= limit {
        return head + &whole + &foot;
    }
    let taken = page.fitting(limit.saturating_sub(head.len() + NOTICE));
    let notice = left_out(&page, &taken);
    head + &page.text(&taken) + &self::foot(comment.links, Some(&notice))
}

/// Returns the page of a plan, without title: headline, table with a link to the file of each row's diff, scripts.
pub fn page_of(release: &Release, file: &dyn Fn(&Row) -> String) -> String {
    let mut text = tables::what(release);
    let _ = write!(text, "\n{}\n{}", digest_line(release), tables::steps(release, Some(file)));
    let scripts = tables::scripts(release);
    if !scripts.is_empty() {
        let _ = write!(text, "\n{scripts}");
    }
    text
}

/// Returns a name of the repository as Markdown that shows exactly it.
pub fn name_of(name: &str) -> String {
    code(name)
}

/// The marker, the title, and the impact in a sentence.
fn head(releases: &[Release], impact: &Impact, comment: Comment<'_>) -> String {
    let mut text = marker(releases, impact, comment);
    let said = impact.said();
    let mut letters = said.chars();
    let said: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let _ = write!(text, "## Rollout\n\n**{said}.**");
    let findings = [(impact.errors, "error"), (impact.warnings, "warning"), (impact.notes, "note")];
    let findings: Vec<String> = findings.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun)).collect();
    if !findings.is_empty() {
        let _ = write!(text, " {}.", findings.join(", "));
    }
    text.push_str("\n\n");
    text
}

/// A line that is not shown: `<!-- rollout:v1 {"key":"rollout", …} -->`.
fn marker(releases: &[Release], impact: &Impact, comment: Comment<'_>) -> String {
    let digest = match releases {
        [] => String::new(),
        [release] => release.digest.clone(),
        releases => {
            let all: Vec<String> = releases.iter().map(|release| format!("{} {}", release.path, release.digest)).collect();
            digest::of_bytes(all.join("\n").as_bytes())
        }
    };
    let is_harmless = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | ':');
    let harmless = |text: &str| text.chars().filter(is_harmless).take(100).collect::<String>();
    format!(
        "<!-- rollout:v1 {{\"key\":\"{}\",\"head\":\"{}\",\"digest\":\"{}\",\"releases\":{},\"previews\":{}}} -->\n",
        harmless(comment.key),
        harmless(comment.links.revision.as_deref().unwrap_or_default()),
        harmless(&digest),
        impact.releases,
        impact.previews,
    )
}

/// Everything between head and foot, as parts.
fn page(releases: &[Release], findings: &[Finding], comment: Comment<'_>) -> Page {
    let mut page = Page::default();
    if releases.len() > 1 {
        let group = page.group("| rollout | release | images |\n|---|---|---|\n".to_owned(), "\n");
        for release in releases {
            add(&mut page, comment, Piece { group: Some(group), ..piece(Kind::Row, 1, overview(release), String::new()) });
        }
    }
    let serious = findings.iter().filter(|finding| finding.severity != Severity::Note);
    add_findings(&mut page, comment, "### Findings\n\n", serious, "\n");
    for release in releases {
        add_release(&mut page, release, comment);
    }
    let notes = findings.iter().filter(|finding| finding.severity == Severity::Note);
    let title = format!("<details>\n<summary>{}</summary>\n\n", count(notes.clone().count(), "note"));
    add_findings(&mut page, comment, &title, notes, "\n</details>\n\n");
    page
}

fn piece(kind: Kind, rank: u8, text: String, name: String) -> Piece {
    Piece { kind, rank, text, name, group: None, needs: None }
}

/// Adds a part; of one that can never fit, only the name.
fn add(page: &mut Page, comment: Comment<'_>, piece: Piece) -> usize {
    let is_hopeless = piece.text.len() > comment.limit.max(LEAST_LIMIT);
    page.pieces.push(Piece { text: if is_hopeless { String::new() } else { piece.text }, ..piece });
    page.pieces.len() - 1
}

/// A release in a row of the list of all.
fn overview(release: &Release) -> String {
    let images: Vec<String> = release.images.iter().filter_map(|change| change.to.as_ref()).map(|image| cell(image)).collect();
    let what = if release.is_preview {
        "preview, no release".to_owned()
    } else {
        format!("{} in {}", release.style_said(), count(release.steps(), "step"))
    };
    format!("| {} | {what} | {} |\n", cell(&release.title()), some(&images))
}

fn add_findings<'a>(page: &mut Page, comment: Comment<'_>, open: &str, findings: impl Iterator<Item = &'a Finding>, close: &str) {
    let mut findings: Vec<&Finding> = findings.collect();
    if findings.is_empty() {
        return;
    }
    findings.sort_by_key(|finding| finding.severity);
    let group = page.group(open.to_owned(), close);
    for finding in findings {
        let rank = match finding.severity {
            Severity::Error => 0,
            Severity::Warning => 2,
            Severity::Note => 4,
        };
        add(page, comment, Piece { group: Some(group), ..piece(Kind::Finding, rank, one_finding(finding, comment.links), String::new()) });
    }
}

/// `- **error** at [`shop.yaml:3:11`](…): message (`code`)`, and the way out.
fn one_finding(finding: &Finding, links: &Links) -> String {
    let mut text = format!("- **{}**", finding.severity);
    if let Some(place) = &finding.place {
        let _ = write!(text, " at {}", linked(place, links));
    }
    let _ = write!(text, ": {}", prose(&finding.message));
    if let Some(object) = finding.object.as_deref().filter(|object| !finding.message.contains(*object)) {
        let _ = write!(text, ", {}", code(object));
    }
    let _ = write!(text, " ({})", code(finding.code));
    if let Some(help) = &finding.help {
        let _ = write!(text, "<br>help: {}", prose(help));
    }
    text.push('\n');
    text
}

fn linked(place: &Place, links: &Links) -> String {
    let shown = code(&format!("{}:{}:{}", links.path(&place.path), place.position.line, place.position.column));
    links.line(place).map_or_else(|| shown.clone(), |address| format!("[{shown}]({address})"))
}

fn digest_line(release: &Release) -> String {
    format!("Plan {}, digest {}\n", code(&release.path), code(&release.digest))
}

fn add_release(page: &mut Page, release: &Release, comment: Comment<'_>) {
    let mut text = format!("### {}\n\n{}\n{}\n", code(&release.title()), tables::what(release), tables::steps(release, None));
    let scripts = tables::scripts(release);
    if !scripts.is_empty() {
        let _ = writeln!(text, "{scripts}");
    }
    let _ = writeln!(text, "{}", digest_line(release));
    let table = add(page, comment, piece(Kind::Table, 3, text, release.title()));
    for (index, way) in release.ways.iter().enumerate() {
        let (open, close) = around(release, way);
        let group = page.group(open, close);
        for change in &way.objects {
            let name = format!("{} in {}", diff::label(&change.object), way.said());
            // The way back says little that the ways forward do not say.
            let rank = if way.to == "baseline" { 6 } else { 5 };
            let text = one_change(release, index, change);
            add(page, comment, Piece { group: Some(group), needs: Some(table), ..piece(Kind::Diff, rank, text, name) });
        }
    }
    if !release.engines.is_empty() {
        let block = fenced("", release.engines.trim_start());
        let text = format!("<details>\n<summary>settings of the engine that syncs this</summary>\n\n{block}\n</details>\n\n");
        let name = format!("engine settings of {}", release.title());
        add(page, comment, Piece { needs: Some(table), ..piece(Kind::Diff, 5, text, name) });
    }
}

/// A way is opened by a click, unless all that it has to say is where its diffs are.
fn around(release: &Release, way: &Way) -> (String, &'static str) {
    let said = way_html(way);
    let shown = |index: &usize| release.ways.get(*index).map(way_html).unwrap_or_default();
    let repeated: BTreeSet<usize> = way
        .objects
        .iter()
        .filter_map(|change| match change.body {
            Body::Repeats(index) => Some(index),
            Body::Shown { .. } => None,
        })
        .collect();
    let is_repeated = way.objects.iter().all(|change| matches!(change.body, Body::Repeats(_)));
    let hint = match (is_repeated, repeated.first()) {
        (true, Some(index)) if repeated.len() == 1 => format!(", as in {}", shown(index)),
        (true | false, _) => String::new(),
    };
    let end = match way.to.as_str() {
        "target" => "finish, ",
        "baseline" => "abort, ",
        _ => "",
    };
    let objects = count(way.objects.len(), "object");
    (format!("<details>\n<summary>{end}{said}: {objects}{hint}</summary>\n\n"), "</details>\n\n")
}

/// The change of one object: its lines, or where they are.
fn one_change(release: &Release, way: usize, change: &ObjectChange) -> String {
    let object = code(&diff::label(&change.object));
    match &change.body {
        Body::Shown { hunks, repeats } => {
            let mut text = format!("{object}\n\n");
            let lines = diff::one(&change.object, change.change, hunks);
            text.push_str(&fenced("diff", &lines));
            text.push('\n');
            if let Some(repeats) = repeats {
                text.push_str(&varying(release, repeats));
            }
            text
        }
        Body::Repeats(first) => {
            let shown = release.ways.get(*first).map(way_said).unwrap_or_default();
            match values(release, *first, way, change) {
                None => format!("{object}: exactly as in {shown}\n\n"),
                Some(values) => format!("{object}: as in {shown}, with {values}\n\n"),
            }
        }
    }
}

/// `weight` `80 → 60`, `weight` `20 → 40`: the values of a way where it differs from the one that is shown.
fn values(release: &Release, first: usize, way: usize, change: &ObjectChange) -> Option<String> {
    let objects = &release.ways.get(first)?.objects;
    let shown = objects.iter().find(|shown| shown.object == change.object && shown.change == change.change)?;
    let Body::Shown { repeats: Some(repeats), .. } = &shown.body else { return None };
    let index = repeats.ways.iter().position(|other| *other == way)?;
    let values: Vec<String> =
        repeats.varying.iter().map(|varying| format!("{} {}", code(&varying.field), code(&varying.said(index)))).collect();
    (!values.is_empty()).then(|| some(&values))
}

/// The ways that change an object alike, with what varies.
fn varying(release: &Release, repeats: &Repeats) -> String {
    let said = |index: &usize| release.ways.get(*index).map(way_said).unwrap_or_default();
    if repeats.varying.is_empty() {
        let ways: Vec<String> = repeats.ways.iter().skip(1).map(said).collect();
        return format!("Exactly so in {}.\n\n", some(&ways));
    }
    let is_twice = |field: &str| repeats.varying.iter().filter(|varying| varying.field == field).count() > 1;
    let mut text = String::from("The same in other steps, but for:\n\n|");
    for varying in &repeats.varying {
        let line = if is_twice(&varying.field) { format!(" (line {})", varying.line) } else { String::new() };
        let _ = write!(text, " | {}{line}", cell(&varying.field));
    }
    let _ = write!(text, " |\n|---|{}\n", "---|".repeat(repeats.varying.len()));
    for (index, way) in repeats.ways.iter().enumerate() {
        let _ = write!(text, "| {}", said(way));
        for varying in &repeats.varying {
            let _ = write!(text, " | {}", cell(&varying.said(index)));
        }
        text.push_str(" |\n");
    }
    text.push('\n');
    text
}

/// `step-1 → step-2`.
fn way_said(way: &Way) -> String {
    format!("{} → {}", name(&way.from), name(&way.to))
}

fn way_html(way: &Way) -> String {
    let shown = |text: &str| if name(text) == text { text.to_owned() } else { format!("<code>{}</code>", html(text)) };
    format!("{} → {}", shown(&way.from), shown(&way.to))
}

/// What was left out, in words.
fn left_out(page: &Page, taken: &BTreeSet<usize>) -> String {
    let missing: Vec<&Piece> = page.pieces.iter().enumerate().filter(|(index, _)| !taken.contains(index)).map(|(_, piece)| piece).collect();
    let mut parts = Vec::new();
    for (kind, noun) in [(Kind::Row, "row"), (Kind::Finding, "finding"), (Kind::Table, "table"), (Kind::Diff, "diff")] {
        let of_kind: Vec<&&Piece> = missing.iter().filter(|piece| piece.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let mut part = count(of_kind.len(), noun);
        if matches!(kind, Kind::Table | Kind::Diff) {
            let named: Vec<String> = of_kind.iter().take(MOST_NAMED).map(|piece| code(&short(&piece.name))).collect();
            let more = if of_kind.len() > MOST_NAMED { ", …" } else { "" };
            let _ = write!(part, " ({}{more})", named.join(", "));
        }
        parts.push(part);
    }
    parts.join(", ")
}

/// A name that leaves room for others.
fn short(name: &str) -> String {
    match name.char_indices().nth(60) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

/// What is left out and where all of it is, and what the comment was made from.
fn foot(links: &Links, left_out: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(left_out) = left_out {
        let _ = write!(text, "**Left out, too large for a comment:** {left_out}. ");
        let _ = match &links.whole {
            Some(address) => write!(text, "[All of it]({address})"),
            None => write!(text, "All of it: `rollout render`"),
        };
        text.push_str("\n\n");
    }
    text.push_str("<sub>Rendered by `rollout render`");
    if let Some(revision) = &links.revision {
        let shown = code(revision);
        let shown = links.commit().map_or_else(|| shown.clone(), |address| format!("[{shown}]({address})"));
        let _ = write!(text, " from {shown}");
    }
    text.push_str("</sub>\n");
    text
}
