//! `rollout render --commit`: the plans as a commit, and what a branch holds that is not so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::disk::{self, Difference, Former, Stale};
use crate::files::Files;
use crate::git::{self, Branch, Commit, Draft, GitError, Pushed, Source};
use crate::model::{Plan, hidden};
use crate::report::{count, one_line};

use super::Failure;
use super::repository::{Destination, Repository, joined};

/// The file that tells promotion tools which commit plans were made from.
const METADATA: &str = "hydrator.metadata";

/// The most plans that a message says a sentence about; each has its trailer.
const MOST_SENTENCES: usize = 20;

/// All that a commit is made from.
pub(super) struct Order<'a> {
    pub(super) repository: &'a Repository,
    /// The files that are to be, by output folder.
    pub(super) trees: &'a BTreeMap<String, Files>,
    /// The plans, by output folder and folder in it.
    pub(super) plans: &'a BTreeMap<(String, String), Told>,
    /// Whether a file of a former plan in an output folder goes.
    pub(super) is_stale: &'a dyn Fn(&str, &Former<'_>) -> bool,
    /// The remote that the commit is pushed to.
    pub(super) push: Option<&'a str>,
}

/// What a message tells about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    /// `[environment:]namespace/name`.
    pub(super) name: String,
    /// `Canary release of Deployment/shop in 3 steps`.
    pub(super) sentence: String,
    pub(super) digest: String,
}

/// Returns what a message says about a plan, on one line.
pub(super) fn sentence(plan: &Plan) -> String {
    let spec = &plan.spec;
    let what = if spec.release.is_some() { "release" } else { "preview" };
    one_line(&format!("{:?} {what} of {} in {}", spec.style, spec.workload, count(spec.steps.len(), "step")))
}

/// What committing came to.
pub(super) enum Committed {
    /// It is done, or there was nothing to do; what to tell.
    Done(String),
    /// The branch has moved at the remote, and nothing was changed: the plans may start from other ones now.
    Behind,
}

/// Commits the plans, and pushes them where that is wanted.
pub(super) fn commit(order: &Order<'_>) -> Result<Committed, Failure> {
    let (git, branch) = place(order.repository)?;
    let changes = Changes::of(order, git, &branch)?;
    ensure_committed(order.repository, git, &changes)?;
    if changes.is_empty() {
        let nothing = format!("nothing to commit: the plans on `{}` are what the manifests say\n", branch.name());
        let (Some(remote), Some(tip)) = (order.push, branch.commit()) else { return Ok(Committed::Done(nothing)) };
        return Ok(match push(git, remote, &branch, tip)? {
            Pushed::Taken => Committed::Done(format!("{nothing}`{remote}` has it\n")),
            Pushed::Behind => Committed::Behind,
        });
    }
    let source = git.source(order.push.unwrap_or(Destination::REMOTE))?;
    let mut draft =
        Draft { written: changes.written.clone(), removed: changes.removed.clone(), message: message(order, &changes, &source) };
    if !branch.is_checked_out() {
        draft.written.insert(METADATA, metadata(&source).into_bytes());
    }
    let commit = git.commit(&branch, &source, &draft)?;
    if let Some(remote) = order.push
        && push(git, remote, &branch, commit)? == Pushed::Behind
    {
        return Ok(Committed::Behind);
    }
    if branch.is_checked_out() {
        // The reference goes last: what fails before it leaves plans that are written or staged, and no commit.
        for (output, files) in order.trees {
            disk::write_tree(&order.repository.place_of(output), files, &|former| (order.is_stale)(output, former))?;
        }
        git.stage(&changes.all, &changes.removed)?;
    }
    git.advance(&branch, commit)?;
    let (new, gone) = (count(changes.written.len(), "file"), count(changes.removed.len(), "file"));
    let mut told = format!("committed {} to `{}`: wrote {new}, removed {gone}\n", commit.id(), branch.name());
    if let Some(remote) = order.push {
        let _ = writeln!(told, "pushed it to `{remote}`");
    }
    Ok(Committed::Done(told))
}

/// Returns what the branch of the plans does not hold as it should, sorted.
pub(super) fn compare(order: &Order<'_>) -> Result<Vec<Stale>, Failure> {
    let (git, branch) = place(order.repository)?;
    let changes = Changes::of(order, git, &branch)?;
    let tip = branch.tip();
    let mut stale = Vec::new();
    for (path, _) in changes.written.iter() {
        let is_there = tip.as_ref().map(|tip| git.read_at(tip, path)).transpose()?.flatten().is_some();
        let difference = if is_there { Difference::Different } else { Difference::Missing };
        stale.push(Stale { path: path.to_owned(), difference });
    }
    stale.extend(changes.removed.into_iter().map(|path| Stale { path, difference: Difference::Extra }));
    stale.sort();
    Ok(stale)
}

fn place(repository: &Repository) -> Result<(&git::Repository, Branch), Failure> {
    if repository.git.is_none() && repository.is_single && repository.files.get(disk::STREAM).is_some() {
        return Err("a stream comes from no commit that a plan could name\nhelp: give the folder that holds the manifests, or what they are built from".into());
    }
    let git = repository.git.as_ref();
    let git = git.ok_or_else(|| format!("there is no git repository around `{}` to commit to", repository.root))?;
    let branch = repository.branch.clone().map_or_else(|| git.current_branch(), Ok)?;
    Ok((git, branch))
}

