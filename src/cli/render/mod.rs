//! `rollout render`: the main job. The plans of a repository, for people, for programs, and as files to commit.

mod selection;
mod settle;
mod shared;
mod shown;

use camino::Utf8PathBuf;
use clap::ValueEnum;

use self::settle::STALE;
use super::commit::Committed;
use super::engines::Engines;
use super::plans::{self, Selection};
use super::repository::{self, Destination, Question, Repository};
use super::sources::Sources;
use super::{Answer, Failure, World, page, progress};
use crate::discover;
use crate::model::{Finding, Position, Severity};
use crate::report::{self, count};
use crate::yaml;

/// Computes the plan of each release: the manifests of every step, against the base of this branch
///
/// Reads the YAML of a folder, finds its Rollouts, and shows step by step what a release changes. Nothing is written
/// unless `--out` is given, and no cluster is asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout render                          what this branch releases
  rollout render deploy --base v1.4.0     what has changed in `deploy` since a tag
  rollout render after --base-dir before  two folders, without git
  rollout render --out                    write the plans where they belong
  rollout render --commit                 the same, as a commit on this branch
  rollout render --commit --branch rollouts --push
                                          the plans on a branch of their own, at origin
  rollout render --check                  in CI: are the committed plans up to date?
  rollout render --kustomize overlays/prod
  rollout render --helm charts/shop --values eu.yaml
  rollout render --format json | jq '.findings[]'
  rollout render --changed --format markdown > comment.md
  kustomize build prod | rollout render - --base-dir rendered-before.yaml")]
pub(super) struct Args {
    /// The folder to read, or one file alone; `-` reads a stream of manifests
    #[arg(default_value = ".", value_name = "PATH")]
    path: String,

    /// Compare with this git revision [default: where this branch parts from `origin/$GITHUB_BASE_REF`, else from origin's main branch]
    #[arg(long, value_name = "REV", conflicts_with = "base_dir")]
    base: Option<String>,

    /// Compare with the manifests of this folder or file
    #[arg(long, value_name = "PATH")]
    base_dir: Option<Utf8PathBuf>,

    #[command(flatten)]
    sources: Sources,

    /// Write the plans; without a folder, to the output folders of `.rollout.yaml`, else to `rollouts`
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag may have a value, which clap reads as this")]
    out: Option<Option<Utf8PathBuf>>,

    /// Commit the plans to the branch that is checked out, or to the one that `--branch` names
    ///
    /// Only the files of plans are touched, and only where their branch is checked out here. The commit's dates are
    /// those of HEAD, so that the same plans on the same branch are the same commit; git's configured user commits, else
    /// `rollout`. Findings that are errors, and manifests that are not committed, leave everything as it was.
    #[arg(long, conflicts_with = "check")]
    commit: bool,

    /// The plans are on this branch, which holds nothing else: compare with them there, and commit to it; made when it is not there
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,

    /// Push the commit, to `origin` or this remote, with the `git` program; a branch of plans is fetched before
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, requires = "commit", default_missing_value = Destination::REMOTE)]
    push: Option<String>,

    /// Write nothing; say which plans are not what the manifests say
    #[arg(long)]
    check: bool,

    /// Only Rollouts whose objects differ from the base
    #[arg(long)]
    changed: bool,

    /// Only this Rollout
    #[arg(long, value_name = "[ENV:]NAMESPACE/NAME", value_parser = rollout_name)]
    rollout: Option<(Option<String>, String, String)>,

    /// Only this environment of `.rollout.yaml`
    #[arg(long = "env", value_name = "ENV")]
    environment: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    page: page::Args,

    /// Exit 1 at this severity or above
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables and diffs for people
    Text,
    /// One page to open in a browser: charts, a step at a time, findings
    Html,
    /// A comment for a pull request: tables, findings, collapsed diffs
    Markdown,
    /// Findings as annotations of a GitHub workflow
    Github,
    /// One report with `.plans[]` and `.findings[]`
    Json,
    /// A stream of RolloutPlan objects
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Errors only
    Error,
    /// Warnings too
    Warning,
    /// No finding at all; with `--check` still a plan that is not up to date
    Never,
}

/// Renders, writes or compares, and reports.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    if let Some(answer) = attempt(args, world)? {
        return Ok(answer);
    }
    // Somebody pushed plans while we rendered: ours may start from theirs.
    let again = attempt(args, world)?;
    let branch = args.branch.as_deref().unwrap_or_default();
    again.ok_or_else(|| format!("the branch `{branch}` moves at the remote faster than plans are rendered; nothing was committed\nhelp: run the command again when it is quiet").into())
}

