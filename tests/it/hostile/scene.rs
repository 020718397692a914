//! The machine that a payload meets: a repository, secrets around it, and traps that tell when something touches them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::payload::{Content, Payload};

/// Stands in every place that no run may show.
pub(super) const SECRET: &str = "hunter2-4711-never-shown";

/// The folder of one payload: `repo`, and around it what is not the payload's.
pub(super) struct Scene {
    folder: TempDir,
    host: String,
    path: String,
}

impl Scene {
    /// Commits the payload's base on `origin/main`, and its change on the branch that is checked out.
    pub(super) fn new(payload: &Payload, host: &str, path: String) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap(), host: host.to_owned(), path };
        for folder in ["repo", "outside/deploy", "home", "tmp"] {
            fs::create_dir_all(scene.at(folder)).unwrap();
        }
        fs::write(scene.at("secret"), format!("{SECRET}\n")).unwrap();
        fs::write(scene.at("outside/deploy/secret.yaml"), format!("kind: Secret\nstringData: {{a: {SECRET}}}\n")).unwrap();
        fs::write(scene.at("home/.netrc"), format!("machine x password {SECRET}\n")).unwrap();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.put(&payload.before);
        scene.git(&["add", "-A", "-f"]);
        scene.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
        scene.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        scene.put(&payload.change);
        scene.git(&["add", "-A", "-f"]);
        scene.git(&["commit", "-q", "--allow-empty", "-m", "change"]);
        let mut configuration = fs::OpenOptions::new().append(true).open(scene.at("repo/.git/config")).unwrap();
        write!(configuration, "[http]\n\textraheader = AUTHORIZATION: basic {SECRET}\n").unwrap();
        for command in &payload.after {
            let command: Vec<String> = command.iter().map(|argument| scene.filled(argument)).collect();
            let status = Command::new(&command[0]).args(&command[1..]).current_dir(scene.at("repo")).status().unwrap();
            assert!(status.success(), "{}: {command:?}", payload.name);
        }
        scene
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs `rollout` in the repository.
    pub(super) fn rollout(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rollout"))
            .args(arguments)
            .current_dir(self.at("repo"))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.at("home"))
            .env("TMPDIR", self.at("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("SECRET_TOKEN", SECRET)
            .output()
            .unwrap()
    }

    /// Every file with its content, but for those that are the program's to write: the output folder, and objects, branches and
    /// the index of git.
    pub(super) fn state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut state = BTreeMap::new();
        let ours = ["rollouts", ".git/objects", ".git/refs", ".git/logs", ".git/index"].map(|path| self.at("repo").join(path));
        for entry in walkdir::WalkDir::new(self.folder.path()).into_iter().filter_entry(|entry| !ours.iter().any(|own| own == entry.path()))
        {
            let entry = entry.unwrap();
            let content = match entry.file_type() {
                kind if kind.is_symlink() => fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
                kind if kind.is_file() => fs::read(entry.path()).unwrap_or_default(),
                _ => continue,
            };
            state.insert(entry.into_path(), content);
        }
        state
    }

    fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "core.quotePath=false"])
            .args(arguments)
            .current_dir(self.at("repo"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn put(&self, files: &BTreeMap<String, Content>) {
        for (path, content) in files {
            let place = self.at("repo").join(self.filled(path));
            remove(&place);
            if *content != Content::Gone {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
            }
            match content {
                Content::Gone => {}
                Content::Link(target) => std::os::unix::fs::symlink(self.filled(target), place).unwrap(),
                Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => fs::write(place, self.filled(text)).unwrap(),
                    Err(_) => fs::write(place, bytes).unwrap(),
                },
            }
        }
    }

    fn filled(&self, text: &str) -> String {
        let place = |name: &str| self.at(name).to_str().unwrap().to_owned();
        let text = text.replace("@SECRET@", &place("secret")).replace("@MARK@", &place("mark")).replace("@OUTSIDE@", &place("outside"));
        text.replace("@HOST@", &self.host)
    }
}

fn remove(place: &Path) {
    match fs::symlink_metadata(place) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(place).unwrap(),
        Ok(_) => fs::remove_file(place).unwrap(),
        Err(_) => {}
    }
}
