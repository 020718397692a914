//! Plans as commits: what is in them, and what is left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rollout::git::{Draft, GitError};
use serde_json::{Value, json};

use crate::ground::{Ground, Said};

/// A ground whose clone has `shop` changed to version 2, on the branch `change`.
fn changed() -> Ground {
    let ground = Ground::new();
    ground.shop();
    ground.git("clone", "checkout -q -b change");
    ground.app("clone", "shop", "2");
    ground.commit("clone", "second");
    ground
}

const FILES: &str = "rollouts/demo/shop/1.diff\nrollouts/demo/shop/2.diff\nrollouts/demo/shop/README.md\nrollouts/demo/shop/abort.diff\nrollouts/demo/shop/argocd.txt\nrollouts/demo/shop/finish.diff\nrollouts/demo/shop/flux.txt\nrollouts/demo/shop/plan.yaml";

#[test]
fn plans_are_committed_to_the_branch_that_is_checked_out_and_its_files_follow() {
    let ground = changed();
    let source = ground.git("clone", "rev-parse HEAD");
    let said = ground.rollout("clone", "render --commit").exits(0).tells("to `change`: wrote 8 files, removed 0 files");
    assert_eq!(ground.git("clone", "rev-parse HEAD"), said.commit());
    assert_eq!(ground.git("clone", "rev-parse HEAD^"), source);
    assert_eq!(ground.git("clone", "diff --name-only HEAD^ HEAD"), FILES);
    assert_eq!(ground.git("clone", "status --porcelain"), "");
    assert_eq!(ground.git("clone", "symbolic-ref --short HEAD"), "change");
    assert_eq!(ground.release("clone", "HEAD"), "1 to 2");
    ground.rollout("clone", "render --check").exits(0);
}

#[test]
fn the_message_names_each_plan_with_its_digest_and_the_commit_it_comes_from() {
    let ground = changed();
    let source = ground.git("clone", "rev-parse HEAD");
    ground.rollout("clone", "render --commit").exits(0);
    let digest = rollout::plan::digest(&ground.plan("clone", "HEAD").spec);
    assert_eq!(
        ground.git("clone", "log -1 --format=%B"),
        format!(
            "rollout: plan demo/shop\n\ndemo/shop: Canary release of Deployment/shop in 2 steps\n\nRollout-Plan: demo/shop {digest}\nRollout-Source: {source}"
        )
    );
    let trailers = ground.git("clone", "log -1 --format=%(trailers:key=Rollout-Source,valueonly)");
    assert_eq!(trailers, source);
    assert_eq!(ground.git("clone", "log -1 --format=%an<%ae>%cn"), "Jane<jane@example.org>Jane");
    assert_eq!(ground.git("clone", "log -1 --format=%ai%ci"), ground.git("clone", "log -1 --format=%ci%ci HEAD^"));
}

#[test]
fn what_is_staged_and_changed_elsewhere_stays_as_it_is() {
    let ground = changed();
    ground.write("clone/notes.txt", "staged\n");
    ground.git("clone", "add notes.txt");
    ground.write("clone/notes.txt", "changed\n");
    ground.write("clone/rollouts/demo/shop/NOTES.md", "mine\n");
    ground.rollout("clone", "render --commit").exits(0);
    assert_eq!(ground.git("clone", "diff --name-only HEAD^ HEAD"), FILES);
    assert_eq!(ground.git("clone", "status --porcelain"), "AM notes.txt\n?? rollouts/demo/shop/NOTES.md");
}

#[test]
fn plans_that_were_edited_staged_or_written_before_are_as_committed_then() {
    let ground = changed();
    ground.rollout("clone", "render --out").exits(0);
    ground.write("clone/rollouts/demo/shop/1.diff", "edited\n");
    ground.git("clone", "add -A");
    ground.write("clone/rollouts/demo/shop/plan.yaml", "edited\n");
    ground.rollout("clone", "render --commit").exits(0);
    assert_eq!(ground.git("clone", "status --porcelain"), "");
    ground.rollout("clone", "render --check").exits(0);
}

#[test]
fn nothing_is_committed_when_nothing_has_changed() {
    let ground = changed();
    ground.rollout("clone", "render --commit").exits(0);
    let head = ground.git("clone", "rev-parse HEAD");
    ground.rollout("clone", "render --commit").exits(0).tells("nothing to commit: the plans on `change` are what the manifests say");
    assert_eq!(ground.git("clone", "rev-parse HEAD"), head);
}

