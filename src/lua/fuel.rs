//! What a call may use, and what it has used.

use std::cell::Cell;
use std::time::{Duration, Instant};

use mlua::{Error, Result};

use super::Limits;
use super::trouble::Spent;

/// Bytes that a library function works through for one unit of fuel.
const BYTES_A_UNIT: u64 = 16;

pub(super) struct Fuel {
    left: Cell<u64>,
    verdict: Cell<Option<Spent>>,
    began: Cell<Instant>,
    limits: Cell<Limits>,
}

impl Fuel {
    pub(super) fn new(limits: Limits) -> Self {
        Self { left: Cell::new(limits.fuel), verdict: Cell::new(None), began: Cell::new(now()), limits: Cell::new(limits) }
    }

    /// Begins anew, for another call.
    pub(super) fn fill(&self, limits: Limits) {
        self.left.set(limits.fuel);
        self.verdict.set(None);
        self.began.set(now());
        self.limits.set(limits);
    }

    #[inline]
    pub(super) fn spend(&self, units: u64) -> Result<()> {
        const CLOCK_EVERY: u64 = 256;
        let before = self.left.get();
        let after = before.saturating_sub(units);
        self.left.set(after);
        if after > 0 && before / CLOCK_EVERY == after / CLOCK_EVERY { Ok(()) } else { self.look(after) }
    }

    /// What is to be said when nothing is left, and now and then.
    #[cold]
    fn look(&self, left: u64) -> Result<()> {
        let limits = self.limits.get();
        if left == 0 {
            return self.refuse(Spent::Fuel(limits.fuel));
        }
        if self.began.get().elapsed() > Duration::from_secs(limits.seconds) {
            self.left.set(0);
            return self.refuse(Spent::Clock(limits.seconds));
        }
        Ok(())
    }

    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<()> {
        self.spend(1 + u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_UNIT)
    }

    /// The limit that was passed, whatever a script made of the error.
    pub(super) fn verdict(&self) -> Option<Spent> {
        self.verdict.get()
    }

    fn refuse(&self, spent: Spent) -> Result<()> {
        let spent = self.verdict.get().unwrap_or(spent);
        self.verdict.set(Some(spent));
        Err(Error::external(spent))
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock is the backstop against what fuel does not count")]
fn now() -> Instant {
    Instant::now()
}
