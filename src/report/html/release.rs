//! One release on the page: what it is about, its chart and table, and a part for every step that can be unfolded.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::super::summary::{Part, Release, Row, Share};
use super::super::words::one_line;
use super::super::{Transition, short};
use super::chart::{self, Column, Pods, Requests};
use super::{State, data, diff};

/// The release's part of the page. Transitions are those of the rows, in their order.
pub(super) fn article(release: &Release, transitions: &[Transition], states: &[State]) -> Markup {
    let id = id(release);
    let ways: Vec<(&Row, &Transition)> = release.rows.iter().zip(transitions).collect();
    html! {
        article class="release" id=(id) aria-labelledby={ (id) "~title" } {
            header {
                h2 id={ (id) "~title" } { (one_line(&release.title())) }
                p class="what" { (one_line(&release.what())) }
                (images(release))
                @if let Some(preview) = release.preview() { p class="preview" { (preview) } }
            }
            (figure(release))
            (table(release, &id))
            (player(release, &id))
            @for (row, transition) in &ways {
                @if let Some(stop) = stop(row) {
                    details class="step" id={ (id) "~" (stop) } {
                        summary { h3 { (one_line(&row.name)) } " " span class="facts" { (facts(row)) } }
                        div class="given" { (changes(transition)) }
                        div class="computed" hidden {}
                    }
                } @else {
                    details class="back" {
                        summary { h3 { (one_line(&row.name)) } " " span class="facts" { "the way back, here from the last step" } }
                        (changes(transition))
                    }
                }
            }
            (engines(release))
            (made(release))
            script type="application/json" { (PreEscaped(data::data(states))) }
        }
    }
}

/// The release's name within the page: the same in every report, and no other release has it.
pub(super) fn id(release: &Release) -> String {
    let mut id = String::new();
    for part in [&release.environment, &release.namespace, &release.name].into_iter().filter(|part| !part.is_empty()) {
        if !id.is_empty() {
            id.push('.');
        }
        for character in part.chars() {
            if character.is_ascii_alphanumeric() || character == '-' {
                id.push(character);
            } else {
                let _ = write!(id, "_{:x}_", u32::from(character));
            }
        }
    }
    id
}

/// The end of the id of what the slider stops at; none for the way back.
fn stop(row: &Row) -> Option<String> {
    match row.part {
        Part::Step(number) => Some(format!("step-{number}")),
        Part::Finish => Some("finish".to_owned()),
        Part::Abort => None,
    }
}

/// `20% of requests · pods 1 of 5 · approval`.
fn facts(row: &Row) -> String {
    let gate = row.gate_said();
    let ends = if gate.is_empty() { String::new() } else { format!(" · gate: {gate}") };
    one_line(&format!("traffic: {} · pods: {}{ends}", row.traffic_said(), row.pods.said()))
}

fn images(release: &Release) -> Markup {
    html! {
        @if !release.images.is_empty() {
            ul class="images" {
                @for change in &release.images {
                    li {
                        (one_line(&change.container)) ": "
                        code { (change.from.as_deref().map_or_else(|| "none".to_owned(), one_line)) } " → "
                        code { (change.to.as_deref().map_or_else(|| "none".to_owned(), one_line)) }
                    }
                }
            }
        }
    }
}

fn figure(release: &Release) -> Markup {
    let columns = columns(release);
    let words: Vec<String> =
        release.rows.iter().filter(|row| row.part != Part::Abort).map(|row| format!("{}: {}", row.name, facts(row))).collect();
    let has_matches = columns.iter().any(|column| matches!(column.requests, Requests::Matching(_)));
    let has_pods = columns.iter().any(|column| column.pods.is_some());
    html! {
        figure {
            div class="scroll" tabindex="0" role="group" aria-label="Chart, may scroll" {
                (chart::chart(&columns, "Requests and pods of the new version by step", &one_line(&words.join("; "))))
            }
            figcaption {
                (swatch("new", "new version"))
                (swatch("old", "old version"))
                @if has_matches { (swatch("matching", "requests that match get the new version")) }
                @if !has_pods { span { "Only the cluster knows how many pods there are." } }
            }
        }
    }
}

