//! `rollout explain CODE`: what a finding means and what to do about it.

use crate::report::codes::CODES;

use super::{Answer, Failure, World};

/// Tells what the code of a finding means
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout explain                     all codes
  rollout explain step-beyond-gateway")]
pub(super) struct Args {
    /// The code between the brackets of `error[code]`; without one, all codes are listed
    code: Option<String>,
}

/// Prints the explanation, or the list of codes.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let Some(wanted) = &args.code else {
        let width = CODES.iter().map(|(code, _)| code.len()).max().unwrap_or_default();
        for (code, text) in CODES {
            let headline = text.lines().next().unwrap_or_default();
            writeln!(world.stdout, "{code:width$}  {headline}")?;
        }
        return Ok(Answer::Yes);
    };
    let Some((code, text)) = CODES.iter().find(|(code, _)| code == wanted) else {
        return Err(format!("no finding has the code `{}`; `rollout explain` lists them all", wanted.escape_debug()).into());
    };
    writeln!(world.stdout, "{code}\n\n{}", text.trim_end())?;
    Ok(Answer::Yes)
}
