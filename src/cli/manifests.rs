//! `rollout manifests`: the agent's installation, with exactly the rights that the plans need.

use camino::Utf8PathBuf;

use super::crds::{Format, print};
use super::{Answer, Failure, World};
use crate::model::Plan;
use crate::objects::{Installation, manifests};
use crate::{disk, plan};

/// The name of a plan's file.
const PLAN: &str = "plan.yaml";

/// Prints the agent's installation, with exactly the rights that your plans need
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent may write in the namespaces of the plans only, and there only the objects that a plan
names. Print the installation again when a plan comes to name another object:
`rollout manifests --plans rollouts > agent.yaml`, next to the plans in git, keeps both together.

Examples:
  rollout crds | kubectl apply --server-side -f -
  rollout manifests --plans rollouts | kubectl apply --server-side -f -")]
pub(super) struct Args {
    /// A folder with plans, as `render --out` writes it; may be given more than once
    #[arg(long, value_name = "DIR")]
    plans: Vec<String>,
    /// The agent's namespace
    #[arg(long, value_name = "NAME", default_value = "rollout-system")]
    namespace: String,
    /// The agent's image
    #[arg(long, value_name = "IMAGE", default_value = concat!("rollout:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// How to print the objects
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    format: Format,
}

/// A file in a folder of plans that is no plan.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the plan `{path}`")]
struct Unreadable {
    path: String,
    source: plan::PlanError,
}

/// Prints the installation.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let mut plans = Vec::new();
    for folder in &args.plans {
        if !world.directory.join(folder).exists() {
            let help = "plans are written by `rollout render --out`; without `--plans` the agent is printed, and may write nowhere yet";
            return Err(format!("there is no folder `{folder}`\nhelp: {help}").into());
        }
        let found = read(folder, world)?;
        if found.is_empty() {
            return Err(format!("there is no `{PLAN}` in `{folder}`; write plans there with `rollout render --out {folder}`").into());
        }
        plans.extend(found);
    }
    if args.plans.is_empty() {
        writeln!(world.stderr, "no plans are named, so the agent may write nowhere; name their folder with `--plans DIR`")?;
    }
    let installation = Installation { namespace: &args.namespace, image: &args.image };
    print(&manifests(&installation, &plans), args.format, world)
}

/// The plans in a folder, in the order of their paths.
fn read(folder: &str, world: &World<'_>) -> Result<Vec<Plan>, Failure> {
    let root = Utf8PathBuf::try_from(world.directory.join(folder))?;
    let reading = disk::read(&root)?;
    let plans = reading.files.iter().filter(|(path, _)| path.rsplit('/').next() == Some(PLAN));
    let parsed =
        plans.map(|(path, bytes)| plan::from_text(bytes).map_err(|source| Unreadable { path: format!("{folder}/{path}"), source }.into()));
    parsed.collect()
}
