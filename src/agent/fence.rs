//! Until when this agent may write: what keeps a leader that slept through the end of its lease from writing.

use std::sync::Mutex;

use tokio::time::Instant;

/// Asked before each write. The deadline is a monotonic time taken before the lease was renewed, so that it ends before
/// another agent may take the lease, whatever happened in between.
#[derive(Debug)]
pub(super) struct Fence(Mutex<Side>);

#[derive(Debug, Clone, Copy)]
enum Side {
    /// There is no election.
    Always,
    Until(Instant),
    Never,
}

impl Fence {
    /// A fence that is always open: for an agent without election.
    pub(super) fn open() -> Self {
        Self(Mutex::new(Side::Always))
    }

    /// A fence that is closed until a lease is held.
    pub(super) fn closed() -> Self {
        Self(Mutex::new(Side::Never))
    }

    /// Writes are allowed until then.
    pub(super) fn open_until(&self, deadline: Instant) {
        self.set(Side::Until(deadline));
    }

    /// Writes are not allowed any more.
    pub(super) fn close(&self) {
        self.set(Side::Never);
    }

    /// Whether a write may be sent now.
    pub(super) fn is_open(&self) -> bool {
        match *self.side() {
            Side::Always => true,
            Side::Until(deadline) => Instant::now() < deadline,
            Side::Never => false,
        }
    }

    fn set(&self, side: Side) {
        *self.side() = side;
    }

    fn side(&self) -> std::sync::MutexGuard<'_, Side> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        fence.open_until(Instant::now() + Duration::from_mins(1));
        assert!(fence.is_open());
        fence.open_until(Instant::now());
        assert!(!fence.is_open());
        assert!(Fence::open().is_open());
    }
}
