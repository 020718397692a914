//! Why a gateway object stays as it is in a step that asks for a change: what the user can do about it differs.

use super::traffic::{Blame, Problem};
use crate::model::{ScriptOrigin, Source, Step, Traffic, Weight};

/// A share that every rule shows: neither nothing nor all.
const PROBE: i64 = 50;

/// The step that asks for a share and nothing else, where the step itself has matches: what changes by it leads to the Service.
pub(super) fn probe(step: &Step) -> Option<Step> {
    if step.traffic.matches.is_empty() {
        return None;
    }
    let traffic = Traffic { weight: Weight::try_from(PROBE).ok(), matches: Vec::new() };
    Some(Step { traffic, header_modifier: None, ..step.clone() })
}

/// What to say of a script that changed nothing; `leads` says that its probe did.
pub(super) fn problem(origin: &ScriptOrigin, object: &Source, service: &str, leads: bool) -> Problem {
    if leads {
        return Problem {
            message: format!("the script changes nothing: no rule that leads to Service `{service}` takes requests of the step's matches"),
            help: "conditions of the rule and of the step hold together: match what a rule for the Service takes, or add such a rule"
                .into(),
            blame: Blame::Object,
        };
    }
    if *origin != ScriptOrigin::Shipped {
        return Problem {
            message: "the script changes nothing".to_owned(),
            help: format!(
                "it has to write the step's share and matches wherever {} leads to Service `{service}`; `rollout test` runs its cases",
                object.object
            ),
            blame: Blame::Script,
        };
    }
    Problem {
        message: format!("the script changes nothing: no rule leads to Service `{service}`"),
        help: format!(
            "name the Service that {} leads to in `trafficRoutings[].service`; a rule with weight 0 leads nowhere",
            object.object
        ),
        blame: Blame::Object,
    }
}
