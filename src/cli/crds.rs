//! `rollout crds`: the definitions that a cluster needs.

use serde_json::Value;

use super::{Answer, Failure, World};
use crate::{objects, yaml};

/// Prints the definitions (CRDs) that a cluster needs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout crds | kubectl apply --server-side -f -
  rollout crds --own | kubectl apply --server-side -f -
                                  where OpenKruise is installed and brings its own")]
pub(super) struct Args {
    /// Only our own kinds, none of OpenKruise's
    #[arg(long)]
    own: bool,
    /// How to print them
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    format: Format,
}

/// How objects for a cluster are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// A stream of documents
    Yaml,
    /// One List
    Json,
}

/// Prints the definitions.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let mut definitions = objects::own_definitions();
    if !args.own {
        definitions.extend(objects::kruise_definitions());
    }
    print(&definitions, args.format, world)
}

/// Prints objects for a cluster.
pub(super) fn print(objects: &[Value], format: Format, world: &mut World<'_>) -> Result<Answer, Failure> {
    match format {
        Format::Yaml => {
            for object in objects {
                write!(world.stdout, "---\n{}", yaml::write(object))?;
            }
        }
        Format::Json => {
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
            writeln!(world.stdout, "{list:#}")?;
        }
    }
    Ok(Answer::Yes)
}
