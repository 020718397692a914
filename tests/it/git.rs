//! Base revisions and changes, on real repositories made by the git program.

use std::fs;
use std::process::Command;

use rollout::disk;
use rollout::git::{Base, Changes, GitError, Repository};

use crate::ground::Ground;

#[track_caller]
fn base(repository: &Repository) -> Base {
    repository.base(None, None).unwrap().unwrap()
}

fn changes(repository: &Repository, base: &Base, prefix: &str) -> Changes {
    repository.changes_since(base, prefix, &disk::is_read).unwrap()
}

#[track_caller]
fn expect(changes: &Changes, texts: &[(&str, &str)], removed: &[&str]) {
    let actual: Vec<_> = changes.changed.iter().map(|(path, bytes)| (path, std::str::from_utf8(bytes).unwrap())).collect();
    assert_eq!(actual, texts);
    assert_eq!(changes.removed.iter().map(String::as_str).collect::<Vec<_>>(), removed);
}

#[test]
fn outside_of_a_repository_there_is_none() {
    let ground = Ground::new();
    assert!(Repository::discover(&ground.path("")).unwrap().is_none());
}

#[test]
fn a_folder_below_the_root_finds_the_repository_and_its_own_place_in_it() {
    let ground = Ground::new();
    ground.origin_and_clone();
    let repository = ground.repository("clone/prod");
    assert_eq!(repository.root(), ground.path("clone"));
    assert_eq!(repository.prefix_of(&ground.path("clone/prod")).as_deref(), Some("prod"));
    assert_eq!(repository.prefix_of(&ground.path("clone")).as_deref(), Some(""));
    assert_eq!(repository.prefix_of(&ground.path("origin")), None);
}

#[test]
fn the_base_is_where_the_branch_parts_from_the_origin() {
    let ground = Ground::new();
    let first = ground.origin_and_clone();
    ground.write("clone/prod/a.yaml", "a: 2\n");
    ground.commit("clone", "mine");
    ground.write("origin/prod/b.yaml", "b: 2\n");
    ground.commit("origin", "theirs");
    ground.git("clone", "fetch -q");
    let repository = ground.repository("clone");
    let base = base(&repository);
    assert_eq!((base.commit(), base.name()), (first, "merge base with origin/HEAD"));
    expect(&changes(&repository, &base, ""), &[("prod/a.yaml", "a: 1\n")], &[]);
}

#[test]
fn the_branch_of_the_pull_request_comes_first() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.git("origin", "checkout -q -b release");
    let release = ground.commit("origin", "release");
    ground.git("clone", "fetch -q");
    ground.git("clone", "checkout -q -b fix origin/release");
    ground.commit("clone", "fix");
    let repository = ground.repository("clone");
    let base = repository.base(None, Some("release")).unwrap().unwrap();
    assert_eq!((base.commit(), base.name()), (release, "merge base with origin/release"));
    assert_eq!(repository.base(None, Some("")).unwrap().unwrap().name(), "merge base with origin/HEAD");
}

#[test]
fn a_branch_that_was_not_fetched_is_named_with_the_command() {
    let ground = Ground::new();
    ground.origin_and_clone();
    let error = ground.repository("clone").base(None, Some("release")).unwrap_err().to_string();
    assert!(error.contains("the base branch `release` is not in the repository"), "{error}");
    assert!(error.contains("`git fetch origin +refs/heads/release:refs/remotes/origin/release`"), "{error}");
}

#[test]
fn uncommitted_staged_and_untracked_files_count_and_ignored_ones_do_not() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.write("clone/prod/a.yaml", "a: 2\n");
    ground.write("clone/prod/staged.yaml", "s: 1\n");
    ground.git("clone", "add prod/staged.yaml");
    ground.write("clone/prod/new/deep/untracked.yaml", "u: 1\n");
    ground.write("clone/prod/notes.txt", "n\n");
    ground.write("clone/out/ignored.yaml", "i: 1\n");
    fs::remove_file(ground.path("clone/prod/b.yaml")).unwrap();
    let repository = ground.repository("clone");
    let changes = changes(&repository, &base(&repository), "");
    expect(&changes, &[("prod/a.yaml", "a: 1\n"), ("prod/b.yaml", "b: 1\n")], &["prod/new/deep/untracked.yaml", "prod/staged.yaml"]);
    assert_eq!(changes.paths().len(), 4);
}