#[test]
fn the_same_plans_on_the_same_parent_are_the_same_commit_at_any_time() {
    let ground = changed();
    let then = "2001-02-03T04:05:06+05:30";
    let amended = Command::new("git")
        .args(["commit", "-q", "--amend", "--no-edit"])
        .current_dir(ground.path("clone"))
        .env("GIT_COMMITTER_DATE", then)
        .status();
    assert!(amended.unwrap().success());
    let first = ground.rollout("clone", "render --commit").exits(0).commit();
    assert_eq!(ground.git("clone", "log -1 --format=%aI,%cI"), format!("{then},{then}"));
    ground.git("clone", "reset -q --hard HEAD^");
    assert_eq!(ground.rollout("clone", "render --commit").exits(0).commit(), first);
}

#[test]
fn a_branch_of_plans_begins_with_no_parent_and_touches_neither_files_nor_index() {
    let ground = changed();
    ground.write("clone/notes.txt", "staged\n");
    ground.git("clone", "add notes.txt");
    let before = (ground.git("clone", "status --porcelain"), fs::read(ground.path("clone/.git/index")).unwrap());
    let head = ground.git("clone", "rev-parse HEAD");
    let said = ground.rollout("clone", "render --commit --branch rollouts").exits(0).tells("to `rollouts`: wrote 8 files");
    assert_eq!((ground.git("clone", "status --porcelain"), fs::read(ground.path("clone/.git/index")).unwrap()), before);
    assert_eq!(ground.git("clone", "rev-parse HEAD"), head);
    assert_eq!(ground.git("clone", "rev-list rollouts"), said.commit());
    assert_eq!(ground.git("clone", "ls-tree -r --name-only rollouts"), format!("hydrator.metadata\n{FILES}"));
    assert!(!ground.path("clone/rollouts").exists());
    ground.rollout("clone", "render --commit --branch rollouts").exits(0).tells("nothing to commit");
    ground.rollout("clone", "render --check --branch rollouts").exits(0);
}

#[test]
fn promotion_tools_find_the_source_in_the_metadata_and_no_credentials() {
    let ground = changed();
    ground.git("clone", "remote set-url origin https://me:s3cret@example.org/shop.git");
    ground.git("clone", "commit -q --amend --allow-empty -m subject -m body");
    ground.rollout("clone", "render --commit --branch environment/prod-next").exits(0);
    let text = ground.git("clone", "show environment/prod-next:hydrator.metadata");
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "drySha": ground.git("clone", "rev-parse HEAD"),
        "repoURL": "https://example.org/shop.git",
        "author": "n <e@x>",
        "date": ground.git("clone", "log -1 --format=%cI"),
        "subject": "subject",
        "body": "body",
    });
    assert_eq!(metadata, expected);
}

#[test]
fn plans_of_rollouts_that_are_gone_are_removed_and_all_else_on_the_branch_is_kept() {
    let ground = changed();
    ground.app("clone", "web", "1");
    ground.commit("clone", "web");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0).tells("wrote 16 files");
    // Somebody adds files of their own on the branch.
    ground.git("clone", "worktree add -q ../plans rollouts");
    ground.write("plans/rollouts/kustomization.yaml", "resources: []\n");
    ground.write("plans/rollouts/demo/web/NOTES.md", "mine\n");
    ground.commit("plans", "mine");
    ground.git("clone", "worktree remove ../plans");
    fs::remove_dir_all(ground.path("clone/deploy/web")).unwrap();
    ground.commit("clone", "no-web");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0).tells("wrote 0 files, removed 8 files");
    let files = ground.git("clone", "ls-tree -r --name-only rollouts");
    assert_eq!(
        files,
        format!("hydrator.metadata\nrollouts/demo/shop/{}", {
            let shop = FILES.strip_prefix("rollouts/demo/shop/").unwrap();
            format!("{shop}\nrollouts/demo/web/NOTES.md\nrollouts/kustomization.yaml")
        })
    );
    let message = ground.git("clone", "log -1 --format=%B rollouts");
    assert!(message.starts_with("rollout: remove the plan of demo/web\n\nRollout-Removed: demo/web\nRollout-Source: "), "{message}");
}

#[test]
fn plans_that_were_not_asked_for_stay() {
    let ground = changed();
    ground.app("clone", "web", "1");
    ground.commit("clone", "web");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0).tells("wrote 16 files");
    ground.app("clone", "shop", "3");
    ground.app("clone", "web", "3");
    ground.commit("clone", "third");
    ground.rollout("clone", "render --commit --branch rollouts --rollout demo/shop").exits(0);
    let changed = ground.git("clone", "diff --name-only rollouts^ rollouts");
    assert!(changed.contains("demo/shop/plan.yaml") && !changed.contains("web"), "{changed}");
}

