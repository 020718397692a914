//! Scripts that ship with the program, for any plan.

use super::script::{Script, ScriptError};

/// A script, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scenario {
    /// As the command line names it.
    pub name: &'static str,
    /// What happens, in one line.
    pub about: &'static str,
    /// The file of events.
    pub text: &'static str,
}

/// Every scenario.
pub const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "happy",
        about: "pods are ready after 10 s, and every gate is approved after 5 min",
        text: include_str!("scenarios/happy.yaml"),
    },
    Scenario {
        name: "never-ready",
        about: "new pods never get ready, and after 15 min somebody gives up",
        text: include_str!("scenarios/never-ready.yaml"),
    },
    Scenario {
        name: "abort",
        about: "somebody asks for an abort two minutes into the first step",
        text: include_str!("scenarios/abort.yaml"),
    },
    Scenario {
        name: "restart",
        about: "the agent is killed in the middle of a step, and again in the middle of the end",
        text: include_str!("scenarios/restart.yaml"),
    },
    Scenario {
        name: "superseded",
        about: "another release comes while the first is in its first step",
        text: include_str!("scenarios/superseded.yaml"),
    },
];

/// Returns the script of a name.
pub fn script(name: &str) -> Option<Result<Script, ScriptError>> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).map(|scenario| Script::from_text(scenario.text))
}
