//! The output directory as files: a plan, a page for people, and one diff per transition.
//!
//! Safe beside an engine that syncs the directory: `plan.yaml` is the only file that Argo CD or Flux takes for an object.

use std::collections::BTreeMap;

use crate::diff::{self, ObjectDiff};
use crate::files::Files;
use crate::model::{ObjectRef, Plan, VersionKey};
use crate::plan::manifests::Shown;
use crate::plan::states::{self, State};
use crate::plan::{self, manifests};
use crate::report::summary::Part;
use crate::report::{self, Transition};

mod engines;
mod readme;

/// Why a plan has no place in the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A name would lead somewhere else.
    #[error("the {what} `{}` cannot be the name of a directory", .name.escape_debug())]
    Name {
        /// Whose name.
        what: &'static str,
        /// The name.
        name: String,
    },
}

/// Returns the directory of a plan: `<output>/[<environment>/]<namespace>/<rollout>`. The unnamed environment is empty.
pub fn directory(output: &str, environment: &str, plan: &Plan) -> Result<String, TreeError> {
    let mut directory = output.trim_end_matches('/').to_owned();
    let parts = [("environment", environment), ("namespace", &plan.namespace), ("rollout", &plan.name)];
    for (what, name) in parts.into_iter().filter(|(what, name)| *what != "environment" || !name.is_empty()) {
        if !is_directory_name(name) {
            return Err(TreeError::Name { what, name: name.to_owned() });
        }
        if !directory.is_empty() {
            directory.push('/');
        }
        directory.push_str(name);
    }
    Ok(directory)
}

/// Returns the files of a plan with these transitions, which are those that [`transitions`] gives.
pub fn files(output: &str, environment: &str, plan: &Plan, transitions: &[Transition]) -> Result<Files, TreeError> {
    let directory = directory(output, environment, plan)?;
    let mut files = Files::default();
    let mut add = |name: &str, text: String| files.insert(format!("{directory}/{name}"), text.into_bytes());
    add("plan.yaml", plan::to_text(plan));
    add("README.md", readme::readme(plan));
    for (name, text) in engines::files(plan) {
        add(name, text);
    }
    for (part, transition) in parts(plan).zip(transitions) {
        add(&file_name(part), diff::unified(&transition.diffs));
    }
    Ok(files)
}

/// Returns what changes on the way from each state to the next: every step, the end, and the way back from the last step.
pub fn transitions(plan: &Plan) -> Vec<Transition> {
    let written = Written::of(plan);
    let mut transitions = written.forward();
    transitions.push(written.back());
    transitions
}

/// Returns the same without the way back, which repeats what the ways forward say.
pub fn forward(plan: &Plan) -> Vec<Transition> {
    Written::of(plan).forward()
}

/// The states of a plan by name, and every version of every object as text.
struct Written<'a> {
    versions: BTreeMap<&'a VersionKey, Shown>,
    /// The baseline, then each step.
    states: Vec<(&'a str, State)>,
    target: State,
}

impl<'a> Written<'a> {
    fn of(plan: &'a Plan) -> Self {
        let spec = &plan.spec;
        let steps = spec.steps.iter().map(|step| (step.name.as_str(), states::state_of(&step.state)));
        let states = [("baseline", states::state_of(&spec.baseline))].into_iter().chain(steps).collect();
        Self { versions: manifests::shown_versions(plan), states, target: states::state_of(&spec.target) }
    }

    /// From each state to the next, and from the last step to the target.
    fn forward(&self) -> Vec<Transition> {
        let steps = self.states.windows(2).map(|pair| self.transition((pair[0].0, &pair[0].1), (pair[1].0, &pair[1].1)));
        let end = self.states.last().map(|(name, last)| self.transition((name, last), ("target", &self.target)));
        steps.chain(end).collect()
    }

    /// From the last step to the baseline.
    fn back(&self) -> Transition {
        let ((first, baseline), (name, last)) = (&self.states[0], &self.states[self.states.len() - 1]);
        self.transition((name, last), (first, baseline))
    }

    fn transition(&self, (from, before): (&str, &State), (to, after): (&str, &State)) -> Transition {
        Transition { from: from.to_owned(), to: to.to_owned(), diffs: differences(&self.versions, before, after) }
    }
}