#[test]
fn a_folder_beside_the_manifests_is_an_output_folder_of_the_repository_too() {
    let ground = changed();
    ground.rollout("clone", "render deploy --out plans --commit").exits(0);
    assert_eq!(ground.git("clone", "diff --name-only HEAD^ HEAD"), FILES.replace("rollouts/", "plans/"));
    assert_eq!(ground.git("clone", "status --porcelain"), "");
    // What is there is found again, as the plan to start from.
    ground.git("clone", "push -q origin change:main");
    ground.rollout("clone", "render deploy --out plans --commit").exits(0).tells("nothing to commit");
}

#[test]
fn outside_of_the_repository_nothing_can_be_committed() {
    let ground = changed();
    ground.rollout("clone", "render --out ../elsewhere --commit").exits(2).tells("lies outside of the git repository");
    fs::create_dir(ground.path("alone")).unwrap();
    ground.app("alone", "shop", "1");
    ground.rollout("alone", "render --commit").exits(2).tells("there is no git repository around");
    ground.rollout("alone", "render --commit --branch rollouts").exits(2).tells("there is no git repository for the branch `rollouts`");
}

#[test]
fn manifests_that_are_not_committed_are_named_and_nothing_is_committed() {
    let ground = changed();
    ground.app("clone", "shop", "3");
    ground.write("clone/deploy/new.yaml", "a: 1\n");
    let said = ground.rollout("clone", "render --commit").exits(2);
    said.tells("plans are made from 2 files that HEAD has otherwise: `deploy/new.yaml`, `deploy/shop/nginx.yaml`")
        .tells("commit or stash them first");
    ground.rollout("clone", "render --commit --branch rollouts").exits(2);
    assert_eq!(ground.git("clone", "branch --list rollouts"), "");
}

#[test]
fn whatever_a_build_is_made_from_has_to_be_committed() {
    let ground = Ground::new();
    ground.shop();
    if Command::new("kubectl").arg("version").arg("--client").output().is_err() {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let resources = "resources: [istio.yaml, nginx.yaml, rollout.yaml]\nconfigMapGenerator:\n- {name: shop, envs: [shop.env]}\n";
    ground.write("clone/deploy/shop/kustomization.yaml", resources);
    ground.write("clone/deploy/shop/shop.env", "A=1\n");
    ground.commit("clone", "kustomization");
    ground.write("clone/notes.env", "no part of it\n");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0);
    ground.write("clone/deploy/shop/shop.env", "A=2\n");
    let said = ground.rollout("clone", "render --commit --branch rollouts").exits(2);
    said.tells("plans are made from 1 file that HEAD has otherwise: `deploy/shop/shop.env`");
}

#[test]
fn an_output_folder_in_another_one_keeps_its_plans() {
    let ground = changed();
    ground.app("clone", "web", "1");
    let environments = "- {name: all, path: deploy/shop}\n- {name: web, path: deploy/web, output: rollouts/more}\n";
    ground.write("clone/.rollout.yaml", &format!("environments:\n{environments}"));
    ground.commit("clone", "environments");
    ground.rollout("clone", "render --commit").exits(0).tells("wrote 16 files, removed 0 files");
    assert!(ground.git("clone", "ls-files").contains("rollouts/more/web/demo/web/plan.yaml"));
    ground.rollout("clone", "render --commit").exits(0).tells("nothing to commit");
    assert_eq!(ground.git("clone", "status --porcelain"), "");
}

#[test]
fn a_stream_comes_from_no_commit() {
    let ground = changed();
    let all = ["istio", "nginx", "rollout"].map(|name| fs::read_to_string(ground.path(&format!("clone/deploy/shop/{name}.yaml"))).unwrap());
    ground.write("all.yaml", &all.join("---\n"));
    let stream = fs::File::open(ground.path("all.yaml")).unwrap();
    let output = ground.command("clone", "render - --commit").stdin(stream).output().unwrap();
    crate::ground::Said::from(output).exits(2).tells("a stream comes from no commit that a plan could name");
}

