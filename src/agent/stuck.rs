//! What stands in a plan's way, told in its status: a failure wherever it came up, and a plan, a status or something kept that
//! cannot be used.

use std::time::Duration;

use jiff::Timestamp;

use super::attend::{Attendance, Next};
use super::events::Kind;
use super::hand_back;
use super::plan_gauges::REFUSED;
use super::record;
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::machine::Event;
use crate::model::{Failure, Part};

/// So many failures in a row are told although they may pass by themselves.
const MANY: u32 = 3;
/// How long nothing is tried when only a person can help.
const PAUSE: Duration = Duration::from_mins(1);

impl Attendance {
    /// Records a failure that only a person can cure, or that has come so often that people should know, and returns when to
    /// try again.
    pub(super) async fn suffer(&mut self, trouble: Trouble) -> Result<Next, Trouble> {
        self.troubled = self.troubled.saturating_add(1);
        let has_lasted = trouble.is_passing() && self.troubled >= MANY;
        if !trouble.is_permanent() && !has_lasted {
            return Err(trouble);
        }
        // What has come of this pass is as it was recorded.
        self.is_stale = true;
        if !matches!(self.look().await, Ok(true)) || self.unreadable.is_some() || self.unusable.is_some() {
            return Err(trouble);
        }
        self.apply(&Event::Failed { reason: trouble.to_string(), permanent: trouble.is_permanent() });
        self.record().await?;
        if trouble.is_permanent() { Ok(Next::Wait(PAUSE)) } else { Err(trouble) }
    }

    /// Whether the release goes back: then nothing is waited for but what the way back needs.
    pub(super) fn is_going_back(&self) -> bool {
        self.status.cursor.as_ref().is_some_and(|cursor| matches!(cursor.part, Part::Abort | Part::AbortFinish | Part::HandBack))
    }

    /// A plan that cannot be used, and nothing that runs: says so, and touches nothing.
    pub(super) async fn refuse(&mut self) -> Result<Next, Trouble> {
        let Err(problem) = self.own.clone() else { return Ok(Next::Rest) };
        if is_terminating(&self.object) && self.status.captured.is_none() {
            // Nothing was written, so that nothing has to be restored.
            hand_back::finalizer(&self.shared.api, &self.address, false).await?;
            self.shared.claims.release(&self.key);
            self.shared.interests.clear(&self.key);
            return Ok(Next::Rest);
        }
        self.status.observed_generation = Some(super::offer::generation(&self.object));
        self.status = record::stuck(&self.status, REFUSED, &problem, Timestamp::now());
        self.status.waiting_for = Some(format!("a plan that can be used: {problem}"));
        if self.status != self.recorded {
            self.tell(Kind::Warning, REFUSED, &problem).await;
            self.write_status().await?;
            self.recorded = self.status.clone();
            self.count();
        }
        Ok(Next::Rest)
    }

    /// A status that cannot be read may be all that leads back to what ran before: it stays, and nothing else is done.
    pub(super) async fn leave(&mut self, problem: &str) -> Result<Next, Trouble> {
        self.shared.interests.clear(&self.key);
        let words = format!("a status that can be read: {problem}; run an agent as new as the one that wrote it, or put it right");
        let said = record::stuck(&self.status, "StatusUnreadable", &words, Timestamp::now());
        self.shared.metrics.plans.set(&self.key, &said);
        if self.write_words(&said).await? {
            self.tell(Kind::Warning, "StatusUnreadable", &words).await;
        }
        Ok(Next::Wait(PAUSE))
    }

    /// Without what is kept of the release it can neither go on nor back.
    pub(super) async fn stand_still(&mut self, problem: &str) -> Result<Next, Trouble> {
        self.shared.interests.clear(&self.key);
        let before = self.status.clone();
        let now = Timestamp::now();
        let since = before.failure.as_ref().filter(|failure| failure.permanent).map_or(now, |failure| failure.since);
        self.status = record::stuck(&before, "Stalled", problem, now);
        self.status.failure = Some(Failure { reason: problem.to_owned(), permanent: true, since });
        self.record().await?;
        Ok(Next::Wait(PAUSE))
    }
}