#[test]
fn a_file_changed_back_after_staging_counts_with_the_text_it_has() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.write("clone/prod/a.yaml", "a: 2\n");
    ground.git("clone", "add -A");
    ground.write("clone/prod/a.yaml", "a: 1\n");
    let repository = ground.repository("clone");
    expect(&changes(&repository, &base(&repository), ""), &[("prod/a.yaml", "a: 1\n")], &[]);
    ground.git("clone", "add -A");
    let repository = ground.repository("clone");
    let changes = changes(&repository, &base(&repository), "");
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn a_renamed_file_is_one_gone_and_one_new() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.git("clone", "mv prod/a.yaml prod/c.yaml");
    let repository = ground.repository("clone");
    expect(&changes(&repository, &base(&repository), ""), &[("prod/a.yaml", "a: 1\n")], &["prod/c.yaml"]);
}

#[test]
fn only_the_folder_asked_for_counts_and_paths_begin_in_it() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.write("clone/prod/a.yaml", "a: 2\n");
    ground.write("clone/production/a.yaml", "a: 1\n");
    ground.write("clone/staging/a.yaml", "a: 1\n");
    let repository = ground.repository("clone");
    expect(&changes(&repository, &base(&repository), "prod"), &[("a.yaml", "a: 1\n")], &[]);
}

#[test]
fn a_worktree_is_a_repository_too() {
    let ground = Ground::new();
    let first = ground.origin_and_clone();
    ground.git("clone", "worktree add -q ../tree -b other");
    ground.write("tree/prod/a.yaml", "a: 2\n");
    let repository = ground.repository("tree/prod");
    assert_eq!(repository.root(), ground.path("tree"));
    let base = base(&repository);
    assert_eq!(base.commit(), first);
    expect(&changes(&repository, &base, ""), &[("prod/a.yaml", "a: 1\n")], &[]);
}

#[test]
fn a_detached_head_parts_from_the_origin_too() {
    let ground = Ground::new();
    let first = ground.origin_and_clone();
    ground.commit("clone", "mine");
    ground.git("clone", "checkout -q --detach");
    assert_eq!(base(&ground.repository("clone")).commit(), first);
}

#[test]
fn without_an_origin_there_is_no_base_unless_one_is_named() {
    let ground = Ground::new();
    fs::create_dir(ground.path("alone")).unwrap();
    ground.git("alone", "init -q");
    let repository = ground.repository("alone");
    assert_eq!(repository.base(None, None).unwrap(), None);
    ground.write("alone/a.yaml", "a: 1\n");
    let first = ground.commit("alone", "first");
    ground.git("alone", "tag v1");
    ground.commit("alone", "second");
    assert_eq!(repository.base(None, None).unwrap(), None);
    for revision in ["HEAD~1", "v1", &first[..10]] {
        let base = repository.base(Some(revision), None).unwrap().unwrap();
        assert_eq!((base.commit(), base.name()), (first.clone(), revision));
    }
}

#[test]
fn an_unknown_revision_is_named() {
    let ground = Ground::new();
    ground.origin_and_clone();
    let repository = ground.repository("clone");
    let error = repository.base(Some("v9"), None).unwrap_err().to_string();
    assert!(error.starts_with("`v9` is not a revision of the repository"), "{error}");
    let error = repository.base(Some("origin/v9"), None).unwrap_err().to_string();
    assert!(error.contains("help: `git fetch origin +refs/heads/v9:refs/remotes/origin/v9`"), "{error}");
}

