//! One run of a program: found on the PATH, started without a shell, a network or our environment, stopped in time.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;

/// Where programs are looked for.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    folders: Vec<PathBuf>,
    /// The program that starts others without a network; known after the first use.
    isolation: OnceLock<Option<PathBuf>>,
}

/// What starts a program in a network of its own, in which there is not even loopback.
const ISOLATION: [&str; 3] = ["--user", "--net", "--"];

/// What a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest time.
    pub time: Duration,
    /// The longest output.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_mins(1), bytes: 64 * 1024 * 1024 }
    }
}

/// Why a run gave nothing.
#[derive(Debug)]
pub(super) enum Failed {
    /// It could not be started.
    Start(io::Error),
    /// It said no; what it wrote to stderr.
    Refused(String),
    /// It was stopped.
    TooLong(Duration),
    /// It was stopped.
    TooMuch(u64),
}

/// The most of stderr that is kept.
const STDERR: u64 = 64 * 1024;

impl Programs {
    /// Programs in the folders of a PATH. Relative ones are left out: the repository must not bring its own.
    pub fn on(search_path: &str) -> Self {
        Self { folders: std::env::split_paths(search_path).filter(|folder| folder.is_absolute()).collect(), ..Self::default() }
    }

    /// The same command line without a network, where the system lets us: proxies do not stand between a program and services on
    /// loopback. Containers and some distributions forbid it.
    pub(super) fn isolated(&self, program: &Path, arguments: &[OsString]) -> (PathBuf, Vec<OsString>) {
        match self.isolation.get_or_init(|| self.find("unshare").filter(|unshare| isolates(unshare))) {
            Some(unshare) => {
                let before = ISOLATION.map(OsString::from).into_iter().chain([program.as_os_str().to_owned()]);
                (unshare.clone(), before.chain(arguments.iter().cloned()).collect())
            }
            None => (program.to_owned(), arguments.to_vec()),
        }
    }

    /// The first of this name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.folders.iter().map(|folder| folder.join(&name)).find(|path| is_program(path))
    }
}

/// Whether the program can do what it is for.
fn isolates(unshare: &Path) -> bool {
    let mut command = Command::new(unshare);
    command.args(ISOLATION).arg(unshare).arg("--version").env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    cfg!(target_os = "linux") && command.status().is_ok_and(|status| status.success())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Runs a program in the folder `home`, which is also where it may keep files, and returns what it printed.
pub(super) fn run(program: &Path, arguments: &[OsString], home: &Utf8Path, limits: Limits) -> Result<Vec<u8>, Failed> {
    let end = Instant::now() + limits.time;
    let mut command = Command::new(program);
    // A kustomization can print variables, and a remote base would be fetched with `git` or over HTTP.
    command.args(arguments).env_clear().current_dir(home).envs(surroundings(home));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Failed::Start)?;
    let (sender, receiver) = mpsc::channel();
    let both = child.stdout.take().zip(child.stderr.take());
    if let Some((stdout, stderr)) = both {
        let errors = sender.clone();
        thread::spawn(move || errors.send((false, read(stderr, STDERR))));
        thread::spawn(move || sender.send((true, read(stdout, limits.bytes + 1))));
    }
    let mut texts = [Vec::new(), Vec::new()];
    let outcome = loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((true, bytes)) if bytes.len() as u64 > limits.bytes => break Err(Failed::TooMuch(limits.bytes)),
            Ok((is_output, bytes)) => texts[usize::from(is_output)] = bytes,
            Err(RecvTimeoutError::Timeout) => break Err(Failed::TooLong(limits.time)),
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    let status = match outcome {
        Ok(()) => status_until(&mut child, end, limits),
        Err(failed) => Err(failed),
    };
    if status.is_err() {
        let _ = child.kill().and_then(|()| child.wait());
    }
    let [stderr, stdout] = texts;
    if status? { Ok(stdout) } else { Err(Failed::Refused(String::from_utf8_lossy(&stderr).into_owned())) }
}

