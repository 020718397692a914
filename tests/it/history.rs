//! From where to where a plan leads, over the life of a repository: merges, squashes, rebases, reverts and what was forgotten.

use crate::ground::Ground;

/// A repository that is past its first release: `main` holds version 2, and the plan from 1 to it.
fn released() -> Ground {
    let ground = Ground::new();
    ground.shop();
    ground.git("clone", "checkout -q -b first");
    ground.app("clone", "shop", "2");
    ground.commit("clone", "second");
    ground.rollout("clone", "render --commit").exits(0);
    assert_eq!(ground.release("clone", "HEAD"), "1 to 2");
    land(&ground, "merge -q --no-ff --no-edit first");
    ground
}

/// Carries out the command on `main` and pushes it.
fn land(ground: &Ground, command: &str) {
    ground.git("clone", "checkout -q main");
    ground.git("clone", command);
    ground.git("clone", "push -q origin main");
}

/// Changes the version on a new branch, without a plan.
fn change(ground: &Ground, branch: &str, version: &str) {
    ground.git("clone", &format!("checkout -q -b {branch} main"));
    ground.app("clone", "shop", version);
    ground.commit("clone", branch);
}

#[track_caller]
fn is_up_to_date(ground: &Ground, release: &str) {
    assert_eq!(ground.release("clone", "HEAD"), release);
    ground.rollout("clone", "render --check").exits(0);
    ground.rollout("clone", "render --commit").exits(0).tells("nothing to commit");
}

#[test]
fn after_a_merge_the_plan_on_main_is_still_right() {
    is_up_to_date(&released(), "1 to 2");
}

#[test]
fn a_second_release_starts_where_the_first_one_ends() {
    let ground = released();
    change(&ground, "third", "3");
    ground.rollout("clone", "render --check").exits(1);
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "2 to 3");
    // The same pull request, changed again, still starts from main.
    ground.app("clone", "shop", "4");
    ground.commit("clone", "fourth");
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "2 to 4");
}

#[test]
fn after_a_squash_the_plan_on_main_is_still_right() {
    let ground = released();
    change(&ground, "third", "3");
    ground.rollout("clone", "render --commit").exits(0);
    ground.git("clone", "checkout -q main");
    ground.git("clone", "merge -q --squash third");
    land(&ground, "commit -q -m squashed");
    is_up_to_date(&ground, "2 to 3");
}

#[test]
fn after_a_rebase_on_other_changes_the_plan_is_still_right() {
    let ground = released();
    change(&ground, "third", "3");
    ground.rollout("clone", "render --commit").exits(0);
    ground.git("clone", "checkout -q main");
    ground.write("clone/notes.txt", "n\n");
    ground.commit("clone", "notes");
    land(&ground, "log -1");
    ground.git("clone", "checkout -q third");
    ground.git("clone", "rebase -q main");
    is_up_to_date(&ground, "2 to 3");
    land(&ground, "merge -q --ff-only third");
    is_up_to_date(&ground, "2 to 3");
}

#[test]
fn after_a_rebase_on_another_release_the_plan_starts_from_that() {
    let ground = released();
    change(&ground, "third", "3");
    ground.rollout("clone", "render --commit").exits(0);
    change(&ground, "fourth", "4");
    ground.rollout("clone", "render --commit").exits(0);
    land(&ground, "merge -q --ff-only fourth");
    ground.git("clone", "checkout -q third");
    // Manifests and plan conflict: ours are taken, as one does in a hurry.
    ground.git("clone", "rebase -q -X theirs main");
    ground.rollout("clone", "render --check").exits(1);
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "4 to 3");
}

#[test]
fn a_forgotten_render_is_made_up_for_on_main() {
    let ground = released();
    change(&ground, "third", "3");
    land(&ground, "merge -q --ff-only third");
    ground.rollout("clone", "render --check").exits(1).tells("rollouts/demo/shop/plan.yaml:1:1: error[plan-stale]");
    ground.rollout("clone", "render --commit --push").exits(0);
    is_up_to_date(&ground, "2 to 3");
}

#[test]
fn a_forgotten_render_is_part_of_the_next_release() {
    let ground = released();
    change(&ground, "third", "3");
    land(&ground, "merge -q --ff-only third");
    change(&ground, "fourth", "4");
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "2 to 4");
}

#[test]
fn a_revert_of_manifests_alone_is_a_release_back() {
    let ground = released();
    change(&ground, "back", "1");
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "2 to 1");
    land(&ground, "merge -q --ff-only back");
    is_up_to_date(&ground, "2 to 1");
}

#[test]
fn a_revert_of_manifests_and_plan_is_a_release_back_once_rendered() {
    let ground = released();
    change(&ground, "third", "3");
    ground.rollout("clone", "render --commit").exits(0);
    land(&ground, "merge -q --no-ff --no-edit third");
    ground.git("clone", "checkout -q -b back");
    ground.git("clone", "revert --no-edit -m 1 HEAD");
    // Git has brought back the plan from 1 to 2, which is not the way from 3.
    assert_eq!(ground.release("clone", "HEAD"), "1 to 2");
    ground.rollout("clone", "render --check").exits(1);
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "3 to 2");
    land(&ground, "merge -q --no-ff --no-edit back");
    is_up_to_date(&ground, "3 to 2");
}

#[test]
fn a_revert_of_the_first_release_is_a_release_back_once_rendered() {
    let ground = released();
    ground.git("clone", "checkout -q -b back");
    ground.git("clone", "revert --no-edit -m 1 HEAD");
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "2 to 1");
}

