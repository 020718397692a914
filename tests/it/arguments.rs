//! What the command line says when something stands in the way: inputs, outputs, and what they ask for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::ground::{Ground, Said};

/// Folders `before` and `after` with `shop` in version 1 and 2, without git.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.app("before", "shop", "1");
    ground.app("after", "shop", "2");
    ground
}

#[test]
fn standard_input_cannot_be_two_plans() {
    ground().rollout("", "diff - -").exits(2).tells("standard input can be read only once").tells("name a file for one of the two plans");
}

#[test]
fn one_file_alone_says_that_nothing_beside_it_was_read() {
    let ground = ground();
    let said = ground.rollout("after/deploy/shop", "render rollout.yaml --base-dir rollout.yaml").exits(1);
    said.tells("error[workload-missing]").tells("only `rollout.yaml` was read: name its folder to have the objects beside it found");
    let mut command = ground.command("after/deploy/shop", "render - --base-dir rollout.yaml");
    let stream = fs::File::open(ground.path("after/deploy/shop/rollout.yaml")).unwrap();
    let said = Said::from(command.stdin(stream).output().unwrap()).exits(1);
    said.tells("only the stream was read: every object of the release has to be in it");
}

#[test]
fn a_plan_that_nobody_could_read_is_not_written() {
    let ground = ground();
    for folder in ["before", "after"] {
        for (file, kind) in [("nginx.yaml", "kind: Deployment\nmetadata:\n  "), ("rollout.yaml", "kind: Deployment\n    ")] {
            let path = ground.path(&format!("{folder}/deploy/shop/{file}"));
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replace(&format!("{kind}name: shop"), &format!("{kind}name: \"shop'$(id)\""))).unwrap();
        }
    }
    let said = ground.rollout("after", "render --base-dir ../before --out").exits(1);
    said.tells("error[plan-unsound]: the plan would be refused by who reads it: `spec.objects.Deployment/shop'$(id)@1`");
    assert!(!ground.path("after/rollouts").exists());
}

#[test]
fn output_folders_may_lie_in_each_other() {
    let ground = Ground::new();
    for (folder, version) in [("before", "1"), ("after", "2")] {
        ground.app(&format!("{folder}/a"), "shop", version);
        ground.app(&format!("{folder}/b"), "shop", version);
        let environments = "[{name: a, path: a, output: rollouts}, {name: b, path: b, output: rollouts/bee}]";
        ground.write(&format!("{folder}/.rollout.yaml"), &format!("environments: {environments}\n"));
    }
    ground.rollout("after", "render --base-dir ../before --out").exits(0);
    ground.rollout("after", "render --base-dir ../before --check").exits(0);
    ground.rollout("after", "render --base-dir ../before --out").exits(0).tells("wrote 0 files, removed 0 files");
    ground.write("after/rollouts/bee/b/demo/gone/plan.yaml", "kind: RolloutPlan\n");
    let said = ground.rollout("after", "render --base-dir ../before --check").exits(1);
    assert_eq!(said.stderr.matches("plan-stale").count(), 1, "{}", said.stderr);
    for _ in 0..2 {
        ground.rollout("after", "render --base-dir ../before --out ../elsewhere").exits(0);
        ground.rollout("after", "render --base-dir ../before --out ../elsewhere --check").exits(0);
    }
}

#[test]
fn one_file_that_cannot_be_read_is_an_error() {
    let ground = ground();
    for (text, said) in [("a: [\n", "error[unreadable]: this cannot be read: "), ("\0\u{1}", "error[unreadable]: this cannot be read: ")] {
        ground.write("one.yaml", text);
        ground.rollout("", "render one.yaml").exits(1).tells(said);
        let stream = fs::File::open(ground.path("one.yaml")).unwrap();
        Said::from(ground.command("", "render -").stdin(stream).output().unwrap()).exits(1).tells(said);
    }
    ground.write("one.yaml", "a: 1\n");
    ground.rollout("", "render one.yaml").exits(0).tells("warning[no-rollouts]: no Rollout was found in 1 file");
}

#[test]
fn a_rollout_that_is_not_there_is_answered_with_those_of_every_environment() {
    let ground = Ground::new();
    ground.app("eu", "shop", "1");
    ground.app("us", "shop", "1");
    ground.write(".rollout.yaml", "environments: [{name: eu, path: eu}, {name: us, path: us}]\n");
    ground.rollout("", "render --rollout demo/nope").exits(2).tells("there are: eu:demo/shop, us:demo/shop");
}

