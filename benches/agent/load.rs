//! What the agent takes with many plans that do something: held before their first write, at their gates, and released at once; and
//! how soon a new agent begins a release where there are many.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use crate::audit::{Asked, Audit};
use crate::control_plane::ControlPlane;
use crate::park::{self, Park};
use crate::rest::settle;
use crate::rows::Rows;
use crate::subject::Subject;

/// How long held plans are looked at.
const WINDOW: Duration = Duration::from_mins(1);

/// What is measured: a control plane, the plans in it, and the agent.
pub(crate) struct Field<'a> {
    /// The control plane.
    pub(crate) plane: &'a ControlPlane,
    /// The plans.
    pub(crate) park: &'a Park,
    /// The agent, which runs.
    pub(crate) agent: &'a mut Subject,
    /// What it asks.
    pub(crate) audit: &'a Audit,
    /// What was found.
    pub(crate) rows: &'a mut Rows,
}

impl Field<'_> {
    /// Another agent takes over, and a plan that is new then begins its release.
    pub(crate) fn failover(&mut self, number: usize, plans: usize) -> Result<(), String> {
        self.park.prepare(self.plane, number..number + 1)?;
        self.agent.stop()?;
        let begin = Instant::now();
        self.agent.start()?;
        self.park.begin(self.plane, number..number + 1)?;
        park::wait("the release after the failover", || Ok(!park::status(self.plane, number)?["captured"].is_null()))?;
        self.rows.at_most(&format!("failover with {plans} plans: start to a new release"), begin.elapsed().as_secs_f64(), 5.0, "s");
        park::remove(self.plane, number..number + 1)
    }

    /// Plans that hold, since their Rollouts do not exist.
    pub(crate) fn held(&mut self, numbers: Range<usize>) -> Result<(), String> {
        let count = numbers.len();
        self.again(numbers.len())?;
        self.park.begin(self.plane, numbers.clone())?;
        for number in numbers.clone() {
            park::wait("all to be held", || Ok(!park::status(self.plane, number)?["cursor"]["hold"].is_null()))?;
        }
        let start = self.audit.length();
        thread::sleep(WINDOW);
        let asked = number_of(&self.audit.since(start), |asked| asked.verb != "watch" && asked.resource != "leases");
        let memory = self.agent.memory()?;
        self.rows.say("");
        self.rows.at_most(&format!("{count} held plans: resident"), memory.resident, 40.0, "MiB");
        self.rows.value(&format!("{count} held plans: peak"), memory.peak, "MiB");
        self.rows.at_most(&format!("{count} held plans: requests, lease aside"), asked / WINDOW.as_secs_f64(), 5.0, "1/s");
        park::remove(self.plane, numbers)
    }

    /// Releases that all wait at their first gates.
    pub(crate) fn gated(&mut self, numbers: Range<usize>) -> Result<(), String> {
        let count = numbers.len();
        self.released(numbers.clone())?;
        let memory = self.agent.memory()?;
        self.rows.at_most(&format!("{count} gated releases: resident"), memory.resident, 96.0, "MiB");
        // Longer than what waits is held.
        thread::sleep(WINDOW);
        let memory = self.agent.memory()?;
        self.rows.value(&format!("{count} gated releases: resident a minute later"), memory.resident, "MiB");
        park::remove(self.plane, numbers)
    }

    /// Releases that all begin in the same moment, up to their first gates.
    pub(crate) fn at_once(&mut self, numbers: Range<usize>) -> Result<(), String> {
        let count = numbers.len();
        let (start, begin) = (self.audit.length(), Instant::now());
        self.released(numbers.clone())?;
        let memory = self.agent.memory()?;
        let asked = number_of(&self.audit.since(start), |asked| asked.verb != "watch" && asked.resource != "leases");
        self.rows.at_most(&format!("{count} released at once: peak"), memory.peak, 128.0, "MiB");
        self.rows.value(
            &format!("{count} released at once: all at their first gates, preparation included"),
            begin.elapsed().as_secs_f64(),
            "s",
        );
        self.rows.value(&format!("{count} released at once: requests of each up to there"), asked / of(count), "");
        park::remove(self.plane, numbers)
    }

    fn released(&mut self, numbers: Range<usize>) -> Result<(), String> {
        self.rows.say("");
        self.park.prepare(self.plane, numbers.clone())?;
        self.again(numbers.len())?;
        self.park.begin(self.plane, numbers.clone())?;
        for number in numbers {
            park::wait("the first gates", || Ok(park::status(self.plane, number)?["cursor"]["part"] == "gate"))?;
        }
        Ok(())
    }

    /// An agent whose peak is of what comes now.
    fn again(&mut self, plans: usize) -> Result<(), String> {
        self.agent.stop()?;
        settle(self.agent, self.audit, plans.min(2)).map(|_| ())
    }
}

/// How many requests are meant.
pub(crate) fn number_of(all: &[Asked], is_meant: impl Fn(&Asked) -> bool) -> f64 {
    of(all.iter().filter(|asked| is_meant(asked)).count())
}

fn of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