fn swatch(class: &str, words: &str) -> Markup {
    html! {
        span { svg width="12" height="12" aria-hidden="true" { rect class=(class) width="12" height="12" rx="2" {} } (words) }
    }
}

/// The state before the release, then the rows on the way forward.
fn columns(release: &Release) -> Vec<Column> {
    let pods = release.replicas.map(|old| Pods { new: 0, old });
    let before = Column { name: "baseline".into(), note: String::new(), requests: Requests::Share(0), pods };
    let rows = release.rows.iter().filter(|row| row.part != Part::Abort).map(|row| Column {
        name: one_line(&row.name),
        note: one_line(&row.gate_said()),
        requests: match &row.share {
            Share::Unchanged => Requests::Unchanged,
            Share::All => Requests::Share(100),
            Share::None => Requests::Share(0),
            Share::Split { weight, matches } if matches.is_empty() => Requests::Share(weight.unwrap_or_default()),
            Share::Split { weight, .. } => Requests::Matching(weight.unwrap_or_default()),
        },
        pods: row.pods.new.zip(row.pods.old).map(|(new, old)| Pods { new, old }),
    });
    std::iter::once(before).chain(rows).collect()
}

fn table(release: &Release, id: &str) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="group" aria-label="Table of steps, may scroll" {
            table class="steps" {
                caption { "Steps of " (one_line(&release.title())) }
                thead { tr { @for head in ["step", "traffic", "pods", "gate", "changes"] { th scope="col" { (head) } } } }
                tbody {
                    @for (index, row) in (1..).zip(&release.rows) {
                        @let stop = stop(row);
                        tr data-stop=[stop.is_some().then_some(index)] {
                            th scope="row" {
                                @if let Some(stop) = &stop { a href={ "#" (id) "~" (stop) } { (one_line(&row.name)) } }
                                @else { (one_line(&row.name)) }
                            }
                            td { (one_line(&row.traffic_said())) }
                            td { (one_line(&row.pods.said())) }
                            td { (one_line(&row.gate_said())) }
                            td class="changes" { (changed(row)) }
                        }
                    }
                }
            }
        }
    }
}

/// What `changes_said` says, with no line broken inside a name.
fn changed(row: &Row) -> Markup {
    html! {
        @for (index, object) in row.changes.iter().enumerate() {
            @if index > 0 { ", " }
            span { (one_line(&object.said())) }
        }
        @if row.changes.is_empty() { (row.changes_said()) }
    }
}

/// What the script moves through the steps with; hidden without it.
fn player(release: &Release, id: &str) -> Markup {
    let stops = release.rows.iter().filter(|row| stop(row).is_some()).count();
    html! {
        div class="player" role="group" aria-label={ "Steps of " (one_line(&release.title())) } hidden {
            div {
                button type="button" { "Back" }
                input type="range" min="1" max=(stops) step="1" value="1" aria-label="Step";
                button type="button" { "Next" }
                output {}
            }
            div class="choices" {
                fieldset {
                    legend { "Compare with" }
                    label { input type="radio" name={ (id) "~with" } value="before" checked; " the step before" }
                    label { input type="radio" name={ (id) "~with" } value="baseline"; " the baseline" }
                }
                label { input type="checkbox"; " whole manifests" }
            }
        }
    }
}

fn changes(transition: &Transition) -> Markup {
    html! {
        @for object in &transition.diffs { (diff::object(object)) }
        @if transition.diffs.is_empty() { p class="nothing" { "Nothing differs." } }
    }
}

/// The settings by which the engine that syncs the repository leaves the release alone.
fn engines(release: &Release) -> Markup {
    html! {
        @if !release.engines.is_empty() {
            details class="back" {
                summary { h3 { "settings" } " " span class="facts" { "of the engine that syncs this" } }
                pre class="snippet" { code { (release.engines.trim_start()) } }
            }
        }
    }
}

