//! Child processes that never outlive the suite, however it ends.
//!
//! The kernel kills a child when the thread that started it ends (`setpriv --pdeathsig`), so one thread that lives as long as
//! the suite starts them all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A running program. It is killed when the value is dropped.
pub(crate) struct Process {
    name: String,
    child: std::process::Child,
    log: PathBuf,
}

/// What to start.
pub(crate) struct Program<'a> {
    /// The file to run.
    pub(crate) file: &'a Path,
    /// What follows it.
    pub(crate) arguments: Vec<OsString>,
    /// Where both outputs go; what is there already stays.
    pub(crate) log: PathBuf,
}

/// Asks for a child, and where to send it.
type Order = (Command, Sender<std::io::Result<std::process::Child>>);

/// Starts a program.
pub(crate) fn start(program: Program<'_>) -> Result<Process, String> {
    let name = program.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output =
        File::options().create(true).append(true).open(&program.log).map_err(|error| format!("{}: {error}", program.log.display()))?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program.file).args(&program.arguments);
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let child = ordered(command).map_err(|error| format!("cannot start {name}: {error}"))?;
    Ok(Process { name, child, log: program.log })
}

impl Process {
    /// Its number, below `/proc`.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal: `STOP`, `CONT`, `TERM`.
    pub(crate) fn signal(&self, signal: &str) {
        let _ = Command::new("kill").args(["-s", signal, &self.id().to_string()]).stderr(Stdio::null()).status();
    }

    /// Ends it at once, as a crash would, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns how it ended, when it did within the time.
    pub(crate) fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + time;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() > end {
                return None;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns an error with the end of the log when it has ended.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("{} ended with {status}:\n{}", self.name, self.tail(15))),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }

    /// Returns the last lines of what it said.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `--name=value` for each pair.
pub(crate) fn flags<V: AsRef<OsStr>>(pairs: impl IntoIterator<Item = (&'static str, V)>) -> Vec<OsString> {
    let flag = |(name, value): (&str, V)| {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value.as_ref());
        flag
    };
    pairs.into_iter().map(flag).collect()
}

/// Has the one thread start the command.
fn ordered(command: Command) -> std::io::Result<std::process::Child> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let (reply, answer) = channel();
    orders.send((command, reply)).map_err(std::io::Error::other)?;
    answer.recv().map_err(std::io::Error::other)?
}

/// Cargo does not pass a signal on: who started this and is gone will not wait for an answer.
pub(crate) fn end_with_parent() {
    let parent = std::os::unix::process::parent_id();
    thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            thread::sleep(Duration::from_millis(200));
        }
        // The children die with their thread.
        std::process::exit(130);
    });
}