/// A program may close its output and go on.
fn status_until(child: &mut std::process::Child, end: Instant, limits: Limits) -> Result<bool, Failed> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() >= end => return Err(Failed::TooLong(limits.time)),
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(Failed::Start(error)),
        }
    }
}

/// Reads to the end, or as far as the limit.
fn read(stream: impl Read, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What a broken pipe leaves is what there is to tell.
    let _ = stream.take(limit).read_to_end(&mut bytes);
    bytes
}

/// All that a program knows of the world: a place for its files, and a proxy where nobody listens.
fn surroundings(home: &Utf8Path) -> Vec<(&'static str, OsString)> {
    let nowhere = || OsString::from("http://127.0.0.1:1");
    let mut known: Vec<(&str, OsString)> = vec![
        ("HOME", home.as_std_path().into()),
        ("TMPDIR", home.as_std_path().into()),
        ("KUBECONFIG", home.join("none").into_std_path_buf().into()),
        ("HTTP_PROXY", nowhere()),
        ("HTTPS_PROXY", nowhere()),
        ("NO_PROXY", OsString::new()),
        ("LC_ALL", "C".into()),
    ];
    // Windows starts no program without it.
    if cfg!(windows) {
        known.extend(["SystemRoot", "SYSTEMDRIVE"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    known
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;
    use std::time::Duration;

    use camino::Utf8Path;

    use super::{Failed, Limits, Programs, run};

    fn shell(script: &str, limits: Limits) -> Result<String, Failed> {
        let home = tempfile::tempdir().expect("a folder");
        let home = Utf8Path::from_path(home.path()).expect("UTF-8");
        let output = run(Path::new("/bin/sh"), &["-c".into(), OsString::from(script)], home, limits)?;
        Ok(String::from_utf8(output).expect("text"))
    }

    #[test]
    fn a_program_gives_what_it_prints() {
        assert_eq!(shell("printf hello", Limits::default()).expect("output"), "hello");
    }

    #[test]
    fn a_program_sees_no_variable_of_ours() {
        let seen = shell("export -p", Limits::default()).expect("output");
        assert!(!seen.contains("CARGO"), "{seen}");
        assert!(seen.contains("http://127.0.0.1:1"), "{seen}");
    }

    #[test]
    fn what_a_program_complains_of_is_kept() {
        assert!(matches!(shell("echo no >&2; exit 3", Limits::default()), Err(Failed::Refused(text)) if text == "no\n"));
    }

    #[test]
    fn a_program_that_never_ends_is_stopped() {
        let limits = Limits { time: Duration::from_millis(200), ..Limits::default() };
        assert!(matches!(shell("exec sleep 60", limits), Err(Failed::TooLong(_))));
        assert!(matches!(shell("exec >&- 2>&-; exec sleep 60", limits), Err(Failed::TooLong(_))));
    }

    #[test]
    fn a_program_that_prints_without_end_is_stopped() {
        let limits = Limits { bytes: 1024, ..Limits::default() };
        assert!(matches!(shell("while :; do echo more; done", limits), Err(Failed::TooMuch(1024))));
    }

    #[test]
    fn a_program_has_no_network_where_the_system_lets_us() {
        let programs = Programs::on("/usr/bin:/bin");
        let (program, arguments) = programs.isolated(Path::new("/bin/sh"), &["-c".into(), "readlink /proc/self/ns/net".into()]);
        let home = tempfile::tempdir().expect("a folder");
        let home = Utf8Path::from_path(home.path()).expect("UTF-8");
        let ours = std::fs::read_link("/proc/self/ns/net").map(|link| link.to_string_lossy().into_owned());
        let theirs = run(&program, &arguments, home, Limits::default()).expect("output");
        let is_ours = ours.is_ok_and(|ours| ours.as_bytes() == theirs.trim_ascii_end());
        assert_eq!(is_ours, program == Path::new("/bin/sh") && cfg!(target_os = "linux"));
    }

    #[test]
    fn a_program_is_not_taken_from_a_relative_folder() {
        assert_eq!(Programs::on(".:bin").find("sh"), None);
        assert!(Programs::on("/usr/bin:/bin").find("sh").is_some());
    }
}