/// Where all this comes from.
fn made(release: &Release) -> Markup {
    html! {
        details class="made" {
            summary { "Plan " code { (one_line(&release.path)) " " (short(&release.digest)) } }
            table {
                tr { th scope="row" { "digest" } td { code { (one_line(&release.digest)) } } }
                @for script in &release.scripts {
                    tr {
                        th scope="row" { (one_line(&script.object.to_string())) }
                        td { "rewritten by " code { (one_line(&script.script)) " " (short(&script.sha256)) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fixture;
    use crate::report::PlanReport;
    use crate::report::summary::release;

    fn of(change: impl FnOnce(&mut Release)) -> Release {
        let plan = fixture();
        let (path, digest) = ("rollouts/prod/shop/plan.yaml".into(), "sha256:0123456789abcdef".into());
        let (text, document, transitions) = (String::new(), serde_json::Value::Null, Vec::new());
        let mut told = release(PlanReport { environment: "", path, plan: &plan, digest, text, document, transitions, exposure: None });
        change(&mut told);
        told
    }

    fn ways(release: &Release) -> Vec<Transition> {
        release.rows.iter().map(|row| Transition { from: "a".into(), to: row.name.clone(), diffs: Vec::new() }).collect()
    }

    #[test]
    fn no_two_releases_share_an_id_and_none_needs_escaping() {
        let named = |environment: &str, namespace: &str, name: &str| {
            id(&of(|release| {
                release.environment = environment.into();
                release.namespace = namespace.into();
                release.name = name.into();
            }))
        };
        assert_eq!(named("", "prod", "shop"), "prod.shop");
        assert_eq!(named("eu", "prod", "shop"), "eu.prod.shop");
        assert_eq!(named("", "prod", "a.b"), "prod.a_2e_b");
        assert_eq!(named("", "a\"b <", "ä"), "a_22_b_20__3c_._e4_");
    }

    #[test]
    fn the_way_back_is_told_but_no_stop_of_the_slider() {
        let release = of(|_| {});
        let text = article(&release, &ways(&release), &[]).into_string();
        let summaries: Vec<_> = text.match_indices("<summary><h3>").map(|(at, _)| &text[at + 13..at + 19]).collect();
        assert_eq!(summaries, ["step-1", "step-2", "finish", "abort<"]);
        assert!(text.contains(r#"type="range" min="1" max="3""#), "{text}");
        assert_eq!(text.matches("data-stop=\"1\"").count(), 2, "a column and a row");
    }

    #[test]
    fn what_the_engine_needs_is_told_where_one_was_found() {
        let text = |engines: &str| {
            let release = of(|release| release.engines = engines.into());
            article(&release, &ways(&release), &[]).into_string()
        };
        assert!(!text("").contains("of the engine"));
        assert!(text("\nsynced by <Flux>\n").contains("<code>synced by &lt;Flux&gt;\n</code>"), "{}", text("\nsynced by <Flux>\n"));
    }

    #[test]
    fn a_step_is_told_in_facts() {
        let rows = of(|_| {}).rows;
        assert_eq!(facts(&rows[0]), "traffic: 20% · pods: 1 of 4 · gate: approval");
        assert_eq!(facts(&rows[2]), "traffic: all · pods: 4 of 4");
    }

    #[test]
    fn a_preview_says_that_nothing_is_released_and_unknown_pods_are_said_to_be() {
        let release = of(|release| {
            release.is_preview = true;
            release.replicas = None;
            for row in &mut release.rows {
                (row.pods.new, row.pods.old, row.pods.total) = (None, None, None);
            }
        });
        let text = article(&release, &ways(&release), &[]).into_string();
        assert!(text.contains("class=\"preview\"") && text.contains("Only the cluster knows how many pods"), "{text}");
    }
}
