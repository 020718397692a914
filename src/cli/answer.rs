//! What a command answers: yes, no, or that there is no answer; and the exit status of each.

use std::error::Error;
use std::process::ExitCode;

use crate::report::{self, Colors};

use super::World;

/// The answer of a command that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Exit status 0.
    Yes,
    /// An error finding, a stale plan, a failed case, a difference that was asked for: exit status 1.
    No,
}

/// Why there is no answer: exit status 2. Made from any error by `?`, and from a text.
#[derive(Debug)]
pub struct Failure(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// Tells what went wrong, and gives the exit status.
pub(super) fn exit(outcome: Result<Answer, Failure>, world: &mut World<'_>) -> ExitCode {
    let outcome = outcome.and_then(|answer| world.stdout.flush().map(|()| answer).map_err(Failure::from));
    let status = match outcome {
        Ok(Answer::Yes) => 0,
        Ok(Answer::No) => 1,
        Err(Failure(error)) => {
            let text = report::failure(error.as_ref(), world.stderr_colors);
            // Where even that cannot be written, the exit status is all that is left.
            let _ = world.stderr.write_all(text.as_bytes());
            2
        }
    };
    let _ = world.stderr.flush();
    ExitCode::from(status)
}

/// Prints help that was asked for, or what is wrong with the arguments.
pub(super) fn usage(help: &clap::Error, world: &mut World<'_>) -> ExitCode {
    let (stream, colors) =
        if help.use_stderr() { (&mut *world.stderr, world.stderr_colors) } else { (&mut *world.stdout, world.stdout_colors) };
    let text = match colors {
        Colors::Always => help.render().ansi().to_string(),
        Colors::Never => help.render().to_string(),
    };
    let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    ExitCode::from(if help.use_stderr() || written.is_err() { 2 } else { 0 })
}