fn push(git: &git::Repository, remote: &str, branch: &Branch, commit: Commit) -> Result<Pushed, Failure> {
    let pushed = git.push(remote, branch, commit)?;
    if pushed == Pushed::Behind && branch.is_checked_out() {
        let name = branch.name();
        let help = format!("get them with `git pull --rebase {remote} {name}`, then run the command again");
        let said = format!(": `{remote}/{name}` has commits that are not here");
        return Err(GitError::Push { remote: remote.to_owned(), branch: name.to_owned(), said, help }.into());
    }
    Ok(pushed)
}

/// What a commit changes, by paths below the root of the git repository.
struct Changes {
    all: Files,
    written: Files,
    removed: BTreeSet<String>,
    /// The folders of plans that differ, by output folder.
    folders: BTreeSet<(String, String)>,
    /// The folders of plans that go.
    gone: BTreeSet<String>,
}

impl Changes {
    fn of(order: &Order<'_>, git: &git::Repository, branch: &Branch) -> Result<Changes, Failure> {
        let tip = branch.tip();
        let mut changes = Changes {
            all: Files::default(),
            written: Files::default(),
            removed: BTreeSet::new(),
            folders: BTreeSet::new(),
            gone: BTreeSet::new(),
        };
        let mut gone: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (output, files) in order.trees {
            let folder = order
                .repository
                .git_folder(output)
                .ok_or_else(|| format!("the output folder `{output}` lies outside of the git repository; name one in it with `--out`"))?;
            let placed: Files = files.iter().map(|(path, bytes)| (joined(&folder, path), bytes.clone())).collect();
            let written = git.differing(tip.as_ref(), &placed)?;
            let removed = match &tip {
                Some(tip) => {
                    let there = git.listing(tip, &folder)?;
                    let read = |path: &str| git.read_at(tip, &joined(&folder, path)).map(Option::unwrap_or_default);
                    disk::left_over(&there, read, files, &|former| (order.is_stale)(output, former))?
                }
                None => BTreeSet::new(),
            };
            let below = |path: &str| path.strip_prefix(&folder).unwrap_or(path).trim_start_matches('/').to_owned();
            for path in written.iter().map(|(path, _)| below(path)).chain(removed.iter().cloned()) {
                let of_plan = path.rsplit_once('/').map_or("", |(of_plan, _)| of_plan).to_owned();
                if order.plans.contains_key(&(output.clone(), of_plan.clone())) {
                    changes.folders.insert((output.clone(), of_plan));
                }
            }
            for (path, bytes) in written.iter() {
                changes.written.insert(path, bytes.clone());
            }
            for (path, bytes) in placed.iter() {
                changes.all.insert(path, bytes.clone());
            }
            for path in removed {
                let of_plan = path.rsplit_once('/').map_or("", |(of_plan, _)| of_plan);
                let key = (output.clone(), of_plan.to_owned());
                gone.insert(joined(&folder, &path), (!order.plans.contains_key(&key)).then_some(key.1));
            }
        }
        changes.gone = gone.values().flatten().cloned().collect();
        changes.removed = gone.into_keys().collect();
        Ok(changes)
    }

    fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }
}

/// A plan names the commit that it is made from: what it was made from must be in there.
fn ensure_committed(repository: &Repository, git: &git::Repository, changes: &Changes) -> Result<(), Failure> {
    // Without a commit there is a better word for it.
    git.source(Destination::REMOTE)?;
    let paths: Vec<&String> = repository.uncommitted.iter().filter(|path| changes.all.get(path).is_none()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
    let more = if paths.len() > shown.len() { format!(" and {}", count(paths.len() - shown.len(), "other")) } else { String::new() };
    let what = count(paths.len(), "file");
    Err(format!(
        "nothing was committed: plans are made from {what} that HEAD has otherwise: {}{more}\nhelp: commit or stash them first: a plan names the commit that it is made from",
        shown.join(", ")
    )
    .into())
}

fn message(order: &Order<'_>, changes: &Changes, source: &Source) -> String {
    let told: Vec<&Told> = changes.folders.iter().filter_map(|key| order.plans.get(key)).collect();
    let gone = &changes.gone;
    let others = |more: usize| if more == 0 { String::new() } else { format!(" and {}", count(more, "other")) };
    let mut message = match (told.first(), gone.first()) {
        (Some(first), _) => format!("rollout: plan {}{}\n\n", first.name, others(told.len() + gone.len() - 1)),
        (None, Some(first)) => format!("rollout: remove the plan of {first}{}\n\n", others(gone.len() - 1)),
        (None, None) => "rollout: plan\n\n".to_owned(),
    };
    for plan in told.iter().take(MOST_SENTENCES) {
        let _ = writeln!(message, "{}: {}", plan.name, plan.sentence);
    }
    if !told.is_empty() {
        message.push('\n');
    }
    for plan in &told {
        let _ = writeln!(message, "Rollout-Plan: {} {}", plan.name, plan.digest);
    }
    for folder in gone {
        let _ = writeln!(message, "Rollout-Removed: {folder}");
    }
    let _ = writeln!(message, "Rollout-Source: {}", source.commit);
    message
}

/// What promotion tools read: the commit that the branch's content was made from.
fn metadata(source: &Source) -> String {
    let mut metadata = json!({
        "drySha": source.commit,
        "author": source.author,
        "date": source.date,
        "subject": source.subject,
    });
    for (field, value) in [("body", Some(&source.body).filter(|body| !body.is_empty())), ("repoURL", source.url.as_ref())] {
        if let (Some(value), Some(fields)) = (value, metadata.as_object_mut()) {
            fields.insert(field.to_owned(), value.as_str().into());
        }
    }
    hidden::pretty_json(&metadata)
}
