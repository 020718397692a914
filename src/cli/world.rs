//! Everything outside that a command may touch, as one argument: streams, environment, current directory.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal as _, Read, Write};
use std::path::PathBuf;

use crate::report::Colors;

/// What lies outside of a command.
pub struct World<'a> {
    /// Data goes here.
    pub stdout: &'a mut (dyn Write + Send),
    /// Everything else goes here.
    pub stderr: &'a mut (dyn Write + Send),
    /// The text that `-` names.
    pub stdin: &'a mut dyn Read,
    /// The variables whose names and values are Unicode.
    pub environment: BTreeMap<String, String>,
    /// Where relative paths begin.
    pub directory: PathBuf,
    /// Whether data is colored.
    pub stdout_colors: Colors,
    /// Whether everything else is colored.
    pub stderr_colors: Colors,
    /// Whether a person looks on, who wants to know that work goes on.
    pub stderr_is_terminal: bool,
}

/// Calls `run` with the world of this process.
pub(super) fn with_process<T>(run: impl FnOnce(&mut World<'_>) -> T) -> T {
    let stdout_colors = colors(&io::stdout());
    let stderr_colors = colors(&io::stderr());
    let mut stdout = UntilClosed::Open(BufWriter::with_capacity(1 << 16, io::stdout()));
    let mut stderr = UntilClosed::Open(io::stderr());
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let result = run(&mut World {
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin: &mut io::stdin().lock(),
        environment: environment.collect(),
        directory: std::env::current_dir().unwrap_or_default(),
        stdout_colors,
        stderr_colors,
        stderr_is_terminal: io::stderr().is_terminal(),
    });
    // What a full disk says about the last bytes was said by the flush at the command's end.
    let _ = stdout.flush();
    result
}

fn colors(stream: &impl anstream::stream::RawStream) -> Colors {
    match anstream::AutoStream::choice(stream) {
        anstream::ColorChoice::Never => Colors::Never,
        anstream::ColorChoice::Auto | anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => Colors::Always,
    }
}

/// A stream whose reader may go away: `rollout render | head` is no error, and the exit status stays the answer's.
enum UntilClosed<W> {
    Open(W),
    Closed,
}

impl<W> UntilClosed<W> {
    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                *self = Self::Closed;
                Ok(instead)
            }
            // The kind stays: who writes tries again when it was interrupted.
            other => other.map_err(|source| io::Error::new(source.kind(), Unwritable(source))),
        }
    }
}

/// A stream took no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the answer")]
struct Unwritable(#[source] io::Error);

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(stream) => {
                let result = stream.write(bytes);
                self.unless_closed(result, bytes.len())
            }
            Self::Closed => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Open(stream) => {
                let result = stream.flush();
                self.unless_closed(result, ())
            }
            Self::Closed => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::UntilClosed;

    struct Gone(io::ErrorKind);

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let mut stream = UntilClosed::Open(Gone(io::ErrorKind::BrokenPipe));
        assert!(stream.write_all(b"more").is_ok());
        assert!(stream.write_all(b"and more").is_ok());
        assert!(stream.flush().is_ok());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let mut stream = UntilClosed::Open(Gone(io::ErrorKind::StorageFull));
        assert_eq!(stream.write_all(b"more").unwrap_err().to_string(), "cannot write the answer");
    }
}
