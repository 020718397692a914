//! What went wrong in a script, with the place it went wrong.

use std::fmt::{self, Display, Write as _};

/// Why a script gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// The name the script was compiled under.
    pub script: String,
    /// The line of the script, where there is one to blame.
    pub line: Option<u32>,
    /// What happened, without name and line.
    pub message: String,
    /// What sort of failure it is.
    pub kind: ScriptErrorKind,
}

/// The sorts of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptErrorKind {
    /// It is not Lua.
    Syntax,
    /// It raised an error, its own or the machine's.
    Raised,
    /// It used more than a script may.
    Limit,
    /// It, or all scripts of the run, took more time than scripts may: a backstop, since that depends on the machine.
    Time,
    /// A value that went in, or came out, cannot cross.
    Value,
}

impl Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.script, self.message),
            None => write!(formatter, "{}: {}", self.script, self.message),
        }
    }
}

/// A call that was not made, or counts for nothing, since all calls of the run together use too much.
pub(super) fn of_run(name: &str, spent: Spent) -> ScriptError {
    ScriptError { script: tidy(name), line: None, message: spent.to_string(), kind: spent.kind() }
}

impl Spent {
    fn kind(self) -> ScriptErrorKind {
        match self {
            Self::Fuel(_) | Self::Memory | Self::Together(_) => ScriptErrorKind::Limit,
            Self::Clock(_) | Self::TooLong(_) => ScriptErrorKind::Time,
        }
    }
}

/// A limit that was passed; carried through the machine as an error of its own type so that nothing is taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Spent {
    #[error("the script needs more than {0} instructions")]
    Fuel(u64),
    #[error("the script runs for more than {0} seconds")]
    Clock(u64),
    #[error("the script needs too much memory")]
    Memory,
    #[error("the scripts of this run need more than {0} instructions together")]
    Together(u64),
    #[error("the scripts of this run take more than {0} seconds together")]
    TooLong(u64),
}

/// A value that cannot cross between JSON and Lua.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Uncrossable(pub(super) String);

/// Longer names are cut by the machine, and its messages would no longer begin with them.
const LONGEST_NAME: usize = 200;

pub(super) fn tidy(name: &str) -> String {
    let mut tidied: String = name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if tidied.len() > LONGEST_NAME {
        let start = tidied.ceil_char_boundary(tidied.len() - LONGEST_NAME);
        tidied.drain(..start);
    }
    if tidied.is_empty() { "script".to_owned() } else { tidied }
}

/// What a message keeps of a script's text, in bytes: the rest says nothing more.
const LONGEST_MESSAGE: usize = 1000;

/// The message, without its end where it is long.
fn cut(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        let length = message.len();
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        let _ = write!(message, "… ({length} bytes)");
    }
    message
}

pub(super) fn of_source(name: &str, source: &str, position: usize, message: &str) -> ScriptError {
    let line = u32::try_from(source[..position].matches('\n').count() + 1).ok();
    ScriptError { script: tidy(name), line, message: message.to_owned(), kind: ScriptErrorKind::Syntax }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and one message for the rest")]
pub(super) fn of_compiling(name: &str, error: &mlua::Error) -> ScriptError {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    // The compiler alone knows no name and says `line: message`.
    let text = text.trim();
    let (line, message) = split_place(text, &tidy(name))
        .or_else(|| text.split_once(": ").and_then(|(line, message)| Some((line.parse().ok()?, message))))
        .map_or((None, text.to_owned()), |(line, message)| (Some(line), message.to_owned()));
    ScriptError { script: tidy(name), line, message: cut(message), kind: ScriptErrorKind::Syntax }
}

/// Whether an error says itself which limit was passed.
#[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and no other variant carries it")]
pub(super) fn is_spent(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::CallbackError { cause, .. } => is_spent(cause),
        mlua::Error::ExternalError(external) => external.downcast_ref::<Spent>().is_some(),
        _ => false,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and one message for the rest")]
pub(super) fn of_running(name: &str, error: &mlua::Error) -> ScriptError {
    let script = tidy(name);
    let mut traceback = String::new();
    let mut cause = error;
    while let mlua::Error::CallbackError { traceback: frames, cause: inner } = cause {
        traceback.clone_from(frames);
        cause = inner;
    }
    if let mlua::Error::ExternalError(external) = cause {
        if let Some(spent) = external.downcast_ref::<Spent>() {
            let line = first_frame(&traceback, &script);
            return ScriptError { script, line, message: spent.to_string(), kind: spent.kind() };
        }
        if let Some(problem) = external.downcast_ref::<Uncrossable>() {
            return ScriptError { script, line: None, message: cut(problem.to_string()), kind: ScriptErrorKind::Value };
        }
    }
    let out_of_memory = || (Spent::Memory.to_string(), ScriptErrorKind::Limit);
    let (text, kind) = match cause {
        mlua::Error::RuntimeError(text) if is_memory(text) => out_of_memory(),
        mlua::Error::RuntimeError(text) => (text.clone(), ScriptErrorKind::Raised),
        mlua::Error::MemoryError(_) => out_of_memory(),
        other => (other.to_string(), ScriptErrorKind::Raised),
    };
    let (message, frames) = match text.split_once("\nstack traceback:\n") {
        Some((message, frames)) => (message, frames),
        None => (text.as_str(), traceback.as_str()),
    };
    let (line, message) = match split_place(message, &script) {
        Some((line, message)) => (Some(line), message),
        None => (first_frame(frames, &script), message),
    };
    // What is no text shows where it lies in memory, which says nothing and differs from run to run.
    let message = match message.split_once(": 0x") {
        Some((what @ ("table" | "function" | "userdata"), _)) => format!("the script raised a {what} instead of a message"),
        _ => message.to_owned(),
    };
    ScriptError { script, line, message: cut(message), kind }
}

pub(super) fn of_result(name: &str, problem: &Uncrossable) -> ScriptError {
    ScriptError { script: tidy(name), line: None, message: cut(format!("the result has {problem}")), kind: ScriptErrorKind::Value }
}

fn is_memory(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.ends_with("not enough memory"))
}

/// Splits `name:line: message`.
fn split_place<'a>(text: &'a str, name: &str) -> Option<(u32, &'a str)> {
    let (line, message) = text.strip_prefix(name)?.strip_prefix(':')?.split_once(':')?;
    Some((line.parse().ok()?, message.trim_start()))
}

/// Returns the line of the innermost frame of a traceback that lies in the script.
fn first_frame(traceback: &str, name: &str) -> Option<u32> {
    traceback.lines().find_map(|frame| {
        let rest = frame.trim_start().strip_prefix(name)?.strip_prefix(':')?;
        let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
        digits.parse().ok()
    })
}