#[test]
fn an_error_among_the_findings_commits_nothing() {
    let ground = changed();
    ground.write(
        "clone/deploy/broken.yaml",
        "kind: Rollout\napiVersion: rollouts.kruise.io/v1beta1\nmetadata: {name: x}\nspec: {steps: 1}\n",
    );
    ground.commit("clone", "broken");
    let head = ground.git("clone", "rev-parse HEAD");
    ground.rollout("clone", "render --commit").exits(1).tells("committed nothing: there ");
    assert_eq!(ground.git("clone", "rev-parse HEAD"), head);
    assert_eq!(ground.git("clone", "status --porcelain"), "");
}

#[test]
fn a_detached_head_an_unborn_branch_and_a_merge_say_what_to_do() {
    let ground = changed();
    ground.git("clone", "checkout -q --detach");
    ground.rollout("clone", "render --commit").exits(2).tells("is detached").tells("name one: `--branch BRANCH`");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0);
    ground.git("clone", "checkout -q change");
    ground.git("clone", "checkout -q -b other HEAD^");
    ground.commit("clone", "empty");
    ground.git("clone", "merge -q --no-commit --no-ff change");
    ground.rollout("clone", "render --commit").exits(2).tells("in the middle of a merge");
    fs::create_dir(ground.path("new")).unwrap();
    ground.git("new", "init -q");
    ground.app("new", "shop", "1");
    for arguments in ["render --commit", "render --commit --branch rollouts"] {
        ground.rollout("new", arguments).exits(2).tells("has no commit yet");
    }
}

#[test]
fn a_branch_that_a_work_tree_shows_is_refused() {
    let ground = changed();
    ground
        .rollout("clone", "render --commit --branch change")
        .exits(2)
        .tells("the branch `change` is checked out")
        .tells("leave out `--branch`");
    ground.git("clone", "worktree add -q ../plans -b plans");
    let place = ground.path("plans");
    ground.rollout("clone", "render --commit --branch plans").exits(2).tells(&format!("is checked out in `{place}`"));
    // And seen from there, the first work tree counts too.
    ground.rollout("plans", "render --commit --branch change").exits(2).tells(&format!("is checked out in `{}`", ground.path("clone")));
    ground.rollout("plans", "render --commit --branch rollouts").exits(0);
}

#[test]
fn a_name_that_no_branch_can_have_is_refused() {
    let ground = changed();
    for name in ["a..b", "HEAD", "-x", "refs/heads/", "a:b"] {
        ground.rollout("clone", &format!("render --commit --branch={name}")).exits(2).tells("cannot be the name of a branch");
    }
}

#[test]
fn a_file_in_the_way_of_a_folder_is_named() {
    let ground = changed();
    ground.git("clone", "checkout -q --orphan rollouts");
    ground.git("clone", "rm -rfq .");
    ground.write("clone/rollouts", "a file\n");
    ground.commit("clone", "file");
    ground.git("clone", "checkout -q change");
    ground
        .rollout("clone", "render --commit --branch rollouts")
        .exits(2)
        .tells("cannot commit `rollouts` to `rollouts`: a file is in the way");
}

#[test]
fn a_branch_that_moves_meanwhile_keeps_what_was_put_there() {
    let ground = changed();
    ground.git("clone", "branch rollouts");
    let repository = ground.repository("clone");
    let branch = repository.other_branch("rollouts", "origin").unwrap();
    let source = repository.source("origin").unwrap();
    let mut draft = Draft { message: "m\n".into(), ..Draft::default() };
    draft.written.insert("a.txt", b"a".to_vec());
    let commit = repository.commit(&branch, &source, &draft).unwrap();
    ground.git("clone", "branch -f rollouts HEAD^");
    assert!(matches!(repository.advance(&branch, commit), Err(GitError::Moved { .. })));
    assert_eq!(ground.git("clone", "rev-parse rollouts"), ground.git("clone", "rev-parse HEAD^"));
    // The same for a branch that was not there, and one that is gone.
    let branch = repository.other_branch("new", "origin").unwrap();
    let commit = repository.commit(&branch, &source, &draft).unwrap();
    ground.git("clone", "branch new");
    assert!(matches!(repository.advance(&branch, commit), Err(GitError::Moved { .. })));
    let branch = repository.other_branch("new", "origin").unwrap();
    ground.git("clone", "branch -D new");
    assert!(matches!(repository.advance(&branch, commit), Err(GitError::Moved { .. })));
}

