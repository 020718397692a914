//! Real git repositories in a folder of their own, and the built program in them.

use std::fs;
use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};
use rollout::git::Repository;
use rollout::model::Plan;
use rollout::plan;
use tempfile::TempDir;

/// A folder with repositories in it, away from the user's own configuration.
pub(crate) struct Ground(TempDir);

impl Ground {
    pub(crate) fn new() -> Ground {
        Ground(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.0.path()).unwrap().canonicalize_utf8().unwrap().join(name)
    }

    #[track_caller]
    pub(crate) fn git(&self, folder: &str, command: &str) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
            .args(command.split(' '))
            .current_dir(self.path(folder))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, folder: &str, message: &str) -> String {
        self.git(folder, "add -A");
        self.git(folder, &format!("commit -q --allow-empty -m {message}"));
        self.git(folder, "rev-parse HEAD")
    }

    /// An origin with one commit on `main`, and a clone of it on the branch `change`. Returns the commit.
    pub(crate) fn origin_and_clone(&self) -> String {
        fs::create_dir(self.path("origin")).unwrap();
        self.git("origin", "init -q");
        self.write("origin/prod/a.yaml", "a: 1\n");
        self.write("origin/prod/b.yaml", "b: 1\n");
        self.write("origin/.gitignore", "out/\n");
        let commit = self.commit("origin", "first");
        self.git("", "clone -q origin clone");
        self.git("clone", "checkout -q -b change");
        commit
    }

    pub(crate) fn repository(&self, folder: &str) -> Repository {
        Repository::discover(&self.path(folder)).unwrap().unwrap()
    }
}

/// What the program said.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Fails unless the exit status is this one.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Said {
        assert_eq!(self.status, status, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless it was told.
    #[track_caller]
    pub(crate) fn tells(self, text: &str) -> Said {
        assert!(self.stderr.contains(text), "`{text}` is not in:\n{}", self.stderr);
        self
    }

    /// The commit that it made.
    #[track_caller]
    pub(crate) fn commit(&self) -> String {
        let told = self.stderr.lines().find_map(|line| line.strip_prefix("committed "));
        told.and_then(|told| told.split(' ').next()).expect("a commit").to_owned()
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Said { status: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ground {
    /// Runs the program in a folder; arguments are split at spaces.
    pub(crate) fn rollout(&self, folder: &str, arguments: &str) -> Said {
        self.command(folder, arguments).output().unwrap().into()
    }

    /// The same, not yet run.
    pub(crate) fn command(&self, folder: &str, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollout"));
        command
            .args(arguments.split(' '))
            .current_dir(self.path(folder))
            .env("HOME", self.path(""))
            .env("XDG_CONFIG_HOME", self.path("none"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GITHUB_BASE_REF");
        command
    }

    /// Writes a workload of this version with its Rollout and gateway objects.
    pub(crate) fn app(&self, folder: &str, name: &str, version: &str) {
        let example = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/istio-subset/before");
        for file in ["istio.yaml", "nginx.yaml", "rollout.yaml"] {
            let text = fs::read_to_string(example.join(file)).unwrap();
            let text = text.replace("nginx:1.27.4", &format!("nginx:{version}")).replace("nginx", name);
            self.write(&format!("{folder}/deploy/{name}/{file}"), &text);
        }
    }

    /// A bare origin whose `main` holds the workload `shop` in version 1, and a clone of it, on `main`.
    pub(crate) fn shop(&self) {
        fs::create_dir(self.path("origin")).unwrap();
        self.git("origin", "init -q --bare");
        self.git("", "clone -q origin clone");
        self.git("clone", "config user.name Jane");
        self.git("clone", "config user.email jane@example.org");
        self.app("clone", "shop", "1");
        self.commit("clone", "first");
        self.git("clone", "push -q origin HEAD:main");
        self.git("clone", "remote set-head origin main");
    }

    /// The plan of `shop` at a revision.
    #[track_caller]
    pub(crate) fn plan(&self, folder: &str, revision: &str) -> Plan {
        let text = self.git(folder, &format!("show {revision}:rollouts/demo/shop/plan.yaml"));
        plan::from_text(format!("{text}\n").as_bytes()).unwrap()
    }

    /// From which version to which the plan of `shop` at a revision leads: `1 to 2`, or `preview of 2`.
    #[track_caller]
    pub(crate) fn release(&self, folder: &str, revision: &str) -> String {
        let plan = self.plan(folder, revision);
        let image = |state: &[rollout::model::VersionKey]| {
            let workload = state.iter().find(|key| key.object().to_string() == "Deployment/shop").unwrap();
            let image = plan.spec.objects[workload].pointer("/spec/template/spec/containers/0/image").unwrap();
            image.as_str().unwrap().rsplit_once(':').unwrap().1.to_owned()
        };
        let (before, after) = (image(&plan.spec.baseline), image(&plan.spec.target));
        if plan.spec.release.is_some() { format!("{before} to {after}") } else { format!("preview of {after}") }
    }
}
