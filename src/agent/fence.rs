//! Until when this agent may write: what keeps a leader that slept through the end of its lease from writing.

use std::sync::Mutex;

use tokio::sync::watch;
use tokio::time::Instant;

/// Asked before each write. The deadline is a monotonic time taken before the lease was renewed, so that it ends before
/// another agent may take the lease, whatever happened in between.
#[derive(Debug)]
pub(super) struct Fence {
    side: Mutex<Side>,
    /// How many writes are on their way.
    passing: watch::Sender<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    /// There is no election.
    Always,
    Until {
        /// Until when a write may begin.
        begin: Instant,
        /// When another may take the lease.
        end: Instant,
    },
    Never,
}

/// A write on its way through the fence.
#[derive(Debug)]
pub(super) struct Passage<'a> {
    fence: &'a Fence,
    /// When it is given up, so that nothing of ours arrives when another leads.
    pub(super) end: Option<Instant>,
}

impl Fence {
    /// A fence that is always open: for an agent without election.
    pub(super) fn open() -> Self {
        Self::at(Side::Always)
    }

    /// A fence that is closed until a lease is held.
    pub(super) fn closed() -> Self {
        Self::at(Side::Never)
    }

    fn at(side: Side) -> Self {
        Self { side: Mutex::new(side), passing: watch::Sender::new(0) }
    }

    /// Writes may begin until `begin`, and are given up at `end`.
    pub(super) fn open_until(&self, begin: Instant, end: Instant) {
        *self.side() = Side::Until { begin, end };
    }

    /// Writes are not allowed any more.
    pub(super) fn close(&self) {
        *self.side() = Side::Never;
    }

    /// Whether a write may be sent now.
    pub(super) fn is_open(&self) -> bool {
        match *self.side() {
            Side::Always => true,
            Side::Until { begin, .. } => Instant::now() < begin,
            Side::Never => false,
        }
    }

    /// Lets a write through; it is on its way until the passage is dropped. `None`: it may not be sent.
    pub(super) fn pass(&self) -> Option<Passage<'_>> {
        if !self.is_open() {
            return None;
        }
        let end = match *self.side() {
            Side::Until { end, .. } => Some(end),
            Side::Always | Side::Never => None,
        };
        self.passing.send_modify(|passing| *passing += 1);
        Some(Passage { fence: self, end })
    }

    /// Returns when no write is on its way.
    pub(super) async fn quiet(&self) {
        // The sender is ours, and stays.
        let _ = self.passing.subscribe().wait_for(|passing| *passing == 0).await;
    }

    fn side(&self) -> std::sync::MutexGuard<'_, Side> {
        self.side.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.fence.passing.send_modify(|passing| *passing -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Fence;

    #[test]
    fn a_fence_closes_by_itself() {
        let fence = Fence::closed();
        assert!(!fence.is_open());
        let later = Instant::now() + Duration::from_mins(1);
        fence.open_until(later, later);
        assert!(fence.is_open());
        fence.open_until(Instant::now(), later);
        assert!(!fence.is_open());
        assert!(Fence::open().is_open());
    }
    #[test]
    fn a_write_ends_before_another_may_lead_and_is_waited_for() {
        use futures::FutureExt as _;

        let fence = Fence::closed();
        assert!(fence.pass().is_none());
        let end = Instant::now() + Duration::from_mins(1);
        fence.open_until(end, end);
        let passage = fence.pass().unwrap();
        assert_eq!(passage.end, Some(end));
        fence.close();
        assert_eq!(fence.quiet().now_or_never(), None);
        drop(passage);
        assert_eq!(fence.quiet().now_or_never(), Some(()));
    }
}