#[test]
fn without_a_configured_user_rollout_commits() {
    let ground = changed();
    ground.git("clone", "config --unset user.name");
    ground.git("clone", "config --unset user.email");
    ground.rollout("clone", "render --commit").exits(0);
    assert_eq!(ground.git("clone", "log -1 --format=%an<%ae>"), "rollout<noreply@rollout.dev>");
}

#[test]
fn stale_plans_on_a_branch_are_named_with_the_branch() {
    let ground = changed();
    let said = ground.rollout("clone", "render --check --branch rollouts").exits(1);
    said.tells("rollouts:rollouts/demo/shop/plan.yaml:1:1: error[plan-stale]: the plan's file is not there");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0);
    ground.app("clone", "shop", "3");
    ground.rollout("clone", "render --check --branch rollouts").exits(1).tells("the file is not what the manifests say now");
}

#[test]
fn a_pushed_branch_of_plans_is_the_same_here_and_there() {
    let ground = changed();
    let said = ground.rollout("clone", "render --commit --branch rollouts --push").exits(0).tells("pushed it to `origin`");
    assert_eq!(ground.git("origin", "rev-parse rollouts"), said.commit());
    assert_eq!(ground.git("clone", "rev-parse rollouts"), said.commit());
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0).tells("nothing to commit");
    // Another clone, as a job has it, goes on where the remote is, though it has fetched nothing of it.
    ground.git("", "clone -q --single-branch --branch=main origin job");
    ground.app("job", "shop", "3");
    ground.commit("job", "third");
    let next = ground.rollout("job", "render --commit --branch rollouts --push").exits(0).commit();
    assert_eq!(ground.git("origin", "rev-parse rollouts^"), said.commit());
    assert_eq!(ground.git("origin", "rev-parse rollouts"), next);
    assert_eq!(ground.release("job", "rollouts"), "2 to 3");
}

#[test]
fn a_commit_that_was_not_pushed_then_is_pushed_now() {
    let ground = changed();
    let commit = ground.rollout("clone", "render --commit --branch rollouts").exits(0).commit();
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0).tells("nothing to commit").tells("`origin` has it");
    assert_eq!(ground.git("origin", "rev-parse rollouts"), commit);
}

#[test]
fn the_branch_that_is_checked_out_is_pushed_too() {
    let ground = changed();
    let commit = ground.rollout("clone", "render --commit --push").exits(0).commit();
    assert_eq!(ground.git("origin", "rev-parse change"), commit);
    assert_eq!(ground.git("clone", "status --porcelain"), "");
    // Somebody else pushes to it.
    ground.git("", "clone -q --branch=change origin other");
    ground.commit("other", "theirs");
    ground.git("other", "push -q origin change");
    ground.app("clone", "shop", "3");
    let head = ground.commit("clone", "third");
    let said = ground.rollout("clone", "render --commit --push").exits(2);
    said.tells("`origin` did not take the commit for `change`, and nothing was changed here").tells("git pull --rebase origin change");
    assert_eq!(ground.git("clone", "rev-parse HEAD"), head);
    assert_eq!(ground.git("clone", "status --porcelain"), "");
}

/// Lets somebody else push a plan while ours is on its way, by a program called `git` that does so before it is git.
fn pushed_meanwhile(ground: &Ground, is_every_time: bool) -> Said {
    ground.git("", "clone -q --branch=main origin other");
    ground.git("other", "config user.name Joe");
    ground.git("other", "config user.email joe@example.org");
    ground.app("other", "shop", "7");
    ground.commit("other", "theirs");
    let binary = env!("CARGO_BIN_EXE_rollout");
    let times = if is_every_time { "" } else { "[ ! -e \"$0.once\" ] && touch \"$0.once\" && " };
    let (other, folder) = (ground.path("other"), ground.path("other/deploy/shop"));
    let path = std::env::var("PATH").unwrap();
    let program = format!(
        "#!/bin/sh
export PATH={path}
meanwhile() (
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX
cd {other} || exit 0
echo \"# $$\" >> {folder}/rollout.yaml
sed -i \"s/image: shop:.*/image: shop:7.$$/\" {folder}/nginx.yaml
git commit -qam more
{binary} render --commit --branch rollouts --push >/dev/null 2>&1
)
case \" $* \" in *\" push \"*) {times}meanwhile ;; esac
exec git \"$@\"
"
    );
    ground.write("bin/git", &program);
    fs::set_permissions(ground.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = ground.command("clone", "render --commit --branch rollouts --push");
    command.env("PATH", format!("{}:{path}", ground.path("bin"))).output().unwrap().into()
}

#[test]
fn plans_pushed_by_somebody_else_meanwhile_are_where_ours_start_from() {
    let ground = changed();
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0);
    ground.app("clone", "shop", "3");
    ground.commit("clone", "third");
    let said = pushed_meanwhile(&ground, false).exits(0).tells("pushed it to `origin`");
    assert_eq!(ground.git("origin", "rev-parse rollouts"), said.commit());
    assert_eq!(ground.git("origin", "rev-list --count rollouts"), "3");
    let release = ground.release("clone", "rollouts");
    assert!(release.starts_with("7.") && release.ends_with(" to 3"), "{release}");
    assert!(said.stdout.matches("demo/shop  Canary release").count() == 1, "it is told once: {}", said.stdout);
}