#[test]
fn a_rollout_of_another_environment_is_not_the_one_that_was_asked_for() {
    let ground = Ground::new();
    for (environment, name) in [("eu", "shop"), ("us", "shop"), ("us", "web")] {
        ground.app(environment, name, "1");
    }
    ground.write(".rollout.yaml", "environments: [{name: eu, path: eu}, {name: us, path: us}]\n");
    let known = "there are: eu:demo/shop, us:demo/shop, us:demo/web";
    for arguments in ["--rollout eu:demo/web", "--rollout eu:demo/web --check", "--env eu --rollout demo/web"] {
        let said = ground.rollout("", &format!("render {arguments}")).exits(2);
        said.tells(&format!("no Rollout is called `eu:demo/web`; {known}"));
    }
    let said = ground.rollout("", "render --env eu --rollout us:demo/web").exits(2);
    said.tells("`--env eu` and `--rollout us:demo/web` are two environments");
    ground.rollout("", "render --env us --rollout us:demo/web").exits(0);
}

#[test]
fn plans_that_stay_behind_in_the_configured_folder_are_told() {
    let ground = ground();
    ground.rollout("after", "render --base-dir ../before --out").exits(0);
    for (out, is_told) in [("plans", true), ("../elsewhere", true), ("rollouts", false)] {
        let said = ground.rollout("after", &format!("render --base-dir ../before --out {out}")).exits(0);
        let warning = format!(
            "rollouts/demo/shop/plan.yaml:1:1: warning[plans-elsewhere]: `rollouts` holds plans too, which stay as they are while plans go to `{out}`"
        );
        assert_eq!(said.stderr.contains(&warning), is_told, "{}", said.stderr);
    }
}

#[test]
fn a_stale_plan_is_a_no_whatever_findings_are_overlooked() {
    let ground = ground();
    ground.rollout("after", "render --base-dir ../before --check --fail-on never").exits(1).tells("error[plan-stale]");
    ground.rollout("after", "render --base-dir ../before --out --fail-on never").exits(0);
    ground.rollout("after", "render --base-dir ../before --check --fail-on never").exits(0);
}

#[test]
fn a_warning_is_a_no_where_that_is_asked_for() {
    let ground = ground();
    let path = ground.path("after/deploy/shop/nginx.yaml");
    let text = fs::read_to_string(&path).unwrap().replace("replicas: 5", "replicas: 5\n  replicas: 5");
    fs::write(path, text).unwrap();
    ground.rollout("after", "render --base-dir ../before").exits(0).tells("warning[yaml-duplicate-key]");
    ground.rollout("after", "render --base-dir ../before --fail-on warning").exits(1).tells("warning[yaml-duplicate-key]");
    ground.rollout("after", "render --base-dir ../before --fail-on never").exits(0);
}

#[test]
fn a_device_without_an_end_is_called_one() {
    let ground = ground();
    ground.rollout("after", "render /dev/full --base-dir ../before").exits(2).tells("`/dev/full` is no regular file and goes on");
    ground.rollout("after", "render --base-dir /dev/full").exits(2).tells("`/dev/full` is no regular file and goes on");
    ground.rollout("after", "show /dev/zero --step 1").exits(2).tells("a plan has at most 4 MiB");
    // Nothing is something to compare with.
    ground.rollout("after", "render --base-dir /dev/null").exits(0);
}

#[test]
fn a_pipe_of_a_shell_is_read_like_a_file() {
    let ground = ground();
    let program = env!("CARGO_BIN_EXE_rollout");
    let all = "cat deploy/shop/istio.yaml; echo ---; cat deploy/shop/nginx.yaml; echo ---; cat deploy/shop/rollout.yaml";
    let line = format!("{program} render <({all}) --base-dir ../before");
    let Ok(output) = Command::new("bash").args(["-c", &line]).current_dir(ground.path("after")).output() else {
        eprintln!("skipped: there is no bash");
        return;
    };
    let said = Said::from(output).exits(0);
    assert!(said.stdout.contains("demo/shop  Canary release of Deployment/shop in 2 steps"), "{}", said.stdout);
}

#[test]
fn a_bound_value_stands_in_the_manifests() {
    let ground = Ground::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.yaml");
    ground.rollout("", &format!("show {fixture} --step 1")).exits(2).tells("stableRevision");
    let bound = "--bind stableRevision=5d9f7c6b8 --bind canaryRevision=7c6b85d9f";
    let said = ground.rollout("", &format!("show {fixture} --step 1 {bound}")).exits(0);
    for value in ["5d9f7c6b8", "7c6b85d9f"] {
        assert!(said.stdout.contains(&format!("pod-template-hash: {value}\n")), "{}", said.stdout);
    }
    assert!(!said.stdout.contains("Revision"), "{}", said.stdout);
}

