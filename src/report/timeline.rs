//! A simulated release: a table for people, JSON for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::traffic::said;
use super::{Colors, one_line, table};
use crate::model::{Plan, ScriptUse};
use crate::simulate::{End, Row, Simulation, Stopped, Traffic, Who};

/// How many signs a bar has.
const BAR: u8 = 10;

/// The timeline as a table, with how it ends.
pub fn timeline(plan: &Plan, simulation: &Simulation, colors: Colors) -> String {
    let mut rows = vec![["time", "where", "what happens", "new version", "waits for"].map(str::to_owned)];
    let mut before: Option<&Row> = None;
    for row in &simulation.rows {
        let is_same = |same: fn(&Row) -> String| before.is_some_and(|before| same(before) == same(row));
        let time = if is_same(|row| row.seconds.to_string()) { String::new() } else { clock(row.seconds) };
        let place = if is_same(|row| row.place.clone()) { String::new() } else { row.place.clone() };
        let what = match row.who {
            Who::Agent => one_line(&row.what),
            Who::Cluster => format!("· {}", one_line(&row.what)),
            Who::World => format!("! {}", one_line(&row.what)),
        };
        rows.push([time, place, what, bar(&row.traffic, &plan.spec.scripts), one_line(row.waiting_for.as_deref().unwrap_or_default())]);
        before = Some(row);
    }
    let mut text = format!("{}/{}, simulated\n\n", one_line(&plan.namespace), one_line(&plan.name));
    text.push_str(&table(&rows, colors));
    let reasons: BTreeSet<&String> = simulation.rows.iter().filter_map(|row| row.traffic.not_known.as_ref()).collect();
    for reason in reasons {
        let _ = write!(text, "\n`?`: who gets the new version cannot be told: {}\n", one_line(reason));
    }
    let end = match (simulation.stopped, simulation.end()) {
        (Stopped::Until, _) => "the simulation stops here, before the release does",
        (Stopped::Limit, _) => "the simulation gives up here: more happens than it follows",
        (Stopped::Quiet, End::Over | End::Waits) => "nothing more happens by itself",
        (Stopped::Quiet, End::Stuck) => "it stands still",
        (Stopped::Quiet, End::Open) => "the simulation does not know how it goes on",
    };
    let _ = write!(text, "\n{:?} after {}; {end}", simulation.phase, clock(simulation.seconds));
    if let Some(waiting_for) = &simulation.waiting_for {
        let _ = write!(text, "; waits for {}", one_line(waiting_for));
    }
    text.push('\n');
    text
}

/// The timeline as JSON.
pub fn timeline_json(plan: &Plan, simulation: &Simulation) -> Value {
    let rows: Vec<Value> = simulation.rows.iter().map(row).collect();
    json!({
        "version": super::VERSION,
        "namespace": plan.namespace,
        "name": plan.name,
        "phase": simulation.phase,
        "seconds": simulation.seconds,
        "stopped": simulation.stopped,
        "end": simulation.end(),
        "waitingFor": simulation.waiting_for,
        "timeline": rows,
    })
}

fn row(row: &Row) -> Value {
    json!({
        "seconds": row.seconds,
        "where": row.place,
        "who": row.who,
        "what": row.what,
        "phase": row.phase,
        "traffic": {
            "percent": row.traffic.percent,
            "least": row.traffic.least,
            "matches": row.traffic.matches,
            "lost": row.traffic.lost,
            "notKnown": row.traffic.not_known,
        },
        "waitingFor": row.waiting_for,
    })
}

/// `██░░░░░░░░  20%`, and who else.
fn bar(traffic: &Traffic, scripts: &[ScriptUse]) -> String {
    let mut text = match traffic.percent {
        None => format!("{}    ?", "·".repeat(usize::from(BAR))),
        Some(percent) => {
            // A little is never nothing, and almost all is never all.
            let full = match percent {
                0 => 0,
                100.. => BAR,
                some => (some / BAR).clamp(1, BAR - 1),
            };
            let least = traffic.least.map_or_else(String::new, |least| format!(" (at least {least}%)"));
            format!("{}{} {percent:>3}%{least}", "█".repeat(usize::from(full)), "░".repeat(usize::from(BAR - full)))
        }
    };
    if !traffic.matches.is_empty() {
        let matches: Vec<String> = traffic.matches.iter().map(|it| said(it, scripts)).collect();
        let _ = write!(text, " and {}", one_line(&matches.join(" or ")));
    }
    if traffic.lost {
        text.push_str(" no pod answers");
    }
    text
}

/// `0:05:40`.
fn clock(seconds: i64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::{bar, clock};
    use crate::simulate::Traffic;

    #[test]
    fn a_little_traffic_is_seen_and_not_all_is_not_full() {
        let of = |percent| bar(&Traffic { percent, ..Traffic::default() }, &[]);
        assert_eq!(of(Some(0)), "░░░░░░░░░░   0%");
        assert_eq!(of(Some(1)), "█░░░░░░░░░   1%");
        assert_eq!(of(Some(99)), "█████████░  99%");
        assert_eq!(of(Some(100)), "██████████ 100%");
        assert_eq!(of(None), "··········    ?");
        assert_eq!(bar(&Traffic { percent: Some(40), least: Some(20), ..Traffic::default() }, &[]), "████░░░░░░  40% (at least 20%)");
        assert!(bar(&Traffic { percent: Some(20), lost: true, ..Traffic::default() }, &[]).ends_with("20% no pod answers"));
    }

    #[test]
    fn programs_get_every_line_with_who_gets_what() {
        let plan = crate::plan::fixture();
        let script = crate::simulate::Script { approve_after: Some(60), ..crate::simulate::Script::default() };
        let simulation = crate::simulate::simulate(&plan, &script, &std::collections::BTreeMap::new());
        let json = super::timeline_json(&plan, &simulation);
        assert_eq!((&json["phase"], &json["stopped"], &json["namespace"]), (&"Succeeded".into(), &"quiet".into(), &"prod".into()));
        let lines = json["timeline"].as_array().expect("lines");
        assert_eq!(lines.len(), simulation.rows.len());
        let split = lines.iter().find(|line| line["traffic"]["percent"] == 20).expect("a step with a fifth of the traffic");
        assert_eq!((&split["where"], &split["who"]), (&"step 1".into(), &"agent".into()));
    }

    #[test]
    fn hours_grow_as_they_need() {
        assert_eq!((clock(340), clock(36_000)), ("0:05:40".to_owned(), "10:00:00".to_owned()));
    }
}