#[test]
fn a_branch_that_moves_again_and_again_is_given_up() {
    let ground = changed();
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0);
    let before = ground.git("clone", "rev-parse rollouts");
    ground.app("clone", "shop", "3");
    ground.commit("clone", "third");
    pushed_meanwhile(&ground, true).exits(2).tells("moves at the remote faster than plans are rendered");
    assert_eq!(ground.git("clone", "rev-parse rollouts"), before);
}

#[test]
fn no_hook_runs() {
    let ground = changed();
    for hook in ["pre-push", "reference-transaction", "post-checkout", "fsmonitor"] {
        let path = format!("clone/.git/hooks/{hook}");
        ground.write(&path, &format!("#!/bin/sh\ntouch {}\n", ground.path("hooked")));
        fs::set_permissions(ground.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    ground.git("clone", "config core.fsmonitor .git/hooks/fsmonitor");
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0).tells("pushed it to `origin`");
    assert!(!ground.path("hooked").exists());
}

#[test]
fn a_remote_that_names_a_program_is_refused() {
    let ground = changed();
    ground.git("clone", &format!("remote set-url origin ext::touch\u{a0}{}", ground.path("run")).replace('\u{a0}', "\t"));
    ground.git("clone", "config protocol.ext.allow always");
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(2).tells("transport 'ext' not allowed");
    assert!(!ground.path("run").exists());
}

#[test]
fn a_remote_that_refuses_is_quoted() {
    let ground = changed();
    ground.write("origin/hooks/pre-receive", "#!/bin/sh\necho protected, see https://bot:t0ken@example.org/rules\nexit 1\n");
    fs::set_permissions(ground.path("origin/hooks/pre-receive"), fs::Permissions::from_mode(0o755)).unwrap();
    let said = ground.rollout("clone", "render --commit --branch rollouts --push").exits(2);
    assert!(!said.stderr.contains("t0ken"), "{}", said.stderr);
    said.tells("remote: protected, see https://example.org/rules").tells("is it protected, or a hook against it?");
    assert_eq!(ground.git("clone", "branch --list rollouts"), "");
}

#[test]
fn a_remote_that_is_not_there_is_named_without_its_password() {
    let ground = changed();
    let said = ground.rollout("clone", "render --commit --branch rollouts --push https://me:s3cret@example.org/x").exits(2);
    assert!(!said.stderr.contains("s3cret"), "{}", said.stderr);
    said.tells("has no remote `https://example.org/x`").tells("origin");
    ground.git("clone", "remote set-url origin ../nowhere");
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(2).tells("`git fetch origin` failed");
    ground.rollout("clone", "render --commit --push").exits(2).tells("did not take the commit for `change`");
}

#[test]
fn without_the_git_program_a_push_says_so() {
    let ground = changed();
    let said = ground.command("clone", "render --commit --push").env("PATH", "/nowhere").output().unwrap();
    let said = crate::ground::Said::from(said).exits(2).tells("cannot run `git`");
    assert!(said.stdout.is_empty(), "{}", said.stdout);
}

#[test]
fn branches_that_have_parted_are_told() {
    let ground = changed();
    ground.rollout("clone", "render --commit --branch rollouts --push").exits(0);
    ground.git("", "clone -q --branch=main origin other");
    ground.app("other", "shop", "7");
    ground.commit("other", "theirs");
    ground.rollout("other", "render --commit --branch rollouts --push").exits(0);
    ground.app("clone", "shop", "3");
    ground.commit("clone", "third");
    ground.rollout("clone", "render --commit --branch rollouts").exits(0);
    let said = ground.rollout("clone", "render --commit --branch rollouts --push").exits(2);
    said.tells("`rollouts` and `origin/rollouts` have parted").tells("git branch -f rollouts origin/rollouts");
}
