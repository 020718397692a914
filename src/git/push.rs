//! Fetching and pushing one branch, by the git program: it alone knows the user's credentials.
//!
//! Nothing that git says is shown before credentials are taken out of it.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::branch::Branch;
use super::commit::Commit;
use super::error::GitError;
use super::repository::Repository;

/// What pushing a commit came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The remote's branch stands at the commit.
    Taken,
    /// The remote's branch has a commit that we have not; nothing was changed.
    Behind,
}

/// Variables that point git to another repository, or make it print what it sends.
const UNWANTED: [&str; 12] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CURL_VERBOSE",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_TRACE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_REDACT",
    "GIT_WORK_TREE",
];

/// Settings by which git runs no program but those of the transport: no hooks, no monitor, no helper that an address names.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

impl Repository {
    /// Fetches a branch of a remote, so that it stands below `refs/remotes/`. A branch that the remote does not have
    /// stands there no longer.
    ///
    /// # Errors
    /// When there is no such remote, or it cannot be reached.
    pub fn fetch(&self, remote: &str, branch: &str) -> Result<(), GitError> {
        self.ensure_remote(remote)?;
        let tracking = format!("refs/remotes/{remote}/{branch}");
        let refspec = format!("+refs/heads/{branch}:{tracking}");
        let output = self.run(&["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", remote, &refspec], branch)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("couldn't find remote ref") {
            if let Ok(mut stale) = self.git.find_reference(&tracking) {
                stale.delete().map_err(|source| GitError::Write { what: "a branch", root: self.root.clone(), source })?;
            }
            return Ok(());
        }
        Err(GitError::Fetch { remote: remote.to_owned(), said: excerpt(&said) })
    }

    /// Pushes a commit to the remote's branch of the same name, never by force.
    ///
    /// # Errors
    /// When the remote cannot be reached or refuses; a branch that has moved there is an answer, not an error.
    pub fn push(&self, remote: &str, branch: &Branch, commit: Commit) -> Result<Pushed, GitError> {
        self.ensure_remote(remote)?;
        let refspec = format!("{}:{}", commit.id(), branch.reference());
        let output = self.run(&["push", "--porcelain", "--no-verify", "--recurse-submodules=no", remote, &refspec], &branch.name)?;
        if output.status.success() {
            return Ok(Pushed::Taken);
        }
        let (told, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let verdict = told.lines().find(|line| line.starts_with('!')).unwrap_or_default();
        let is_behind = ["fetch first", "non-fast-forward", "stale info", "failed to update ref", "cannot lock ref"];
        if is_behind.iter().any(|reason| verdict.contains(reason)) {
            return Ok(Pushed::Behind);
        }
        let help = if verdict.contains("[remote rejected]") {
            "the remote refuses this branch: is it protected, or a hook against it? Name another with `--branch`".to_owned()
        } else {
            format!("see that `git push {remote} HEAD:{}` works by itself, without asking for a password", branch.name)
        };
        let said = excerpt(&format!("{complained}{verdict}"));
        Err(GitError::Push { remote: remote.to_owned(), branch: branch.name.clone(), said, help })
    }

    fn ensure_remote(&self, remote: &str) -> Result<(), GitError> {
        if !remote.starts_with('-') && self.git.find_remote(remote).is_ok_and(|found| found.name().is_ok_and(|name| name == Some(remote))) {
            return Ok(());
        }
        let names: Vec<String> =
            self.git.remotes().map(|names| names.iter().flatten().flatten().map(str::to_owned).collect()).unwrap_or_default();
        let help = if names.is_empty() {
            "add one: `git remote add origin URL`".to_owned()
        } else {
            format!("name one that `git remote` knows: {}", names.join(", "))
        };
        Err(GitError::Remote { remote: without_credentials(remote), root: self.root.clone(), help })
    }

    fn run(&self, arguments: &[&str], branch: &str) -> Result<Output, GitError> {
        let failed = |source| GitError::NoProgram { branch: branch.to_owned(), source };
        let mut command = Command::new(program().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?);
        command.arg("-C").arg(self.root.as_str());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).stdin(Stdio::null());
        for variable in UNWANTED {
            command.env_remove(variable);
        }
        // Said, not looked for: what git finds by itself may be another repository than the one that was read.
        command.env("GIT_DIR", self.git.path()).env("GIT_WORK_TREE", self.root.as_str());
        // Its words are looked at, and nobody is there to answer a question.
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.output().map_err(failed)
    }
}

/// Git on the PATH. Relative folders of the PATH are left out: the repository must not bring its own.
fn program() -> Option<PathBuf> {
    let name = format!("git{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

/// Returns the text with the user names and passwords of all its addresses taken out.
pub fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        // A password may hold any character but these, `@` included: the last one ends it.
        let end = after.find(|character: char| character.is_whitespace() || matches!(character, '/' | '\'' | '"')).unwrap_or(after.len());
        rest = after[..end].rfind('@').map_or(after, |at| &after[at + 1..]);
    }
    clean.push_str(rest);
    clean
}

/// The first lines of what git said, to stand at the end of a message.
fn excerpt(said: &str) -> String {
    let clean = without_credentials(said);
    let lines: Vec<String> = clean
        .lines()
        .map(|line| line.chars().filter(|character| !character.is_control() || *character == '\t').take(300).collect::<String>())
        .filter(|line| !line.trim().is_empty())
        .take(10)
        .collect();
    if lines.is_empty() { String::new() } else { format!(":\n  {}", lines.join("\n  ")) }
}

#[cfg(test)]
mod tests {
    use super::{excerpt, without_credentials};

    #[test]
    fn no_credential_is_shown() {
        for (text, shown) in [
            ("fatal: https://me:s3cret@host/x.git gone", "fatal: https://host/x.git gone"),
            ("https://x-access-token:ghs_1@github.com/a/b and ssh://git@h/x", "https://github.com/a/b and ssh://h/x"),
            ("https://me:p@ss@host", "https://host"),
            ("unable to access 'https://t@host/': 403", "unable to access 'https://host/': 403"),
            ("git@github.com:a/b.git", "git@github.com:a/b.git"),
            ("https://host/a@b", "https://host/a@b"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn what_git_says_is_short_and_moves_no_cursor() {
        assert_eq!(excerpt("\n"), "");
        assert_eq!(excerpt("remote: \x1b[31mno\n\nfatal: x\n"), ":\n  remote: [31mno\n  fatal: x");
        assert_eq!(excerpt(&"x\n".repeat(50)).lines().count(), 11);
    }
}