/// Runs the program in a folder as a user who is not root. None: there is no way to, which is said.
fn as_nobody(ground: &Ground, folder: &str, arguments: &str) -> Option<Said> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        return Some(ground.rollout(folder, arguments));
    }
    // The program's own folder may be closed to others.
    let program = ground.path("rollout-program");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_rollout"), &program).unwrap();
    }
    fs::set_permissions(ground.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", program.as_str()])
        .args(arguments.split(' '))
        .current_dir(ground.path(folder))
        .env("HOME", "/nonexistent")
        .output();
    match output {
        Ok(output) if !output.stderr.starts_with(b"setpriv:") => Some(output.into()),
        Ok(_) | Err(_) => {
            eprintln!("skipped: root cannot become another user here");
            None
        }
    }
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named_and_stays_as_it_is() {
    let ground = ground();
    ground.rollout("after", "render --base-dir ../before --out").exits(0);
    ground.app("after", "shop", "3");
    let plan = ground.path("after/rollouts/demo/shop/plan.yaml");
    let before = fs::read(&plan).unwrap();
    let folder = ground.path("after/rollouts");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let said = as_nobody(&ground, "after", "render --base-dir ../before --out");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let Some(said) = said else { return };
    said.exits(2).tells("cannot write `").tells("nothing was changed").tells("make the folder writable, or choose another with `--out`");
    assert_eq!(fs::read(&plan).unwrap(), before);
    assert_eq!(folder.read_dir_utf8().unwrap().count(), 1);
}

#[test]
fn an_input_that_cannot_be_read_is_an_error_at_its_name() {
    let ground = ground();
    let path = ground.path("after/deploy/shop/nginx.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let Some(said) = as_nobody(&ground, "after", "render --base-dir ../before") else { return };
    said.exits(1).tells("deploy/shop/nginx.yaml:1:1: error[file-unreadable]: cannot read the file: Permission denied");
}

/// What keeps git from an answer, as the command line tells it.
mod git {
    use std::process::Command;

    use crate::ground::{Ground, Said};

    #[test]
    fn without_a_repository_or_an_upstream_plans_are_previews() {
        let ground = super::ground();
        ground.rollout("after", "render").exits(0).tells("note[no-base]: this is no git repository: plans are previews");
        ground.rollout("after", "render --base main").exits(2).tells("is in no git repository").tells("--base-dir");
        ground.git("after", "init -q");
        ground.commit("after", "first");
        let said = ground.rollout("after", "render").exits(0);
        said.tells("neither `origin/HEAD`, `origin/main` nor `origin/master` was fetched").tells("--base REVISION");
        ground.git("after", "branch -M main");
        ground.rollout("after", "render").exits(0).tells("`--base HEAD` for what is not committed");
        ground.git("after", "checkout -q -b change");
        ground.write("after/more.yaml", "a: 1\n");
        ground.commit("after", "second");
        ground.rollout("after", "render").exits(0).tells("`--base main`, another revision");
    }

    #[test]
    fn a_base_that_was_not_fetched_is_an_error_with_the_command() {
        let ground = Ground::new();
        ground.shop();
        ground.git("", "clone -q --single-branch --branch=main origin real");
        let output = ground.command("real", "render").env("GITHUB_BASE_REF", "release").output().unwrap();
        Said::from(output).exits(2).tells("git fetch origin +refs/heads/release:refs/remotes/origin/release");
    }

    #[test]
    fn a_shallow_clone_without_the_base_is_an_error_with_the_command_and_that_helps() {
        let ground = Ground::new();
        ground.shop();
        ground.git("clone", "checkout -q -b change");
        for version in ["2", "3"] {
            ground.app("clone", "shop", version);
            ground.commit("clone", version);
        }
        ground.git("clone", "push -q origin change");
        let origin = format!("file://{}", ground.path("origin"));
        ground.git("", &format!("clone -q --depth=1 --branch=change {origin} shallow"));
        let render = || Said::from(ground.command("shallow", "render").env("GITHUB_BASE_REF", "main").output().unwrap());
        ground.rollout("shallow", "render").exits(0).tells("`git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'`");
        let fetch = "git fetch --unshallow origin +refs/heads/main:refs/remotes/origin/main";
        render().exits(2).tells(fetch);
        ground.git("shallow", fetch.strip_prefix("git ").unwrap());
        let said = render().exits(0);
        assert!(said.stdout.contains("demo/shop  Canary release"), "{}", said.stdout);
    }

    #[test]
    fn a_repository_of_another_user_is_an_error_that_says_how_to_trust_it() {
        let ground = Ground::new();
        ground.shop();
        let is_given = Command::new("chown").args(["-R", "12345"]).arg(ground.path("clone")).output().unwrap().status.success();
        if !is_given {
            eprintln!("skipped: only the root user can give a folder to another user");
            return;
        }
        for arguments in ["render", "render --commit", "render --commit --branch rollouts"] {
            ground.rollout("clone", arguments).exits(2).tells("belongs to another user").tells("git config --global --add safe.directory");
        }
    }
}
