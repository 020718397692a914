//! What a call may use, and what it has used.

use std::cell::Cell;
use std::time::{Duration, Instant};

use mlua::{Error, Result};

use super::Limits;
use super::trouble::Spent;

/// Bytes that a library function works through for one unit of fuel.
const BYTES_A_UNIT: u64 = 16;

/// Bytes of new memory for one unit of fuel: operators that make long strings cost no more instructions than others.
const NEW_BYTES_A_UNIT: usize = 64;

pub(super) struct Fuel {
    left: Cell<u64>,
    /// What an instruction costs.
    rate: Cell<u64>,
    /// How much memory was in use when it was last looked at.
    memory: Cell<usize>,
    /// What new memory has cost.
    grown: Cell<u64>,
    verdict: Cell<Option<Spent>>,
    began: Cell<Instant>,
    limits: Cell<Limits>,
}

/// What a call has used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    pub(super) fuel: u64,
    pub(super) time: Duration,
}

impl Fuel {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            left: Cell::new(limits.fuel),
            rate: Cell::new(1),
            memory: Cell::new(usize::MAX),
            grown: Cell::new(0),
            verdict: Cell::new(None),
            began: Cell::new(now()),
            limits: Cell::new(limits),
        }
    }

    /// Begins anew, for another call that finds so many bytes in use.
    pub(super) fn fill(&self, limits: Limits, memory: usize) {
        self.left.set(limits.fuel);
        self.rate.set(1);
        self.memory.set(memory);
        self.grown.set(0);
        self.verdict.set(None);
        self.began.set(now());
        self.limits.set(limits);
    }

    /// One instruction, after which so many bytes are in use.
    #[inline]
    pub(super) fn step(&self, memory: usize) -> Result<()> {
        let growth = memory.saturating_sub(self.memory.replace(memory)) / NEW_BYTES_A_UNIT;
        if growth == 0 {
            return self.spend(self.rate.get());
        }
        let growth = u64::try_from(growth).unwrap_or(u64::MAX);
        self.grown.set(self.grown.get().saturating_add(growth));
        self.spend(self.rate.get().saturating_add(growth))
    }

    pub(super) fn set_rate(&self, rate: u64) {
        self.rate.set(rate.max(1));
    }

    /// Ends the call for want of memory, whether or not the script caught that.
    pub(super) fn exhaust(&self) -> Result<()> {
        self.left.set(0);
        self.refuse(Spent::Memory)
    }

    /// What was used and does not depend on what other calls left in memory, and for how long it ran.
    pub(super) fn used(&self) -> Used {
        let spent = self.limits.get().fuel.saturating_sub(self.left.get());
        Used { fuel: spent.saturating_sub(self.grown.get()), time: self.began.get().elapsed() }
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

    /// Pays for a function of the library, which may have taken long: so it looks at the clock as well.
    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<()> {
        self.spend(1 + u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_UNIT)?;
        self.look(self.left.get())
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
