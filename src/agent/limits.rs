//! How many requests a second are sent: a token bucket in which running releases come first, and a small one for plans that are held.
//!
//! The Lease passes by both: an agent with much to do must not lose it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Requests a second for everything but the Lease.
const RATE: f64 = 300.0;
/// Requests that may be sent at once after a quiet moment.
const BURST: f64 = 600.0;
/// What is left of them for running releases.
const RESERVE: f64 = 200.0;
/// Requests a second, and at once, for plans that are held and that nothing has woken: all of them together.
const HELD: (f64, f64) = (4.0, 20.0);

/// For what a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// The Lease: never waits.
    Lease,
    /// A release that has written something, or goes back.
    Release,
    /// A plan that has written nothing yet, and has changed or is seen for the first time.
    Look,
    /// A plan that is held, looked at again because time went by.
    Held,
}

/// The lane of one sender of requests, which changes while a plan is attended to.
#[derive(Debug)]
pub(super) struct LaneCell(AtomicU8);

impl LaneCell {
    /// In that lane.
    pub(super) fn new(lane: Lane) -> Self {
        Self(AtomicU8::new(lane as u8))
    }

    /// From now on in that lane.
    pub(super) fn set(&self, lane: Lane) {
        self.0.store(lane as u8, Ordering::Relaxed);
    }

    /// The lane now.
    pub(super) fn get(&self) -> Lane {
        let lane = self.0.load(Ordering::Relaxed);
        [Lane::Lease, Lane::Release, Lane::Look].into_iter().find(|known| *known as u8 == lane).unwrap_or(Lane::Held)
    }
}

/// Both buckets.
#[derive(Debug)]
pub(super) struct Limits {
    all: Mutex<Bucket>,
    held: Mutex<Bucket>,
}

impl Default for Limits {
    /// Full.
    fn default() -> Self {
        let bucket = |rate, burst| Mutex::new(Bucket { rate, burst, left: burst, at: Instant::now() });
        Self { all: bucket(RATE, BURST), held: bucket(HELD.0, HELD.1) }
    }
}

impl Limits {
    /// Returns when a request of that lane may be sent.
    pub(super) async fn pass(&self, lane: Lane) {
        match lane {
            Lane::Lease => {}
            Lane::Release => take(&self.all, 0.0).await,
            Lane::Look => take(&self.all, RESERVE).await,
            Lane::Held => {
                take(&self.held, 0.0).await;
                take(&self.all, RESERVE).await;
            }
        }
    }
}

/// Takes one token as soon as more than `reserve` are left.
async fn take(bucket: &Mutex<Bucket>, reserve: f64) {
    loop {
        let wait = bucket.lock().unwrap_or_else(PoisonError::into_inner).take(reserve, Instant::now());
        match wait {
            None => return,
            Some(time) => tokio::time::sleep(time).await,
        }
    }
}

#[derive(Debug)]
struct Bucket {
    rate: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Takes a token, or says how long to wait before asking again.
    fn take(&mut self, reserve: f64, now: Instant) -> Option<Duration> {
        self.left = self.burst.min(self.left + now.duration_since(self.at).as_secs_f64() * self.rate);
        self.at = now;
        if self.left >= reserve + 1.0 {
            self.left -= 1.0;
            return None;
        }
        Some(Duration::from_secs_f64((reserve + 1.0 - self.left) / self.rate).max(Duration::from_millis(1)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Bucket, Lane, LaneCell};

    #[test]
    fn running_releases_take_what_others_must_leave() {
        let now = Instant::now();
        let mut bucket = Bucket { rate: 10.0, burst: 4.0, left: 4.0, at: now };
        assert_eq!((bucket.take(2.0, now), bucket.take(2.0, now)), (None, None));
        assert_eq!(bucket.take(2.0, now), Some(Duration::from_millis(100)));
        assert_eq!((bucket.take(0.0, now), bucket.take(0.0, now)), (None, None));
        assert_eq!(bucket.take(0.0, now), Some(Duration::from_millis(100)));
        assert_eq!(bucket.take(0.0, now + Duration::from_millis(100)), None);
    }

    #[test]
    fn a_bucket_holds_no_more_than_a_burst_after_a_quiet_hour() {
        let now = Instant::now();
        let mut bucket = Bucket { rate: 10.0, burst: 2.0, left: 0.0, at: now };
        let later = now + Duration::from_hours(1);
        assert_eq!((bucket.take(0.0, later), bucket.take(0.0, later)), (None, None));
        assert!(bucket.take(0.0, later).is_some());
    }

    #[test]
    fn a_lane_that_is_set_is_the_lane() {
        let cell = LaneCell::new(Lane::Look);
        for lane in [Lane::Lease, Lane::Release, Lane::Look, Lane::Held] {
            cell.set(lane);
            assert_eq!(cell.get(), lane);
        }
    }
}
