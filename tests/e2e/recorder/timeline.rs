//! From events to moments: who got the traffic of each entry, whenever that or the phase of the release changed.

use std::fmt::{self, Write};

use serde_json::Value;

use super::entries::{self, Traffic};
use super::late::Late;
use super::request::Request;
use super::service::Share;
use super::view::{Event, View};

/// The ConfigMap by which a test that plays a release by hand says how far it is: `data.phase`.
pub(crate) const MARK: &str = "recorder-mark";

/// How far a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing has begun.
    Rest,
    /// A step is being entered or holds; counted from 1.
    Step(usize),
    /// All steps are done, the end state is being reached.
    Finishing,
    /// The end state is reached.
    Succeeded,
    /// The way back.
    Aborting,
    /// Back at the baseline.
    Aborted,
}

/// Who gets what from a moment on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moment {
    /// From the start of the recording.
    pub(crate) millis: u64,
    /// The store's revision.
    pub(crate) revision: u64,
    /// The object whose change made it so.
    pub(crate) cause: String,
    /// How far the release is.
    pub(crate) phase: Phase,
    /// By a gateway that knows its objects at once.
    pub(crate) traffic: Traffic,
    /// By a gateway that still goes by the routes and definitions of a while ago.
    pub(crate) traffic_late: Traffic,
}

/// What is recorded of which release.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    /// The first revision at which everything was known.
    pub(crate) start: u64,
    /// The plan's own name for the release, where there is one.
    pub(crate) release: Option<String>,
    /// Requests that steps match.
    pub(crate) special: Vec<Request>,
    /// How late a slow gateway follows its objects, in milliseconds.
    pub(crate) lag: u64,
}

/// Returns the moments at which something changed, for plain requests and the special ones.
pub(crate) fn timeline(events: &[Event], question: &Question) -> Vec<Moment> {
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.revision);
    let requests = entries::requests(&events, &question.special);
    let mut view = View::default();
    let mut late = Late::of(question.lag);
    let mut moments: Vec<Moment> = Vec::new();
    let mut events = events.into_iter().peekable();
    while let Some(event) = events.next() {
        view.take(event);
        late.take(event, event.revision < question.start);
        // Objects deleted together may share a revision; a moment is what is true after all of it.
        if event.revision < question.start || events.peek().is_some_and(|next| next.revision == event.revision) {
            continue;
        }
        let former = moments.last().map_or(Phase::Rest, |moment| moment.phase);
        let phase = phase_of(&view, question.release.as_deref()).unwrap_or(former);
        let traffic = entries::traffic(&view, &view, &requests);
        let traffic_late = entries::traffic(late.view(), &view, &requests);
        let is_new = moments.last().is_none_or(|last| last.phase != phase || last.traffic != traffic || last.traffic_late != traffic_late);
        if is_new {
            let cause = format!("{}/{}", event.kind, event.name);
            moments.push(Moment { millis: event.millis, revision: event.revision, cause, phase, traffic, traffic_late });
        }
    }
    moments
}

/// Returns the timeline as text, one line a change.
pub(crate) fn shown(moments: &[Moment]) -> String {
    let mut text = String::new();
    let mut former: Option<&Moment> = None;
    for moment in moments {
        let _ = writeln!(text, "{:>8.3} s  {:<10} {}", seconds(moment.millis), moment.phase.to_string(), moment.cause);
        for (key, share) in &moment.traffic {
            if former.and_then(|former| former.traffic.get(key)) != Some(share) {
                let _ = writeln!(
                    text,
                    "{:24}{} {}: {}",
                    "",
                    key.0,
                    key.1,
                    share.as_ref().map_or_else(|| "not taken".to_owned(), ToString::to_string)
                );
            }
        }
        former = Some(moment);
    }
    text
}

/// Milliseconds as seconds.
pub(crate) fn seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

impl Phase {
    /// Reads what `Display` writes.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            Some(("step", number)) => number.parse().ok().map(Self::Step),
            Some(_) => None,
            None => [Self::Rest, Self::Finishing, Self::Succeeded, Self::Aborting, Self::Aborted]
                .into_iter()
                .find(|phase| phase.to_string() == text),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest => formatter.write_str("rest"),
            Self::Step(number) => write!(formatter, "step {number}"),
            Self::Finishing => formatter.write_str("finishing"),
            Self::Succeeded => formatter.write_str("succeeded"),
            Self::Aborting => formatter.write_str("aborting"),
            Self::Aborted => formatter.write_str("aborted"),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions =
            self.versions.iter().map(|(image, share)| format!("{} {:.1} %", image.rsplit('/').next().unwrap_or(image), share * 100.0));
        let dead = self.dead.iter().map(|(service, share)| format!("nobody behind {service} {:.1} %", share * 100.0));
        formatter.write_str(&versions.chain(dead).collect::<Vec<_>>().join(", "))
    }
}

/// What the test says, else what the plan's status says; none when there is no plan, any more.
fn phase_of(view: &View, release: Option<&str>) -> Option<Phase> {
    if let Some(mark) = view.get("ConfigMap", MARK) {
        return mark["data"]["phase"].as_str().and_then(Phase::from_text);
    }
    let plans = || view.all("RolloutPlan").map(|(_, plan)| plan);
    let own = release.and_then(|release| plans().find(|plan| plan["spec"]["release"] == release));
    let status = &own.or_else(|| plans().next())?["status"];
    let phase = from_status(status);
    // Git went back to what ran before: a success, but not of the release that is recorded.
    let is_another = release.is_some_and(|release| status["release"] != release);
    Some(if phase == Phase::Succeeded && is_another { Phase::Aborted } else { phase })
}

fn from_status(status: &Value) -> Phase {
    match status["phase"].as_str() {
        Some("Succeeded" | "Bypassed") => return Phase::Succeeded,
        Some("Aborted") => return Phase::Aborted,
        _ => {}
    }
    let step = status["cursor"]["step"].as_u64().and_then(|step| usize::try_from(step).ok());
    match (status["cursor"]["part"].as_str(), step) {
        (Some("finish"), _) => Phase::Finishing,
        (Some("handBack"), _) if status["cursor"]["ending"]["outcome"] == "Succeeded" => Phase::Finishing,
        (Some("abort" | "abortFinish" | "handBack"), _) => Phase::Aborting,
        (Some("check" | "capture"), _) => Phase::Rest,
        (Some(_), Some(step)) => Phase::Step(step),
        _ => Phase::Rest,
    }
}
