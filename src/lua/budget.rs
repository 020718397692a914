//! What all scripts of a run may use together: many calls, each within its limits, could take hours.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::fuel::Used;
use super::trouble::Spent;

/// A hundred times what one call may use.
const FUEL: u64 = 2_000_000_000;

/// The backstop, in seconds of all threads.
const SECONDS: u64 = 100;

/// What is left for the scripts of one run. Shared between threads.
///
/// Calls add up to the same amount in whatever order they run, so whether a run is within its budget does not depend on the
/// order. Which calls still ran does: of a run that is not, no answer counts.
#[derive(Debug, Default)]
pub struct Budget {
    fuel: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Budget {
    /// Adds a call.
    pub(super) fn add(&self, used: Used) {
        self.fuel.fetch_add(used.fuel, Ordering::Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(used.time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What is used up.
    pub(super) fn verdict(&self) -> Option<Spent> {
        if self.fuel.load(Ordering::Relaxed) > FUEL {
            return Some(Spent::Together(FUEL));
        }
        let is_late = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)) > Duration::from_secs(SECONDS);
        is_late.then_some(Spent::TooLong(SECONDS))
    }

    /// Why no answer of the run counts, if that is so.
    pub fn exceeded(&self) -> Option<String> {
        self.verdict().map(|spent| spent.to_string())
    }
}
