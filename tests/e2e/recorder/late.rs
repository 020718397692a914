//! Routes and definitions as a gateway knows them that follows late.

use std::collections::VecDeque;

use super::entries::KINDS;
use super::view::{Event, View};

/// The objects as they were a while ago.
pub(crate) struct Late {
    lag: u64,
    view: View,
    pending: VecDeque<Event>,
}

impl Late {
    /// Follows after so many milliseconds.
    pub(crate) fn of(lag: u64) -> Self {
        Self { lag, view: View::default(), pending: VecDeque::new() }
    }

    /// Lets time go on to the event. What was there before the recording began is known at once.
    pub(crate) fn take(&mut self, event: &Event, is_known: bool) {
        while self.pending.front().is_some_and(|pending| pending.millis + self.lag <= event.millis) {
            if let Some(pending) = self.pending.pop_front() {
                self.view.take(&pending);
            }
        }
        if !KINDS.contains(&event.kind.as_str()) {
            return;
        }
        if is_known || self.lag == 0 {
            self.view.take(event);
        } else {
            self.pending.push_back(event.clone());
        }
    }

    /// What it knows now.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }
}
