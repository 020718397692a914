//! One line that says that work goes on, when it takes longer than a second and a person looks on.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::World;

/// How much is done, for those who wait. Shared between threads.
#[derive(Debug, Default)]
pub(super) struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// So many things are to be done.
    pub(super) fn expect(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// One more is done.
    pub(super) fn one_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn line(&self) -> String {
        match self.total.load(Ordering::Relaxed) {
            0 => "reading…".into(),
            total => format!("rendering {} of {total} Rollouts…", self.done.load(Ordering::Relaxed)),
        }
    }
}

/// Does the work, and shows how it goes.
pub(super) fn during<T>(world: &mut World<'_>, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !world.stderr_is_terminal {
        return work(&progress);
    }
    let (finished, ticks) = mpsc::channel::<()>();
    let stderr = &mut *world.stderr;
    std::thread::scope(|scope| {
        let shown = &progress;
        scope.spawn(move || show(shown, stderr, &ticks));
        let result = work(&progress);
        drop(finished);
        result
    })
}

fn show(progress: &Progress, stderr: &mut (dyn Write + Send), ticks: &mpsc::Receiver<()>) {
    let mut wait = Duration::from_secs(1);
    let mut is_shown = false;
    while ticks.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let _ = write!(stderr, "\r\x1b[K{}", progress.line()).and_then(|()| stderr.flush());
        is_shown = true;
        wait = Duration::from_millis(200);
    }
    if is_shown {
        let _ = write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush());
    }
}
