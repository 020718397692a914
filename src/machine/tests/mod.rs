//! The machine under test: what its scenarios and properties share.

mod plans;
mod properties;
mod scenarios;
mod world;

use jiff::Timestamp;

use super::offered::start;
use crate::model::{Cursor, Part, Purpose};

pub(crate) fn cursor(part: Part, step: u32, stage: u32) -> Cursor {
    Cursor { part, step, stage, ..start(Purpose::Release, Timestamp::UNIX_EPOCH) }
}