/// Does it all once. None: nothing was said and nothing done, because the plans' branch has moved at the remote.
fn attempt(args: &Args, world: &mut World<'_>) -> Result<Option<Answer>, Failure> {
    let repository = repository::read(args.question(), world)?;
    let selection = Selection { environment: args.environment.clone(), rollout: args.rollout.clone(), is_changed_only: args.changed };
    args.check_selection(&repository)?;
    let colors = world.stdout_colors;
    let (mut reports, mut findings) = progress::during(world, |progress| {
        let engines = Engines::of(&repository);
        let (mut reports, found) = plans::plans(&repository, &engines, &selection, progress, |catalog, planned| {
            args.report(catalog, &planned, &engines.check(catalog, &planned.plan), colors)
        });
        let mut findings = repository.findings.clone();
        findings.extend_from_slice(&repository.head.findings);
        findings.extend(found);
        findings.extend(reports.iter_mut().flat_map(|report| std::mem::take(&mut report.findings)));
        findings.extend(shared::notes(&reports));
        (reports, findings)
    });
    repository.tell_what_was_not_read(&mut findings);
    if args.is_writing() {
        settle::warn_of_previews(&mut findings);
    }
    // A Rollout that was refused was found.
    let is_faultless = !findings.iter().any(|finding| finding.severity == Severity::Error);
    if is_faultless && repository.head.counts.rollouts == 0 {
        findings.push(nothing_found(&repository));
    }
    let is_misled = args.is_writing() && repository.is_config_faulty;
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let summary = if is_misled {
        // Where plans belong is not known then.
        format!("wrote nothing: `{}` has faults\n", crate::config::NAME)
    } else if args.commit && errors > 0 {
        // What is written can be looked at; what is committed and pushed is done.
        format!("committed nothing: there {} {}\n", if errors == 1 { "is" } else { "are" }, count(errors, "error"))
    } else if args.is_settling() {
        match args.settle(&mut reports, &repository, &selection, &world.directory, &mut findings)? {
            Committed::Done(summary) => summary,
            Committed::Behind => return Ok(None),
        }
    } else {
        String::new()
    };
    findings = repository.origins.pointed(findings, &repository.files);
    findings.sort();
    findings.dedup();
    args.print(reports, &findings, &repository, world)?;
    world.stdout.flush()?;
    world.stderr.write_all(report::findings(&findings, &repository.files, world.stderr_colors).as_bytes())?;
    world.stderr.write_all(summary.as_bytes())?;
    Ok(Some(args.answer(&findings)))
}

impl Args {
    fn question(&self) -> Question<'_> {
        let out = self.out.as_ref().and_then(Option::as_deref);
        let destination = Destination { branch: self.branch.as_deref(), remote: self.push.as_deref(), is_commit: self.commit };
        Question {
            path: &self.path,
            base: self.base.as_deref(),
            base_dir: self.base_dir.as_deref(),
            out,
            // A Rollout that is asked for by name is looked at although nothing of it may have changed.
            is_changed_only: self.changed && self.rollout.is_none(),
            destination,
            sources: &self.sources,
        }
    }

    fn is_writing(&self) -> bool {
        (self.out.is_some() && !self.check) || self.commit
    }

    /// Whether the plans' files are written or compared.
    fn is_settling(&self) -> bool {
        self.is_writing() || self.check
    }

    fn answer(&self, findings: &[Finding]) -> Answer {
        let is_no = findings.iter().any(|finding| match self.fail_on {
            FailOn::Error => finding.severity == Severity::Error,
            FailOn::Warning => finding.severity <= Severity::Warning,
            // Whether plans are up to date is what `--check` was asked.
            FailOn::Never => self.check && finding.code == STALE,
        });
        if is_no { Answer::No } else { Answer::Yes }
    }
}

fn nothing_found(repository: &Repository) -> Finding {
    let counts = &repository.head.counts;
    let before = repository.base.as_ref().map_or(0, |base| base.discovery.counts.rollouts);
    if before > 0 {
        return Finding::warning("no-rollouts", format!("no Rollout is left: the base has {before}"));
    }
    if let Some((path, bytes)) = repository.files.iter().next().filter(|_| repository.is_single)
        && let Some(unreadable) = unreadable(path, bytes)
    {
        return unreadable;
    }
    let finding = Finding::warning("no-rollouts", format!("no Rollout was found in {}", count(counts.files, "file")));
    match discover::charts_with_rollouts(&repository.files).first() {
        Some(chart) => {
            let chart = if chart.is_empty() { "." } else { chart };
            let message = format!("{}; the chart `{chart}` makes one, and is not built", finding.message);
            let help =
                format!("`rollout render --helm {chart}`, or `build: {{helm: {{chart: {chart}}}}}` of an environment in `.rollout.yaml`");
            Finding { message, ..finding }.help(help)
        }
        None => finding.help("name the folder that holds them: `rollout render FOLDER`"),
    }
}

/// Why the only file that was asked for holds nothing, where it is no YAML.
fn unreadable(path: &str, bytes: &[u8]) -> Option<Finding> {
    let finding =
        |position, message: &str| Some(Finding::error("unreadable", format!("this cannot be read: {message}")).at(path, position));
    let Ok(text) = std::str::from_utf8(bytes) else { return finding(Position { line: 1, column: 1 }, "it is no text") };
    let documents = match yaml::split(text) {
        Ok(documents) => documents,
        Err(error) => return finding(error.position, &error.message),
    };
    let error = documents.iter().find_map(|document| yaml::read(document).err())?;
    finding(error.position, &error.message)
}

fn rollout_name(text: &str) -> Result<(Option<String>, String, String), String> {
    let (environment, rest) = text.rsplit_once(':').map_or((None, text), |(environment, rest)| (Some(environment.to_owned()), rest));
    match rest.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((environment, namespace.to_owned(), name.to_owned()))
        }
        _ => Err("a Rollout is named as `namespace/name` or `environment:namespace/name`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::rollout_name;

    #[test]
    fn a_rollout_is_named_by_namespace_and_name() {
        assert_eq!(rollout_name("prod/shop"), Ok((None, "prod".into(), "shop".into())));
        assert_eq!(rollout_name("eu:prod/shop"), Ok((Some("eu".into()), "prod".into(), "shop".into())));
        for text in ["shop", "/shop", "prod/", "a/b/c", ""] {
            assert!(rollout_name(text).is_err(), "{text}");
        }
    }
}