#[test]
fn a_change_of_something_else_keeps_the_release() {
    let ground = released();
    let release = ground.plan("clone", "HEAD").spec.release;
    ground.git("clone", "checkout -q -b more main");
    let path = ground.path("clone/deploy/shop/nginx.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace("replicas: 5", "replicas: 7");
    std::fs::write(path, text).unwrap();
    ground.commit("clone", "more");
    ground.rollout("clone", "render --commit").exits(0);
    is_up_to_date(&ground, "1 to 2");
    assert_eq!(ground.plan("clone", "HEAD").spec.release, release);
}

#[test]
fn a_new_rollout_id_alone_is_a_release_that_waits_for_nothing() {
    let ground = released();
    ground.git("clone", "checkout -q -b again main");
    let path = ground.path("clone/deploy/shop/nginx.yaml");
    let id = "kind: Deployment\nmetadata:\n  annotations: {rollouts.kruise.io/rollout-id: again}\n";
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replacen("kind: Deployment\nmetadata:\n", id, 1)).unwrap();
    ground.commit("clone", "again");
    ground.rollout("clone", "render --commit").exits(0).tells("warning[release-without-change]");
    is_up_to_date(&ground, "2 to 2");
    let spec = ground.plan("clone", "HEAD").spec;
    assert_eq!(spec.steps.len(), 2, "as many as the Rollout has");
    for step in &spec.steps {
        assert!(step.stages.is_empty() && step.enter_from_above.is_empty() && step.state == spec.baseline, "{step:?}");
        assert_eq!((step.gate.clone(), step.deadline, step.traffic.clone()), (rollout::model::Gate::None {}, None, None));
    }
    let names: Vec<String> = spec.objects.keys().map(|key| key.object().to_string()).collect();
    assert!(!names.iter().any(|name| name.ends_with("-canary")), "{names:?}");
}

/// The same with plans on a branch of their own, rendered on `main` after each change.
mod on_another_branch {
    use super::{Ground, change, land};

    const COMMIT: &str = "render --commit --branch rollouts --push";

    /// `main` holds version 2, and `rollouts` the plan from 1 to it.
    fn released() -> Ground {
        let ground = Ground::new();
        ground.shop();
        ground.rollout("clone", COMMIT).exits(0);
        assert_eq!(ground.release("clone", "rollouts"), "preview of 1");
        change(&ground, "second", "2");
        land(&ground, "merge -q --no-ff --no-edit second");
        is_planned(&ground, "1 to 2");
        ground
    }

    /// Renders on `main`, where the plan must lead from here to there, and be the same when it is rendered again.
    #[track_caller]
    fn is_planned(ground: &Ground, release: &str) {
        ground.rollout("clone", COMMIT).exits(0).tells("pushed it to `origin`");
        assert_eq!(ground.release("clone", "origin/rollouts"), release);
        ground.rollout("clone", COMMIT).exits(0).tells("nothing to commit");
        ground.rollout("clone", "render --check --branch rollouts").exits(0);
    }

    #[test]
    fn a_merge_is_a_release_from_what_was_planned_last() {
        let ground = released();
        change(&ground, "third", "3");
        // The pull request shows the same plan before the merge, digest and all.
        let shown = ground.rollout("clone", "render --branch rollouts --format yaml").exits(0).stdout;
        land(&ground, "merge -q --no-ff --no-edit third");
        is_planned(&ground, "2 to 3");
        assert_eq!(ground.git("clone", "show rollouts:rollouts/demo/shop/plan.yaml"), shown.trim_end());
    }

    #[test]
    fn a_squash_is_the_same_plan() {
        let ground = released();
        change(&ground, "third", "3");
        ground.git("clone", "checkout -q main");
        ground.git("clone", "merge -q --squash third");
        land(&ground, "commit -q -m squashed");
        is_planned(&ground, "2 to 3");
    }

    #[test]
    fn a_rebase_on_another_release_starts_from_that() {
        let ground = released();
        change(&ground, "third", "3");
        change(&ground, "fourth", "4");
        land(&ground, "merge -q --ff-only fourth");
        is_planned(&ground, "2 to 4");
        ground.git("clone", "checkout -q third");
        ground.git("clone", "rebase -q -X theirs main");
        land(&ground, "merge -q --ff-only third");
        is_planned(&ground, "4 to 3");
    }

    #[test]
    fn a_forgotten_render_is_part_of_the_next_one() {
        let ground = released();
        for (branch, version) in [("third", "3"), ("fourth", "4")] {
            change(&ground, branch, version);
            land(&ground, &format!("merge -q --ff-only {branch}"));
        }
        is_planned(&ground, "2 to 4");
    }

    #[test]
    fn a_revert_is_a_release_back() {
        let ground = released();
        land(&ground, "revert --no-edit -m 1 HEAD");
        is_planned(&ground, "2 to 1");
        // And the revert of the revert is one again.
        land(&ground, "revert --no-edit HEAD");
        is_planned(&ground, "1 to 2");
    }

    #[test]
    fn a_commit_that_changes_no_plan_makes_no_commit() {
        let ground = released();
        ground.git("clone", "checkout -q main");
        ground.write("clone/notes.txt", "n\n");
        ground.commit("clone", "notes");
        land(&ground, "log -1");
        ground.rollout("clone", COMMIT).exits(0).tells("nothing to commit");
    }

    #[test]
    fn plans_are_found_without_an_origin_to_compare_with() {
        let ground = released();
        ground.git("clone", "remote remove origin");
        change(&ground, "third", "3");
        ground.rollout("clone", "render --commit --branch rollouts").exits(0);
        assert_eq!(ground.release("clone", "rollouts"), "2 to 3");
    }
}
