//! Arguments of the formats that are pages: what a comment is called, and where its links lead.

use std::collections::BTreeMap;

use crate::report::{Comment, LEAST_LIMIT, LIMIT, Links, is_address};

/// Arguments of the formats for forges.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// With `--format markdown`: what tells this comment from others of one pull request
    #[arg(long, value_name = "KEY", default_value = "rollout", value_parser = key, help_heading = "Comments and links")]
    comment_key: String,

    /// With `--format markdown`: leave out diffs, then tables, beyond so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = LIMIT, value_parser = limit, help_heading = "Comments and links")]
    max_bytes: usize,

    /// The commit that is rendered, for links [default: `$GITHUB_SHA`, `$CI_COMMIT_SHA`]
    #[arg(long, value_name = "SHA", help_heading = "Comments and links")]
    head: Option<String>,

    /// Where the repository is looked at, for links; GitLab's ends in `/-` [default: from the variables of GitHub and GitLab]
    #[arg(long, value_name = "URL", value_parser = address, help_heading = "Comments and links")]
    repository_url: Option<String>,

    /// Where all of a report is that was cut [default: the run, from the variables of GitHub and GitLab]
    #[arg(long, value_name = "URL", value_parser = address, help_heading = "Comments and links")]
    report_url: Option<String>,
}

impl Args {
    /// Where links lead: as the arguments say, else as the variables of GitHub and GitLab do.
    pub(super) fn links(&self, folder: &str, environment: &BTreeMap<String, String>) -> Links {
        let variable = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let github = variable("GITHUB_SERVER_URL").zip(variable("GITHUB_REPOSITORY")).map(|(server, name)| format!("{server}/{name}"));
        let run = github.as_ref().zip(variable("GITHUB_RUN_ID")).map(|(repository, run)| format!("{repository}/actions/runs/{run}"));
        let repository = self.repository_url.clone().or(github).or_else(|| variable("CI_PROJECT_URL").map(|url| format!("{url}/-")));
        let head = self.head.as_ref().or_else(|| variable("GITHUB_SHA")).or_else(|| variable("CI_COMMIT_SHA"));
        let whole = self.report_url.clone().or(run).or_else(|| variable("CI_JOB_URL").cloned());
        Links::new(repository.as_deref(), head.map(String::as_str), folder, whole.as_deref())
    }

    /// How a comment is made.
    pub(super) fn comment<'a>(&'a self, links: &'a Links) -> Comment<'a> {
        Comment { key: &self.comment_key, links, limit: self.max_bytes }
    }
}

fn key(text: &str) -> Result<String, String> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | ':');
    if !text.is_empty() && text.len() <= 100 && text.chars().all(allowed) {
        Ok(text.to_owned())
    } else {
        Err("a key is up to 100 letters, digits and `-_./:`".to_owned())
    }
}

fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().map_err(|_| "a limit is a number of bytes".to_owned())?;
    if limit >= LEAST_LIMIT { Ok(limit) } else { Err(format!("a comment needs at least {LEAST_LIMIT} bytes")) }
}

fn address(text: &str) -> Result<String, String> {
    if is_address(text) { Ok(text.to_owned()) } else { Err("an address begins with `https://`, and has no spaces or brackets".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Place, Position};

    fn none() -> Args {
        Args { comment_key: "rollout".into(), max_bytes: LIMIT, head: None, repository_url: None, report_url: None }
    }

    #[track_caller]
    fn case(args: &Args, environment: &[(&str, &str)], line: Option<&str>, whole: Option<&str>) {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let links = args.links("deploy", &environment);
        let place = Place { path: "shop.yaml".into(), position: Position { line: 3, column: 1 } };
        assert_eq!(links.line(&place).as_deref(), line);
        assert_eq!(links.whole.as_deref(), whole);
    }

    #[test]
    fn links_lead_where_the_variables_of_the_forge_say() {
        case(&none(), &[], None, None);
        let github = [
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "acme/shop"),
            ("GITHUB_SHA", "0123abc"),
            ("GITHUB_RUN_ID", "7"),
        ];
        let run = Some("https://github.com/acme/shop/actions/runs/7");
        case(&none(), &github, Some("https://github.com/acme/shop/blob/0123abc/deploy/shop.yaml#L3"), run);
        let head = Args { head: Some("beef".into()), ..none() };
        case(&head, &github, Some("https://github.com/acme/shop/blob/beef/deploy/shop.yaml#L3"), run);
        let gitlab =
            [("CI_PROJECT_URL", "https://gitlab.com/acme/shop"), ("CI_COMMIT_SHA", "0123abc"), ("CI_JOB_URL", "https://gitlab.com/j/1")];
        case(&none(), &gitlab, Some("https://gitlab.com/acme/shop/-/blob/0123abc/deploy/shop.yaml#L3"), Some("https://gitlab.com/j/1"));
    }

    #[test]
    fn what_cannot_stand_in_a_marker_or_a_link_is_refused() {
        assert!(key("eu/prod-1").is_ok());
        for text in ["", "a b", "-->", "a\"b"] {
            assert!(key(text).is_err(), "{text}");
        }
        assert!(limit("65000").is_ok());
        assert!(limit("100").is_err() && limit("x").is_err());
        assert!(address("javascript:alert(1)").is_err());
    }
}