/// Returns every state on the way forward, whole: the baseline, each step, and the end.
pub fn states(plan: &Plan) -> Vec<report::State> {
    let spec = &plan.spec;
    let steps = spec.steps.iter().map(|step| (step.name.as_str(), &step.state));
    let all = std::iter::once(("baseline", &spec.baseline)).chain(steps).chain([("finish", &spec.target)]);
    all.map(|(name, versions)| report::State { name: name.to_owned(), objects: manifests::named(plan, &states::state_of(versions)) })
        .collect()
}

/// The file with the diff of a row.
fn file_name(part: Part) -> String {
    match part {
        Part::Step(number) => format!("{number}.diff"),
        Part::Finish => "finish.diff".to_owned(),
        Part::Abort => "abort.diff".to_owned(),
    }
}

/// What each transition leads to, in the order of `transitions`.
fn parts(plan: &Plan) -> impl Iterator<Item = Part> {
    (1..=plan.spec.steps.len()).map(Part::Step).chain([Part::Finish, Part::Abort])
}

/// Equal versions are equal objects: only the others are worth a look.
fn differences(shown: &BTreeMap<&VersionKey, Shown>, before: &State, after: &State) -> Vec<ObjectDiff> {
    let differing = |one: &State, other: &State| -> BTreeMap<&ObjectRef, &str> {
        let versions = one.iter().filter(|(key, version)| other.get(*key) != Some(*version));
        let shown = versions.filter_map(|(key, version)| shown.get(&key.version(*version)));
        shown.map(|shown| (&shown.object, shown.text.as_str())).collect()
    };
    diff::between_texts(&differing(before, after), &differing(after, before))
}

/// Whether a name stays where it is put: not hidden, no way up, nothing that a file system reads otherwise.
fn is_directory_name(name: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 253 && !name.starts_with(['.', '-']) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::{TreeError, directory, files, transitions};
    use crate::diff;
    use crate::plan::{fixture, from_text};

    #[test]
    fn a_plan_has_a_page_and_a_diff_for_every_transition() {
        let plan = fixture();
        let files = files("rollouts", "", &plan, &transitions(&plan)).expect("a tree");
        let paths: Vec<&str> = files.iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            ["1.diff", "2.diff", "README.md", "abort.diff", "argocd.txt", "finish.diff", "flux.txt", "plan.yaml"]
                .map(|name| format!("rollouts/prod/shop/{name}"))
        );
        assert_eq!(from_text(files.get("rollouts/prod/shop/plan.yaml").expect("a plan")).expect("a plan"), plan);
    }

    #[test]
    fn an_engine_finds_no_object_but_the_plan() {
        let plan = fixture();
        let files = files("rollouts", "eu", &plan, &transitions(&plan)).expect("a tree");
        let synced = |path: &&str| [".yaml", ".yml", ".json", ".jsonnet"].iter().any(|end| path.ends_with(end));
        let paths: Vec<&str> = files.iter().map(|(path, _)| path).filter(synced).collect();
        assert_eq!(paths, ["rollouts/eu/prod/shop/plan.yaml"]);
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        for name in ["..", "a/b", "", ".git", "a\\b", "-f"] {
            let mut plan = fixture();
            plan.name = name.to_owned();
            assert_eq!(files("rollouts", "", &plan, &[]), Err(TreeError::Name { what: "rollout", name: name.to_owned() }));
        }
        assert!(directory("rollouts", "../x", &fixture()).is_err());
        assert_eq!(directory("", "", &fixture()).as_deref(), Ok("prod/shop"));
    }

    #[test]
    fn transitions_lead_from_the_baseline_to_the_target_and_back() {
        let transitions = transitions(&fixture());
        let ways: Vec<_> = transitions.iter().map(|transition| format!("{} {}", transition.from, transition.to)).collect();
        assert_eq!(ways, ["baseline step-1", "step-1 step-2", "step-2 target", "step-2 baseline"]);
        let diffs: Vec<_> = transitions.iter().map(|transition| diff::unified(&transition.diffs)).collect();
        assert!(diffs[0].contains("--- a/prod/Service/shop\n+++ b/prod/Service/shop\n"), "{}", diffs[0]);
        assert!(diffs[0].contains("<stableRevision>"), "{}", diffs[0]);
        assert!(diffs[2].contains("+++ /dev/null\n"), "{}", diffs[2]);
    }
}