#[test]
fn a_shallow_clone_without_the_base_says_what_to_fetch_and_that_helps() {
    let ground = Ground::new();
    let first = ground.origin_and_clone();
    ground.git("origin", "checkout -q -b change");
    ground.commit("origin", "mine");
    ground.commit("origin", "mine-too");
    ground.git("origin", "checkout -q main");
    ground.commit("origin", "theirs");
    let origin = format!("file://{}", ground.path("origin"));
    ground.git("", &format!("clone -q --depth=1 --branch=change {origin} shallow"));
    let repository = ground.repository("shallow");
    let fetch = "git fetch --unshallow origin +refs/heads/main:refs/remotes/origin/main";
    for error in [repository.base(None, Some("main")).unwrap_err(), repository.base(Some("origin/main"), None).unwrap_err()] {
        assert!(error.to_string().contains(fetch), "{error}");
    }
    // The branch alone, without the history between, does not do either.
    ground.git("shallow", "fetch -q --depth=1 origin +refs/heads/main:refs/remotes/origin/main");
    let error = ground.repository("shallow").base(None, Some("main")).unwrap_err();
    assert!(matches!(error, GitError::Shallow { .. }), "{error}");
    assert!(error.to_string().contains(fetch), "{error}");
    ground.git("shallow", fetch.strip_prefix("git ").unwrap());
    assert_eq!(ground.repository("shallow").base(None, Some("main")).unwrap().unwrap().commit(), first);
}

#[test]
fn a_shallow_clone_of_the_base_itself_is_enough() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.commit("origin", "second");
    let origin = format!("file://{}", ground.path("origin"));
    ground.git("", &format!("clone -q --depth=1 {origin} shallow"));
    ground.write("shallow/prod/a.yaml", "a: 2\n");
    let repository = ground.repository("shallow");
    expect(&changes(&repository, &base(&repository), ""), &[("prod/a.yaml", "a: 1\n")], &[]);
}

#[test]
fn histories_without_a_common_commit_are_an_error() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.git("clone", "checkout -q --orphan other");
    ground.commit("clone", "other");
    let error = ground.repository("clone").base(None, None).unwrap_err();
    assert!(error.to_string().contains("have no commit in common"), "{error}");
}

#[test]
fn a_file_of_the_base_is_read_and_a_missing_one_is_none() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.write("clone/prod/a.yaml", "a: 2\n");
    let repository = ground.repository("clone");
    let base = base(&repository);
    assert_eq!(repository.read_at(&base, "prod/a.yaml").unwrap().as_deref(), Some(&b"a: 1\n"[..]));
    for path in ["prod/x.yaml", "prod", "x/y/z", "prod/a.yaml/b"] {
        assert_eq!(repository.read_at(&base, path).unwrap(), None, "{path}");
    }
}

#[test]
fn a_repository_of_another_user_says_how_to_trust_it() {
    let ground = Ground::new();
    ground.origin_and_clone();
    let is_given_away = Command::new("chown").args(["-R", "12345"]).arg(ground.path("clone")).output().unwrap().status.success();
    if !is_given_away {
        eprintln!("skipped: only the root user can give a folder to another user");
        return;
    }
    let error = Repository::discover(&ground.path("clone/prod")).err().unwrap().to_string();
    let root = ground.path("clone");
    assert!(error.contains(&format!("`{root}` belongs to another user")), "{error}");
    assert!(error.contains(&format!("`git config --global --add safe.directory {root}`")), "{error}");
}

#[test]
fn a_partial_clone_says_that_it_cannot_be_read() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.git("origin", "config uploadpack.allowFilter true");
    let origin = format!("file://{}", ground.path("origin"));
    ground.git("", &format!("clone -q --filter=blob:none {origin} partial"));
    match Repository::discover(&ground.path("partial")) {
        Err(error) => assert!(error.to_string().contains("clone it without `--filter`"), "{error}"),
        // Git writes the extension only sometimes; what is checked out can then be read.
        Ok(repository) => assert!(repository.is_some()),
    }
}

#[test]
fn a_sparse_checkout_hides_no_base_files_as_changes() {
    let ground = Ground::new();
    ground.origin_and_clone();
    ground.git("clone", "config core.sparseCheckout true");
    ground.write("clone/.git/info/sparse-checkout", "/prod/a.yaml\n");
    ground.git("clone", "read-tree -mu HEAD");
    let repository = ground.repository("clone");
    expect(&changes(&repository, &base(&repository), ""), &[], &[]);
}

#[test]
fn a_damaged_repository_is_an_error_that_names_the_command() {
    let ground = Ground::new();
    ground.origin_and_clone();
    fs::write(ground.path("clone/.git/config"), "[broken").unwrap();
    let error = Repository::discover(&ground.path("clone")).err().unwrap().to_string();
    assert!(error.contains("git -C") && error.contains("status"), "{error}");
}
