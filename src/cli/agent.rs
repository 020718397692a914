//! `rollout agent`: the reconciler in the cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{Answer, Failure, World};
use crate::agent::{ElectionOptions, Options, follow_logs, run as run_agent};

/// Carries plans out in a cluster
///
/// Watches RolloutPlan objects, writes one stage of a release after the other, waits for what the plan says, goes on by
/// approval or time, and restores everything at the end or on abort. It stops on SIGTERM and may be killed at any time: who
/// comes back goes on where the plan's status says.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout agent --kubeconfig ~/.kube/config --no-leader-election
                                  from your own machine
  rollout manifests --plans rollouts | kubectl apply -f -
                                  in the cluster, with exactly the rights that the plans need")]
pub(super) struct Args {
    /// The file that says where the cluster is [default: $KUBECONFIG, ~/.kube/config, then the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Only these namespaces, separated by commas; all when absent
    #[arg(long, visible_alias = "namespace", value_name = "NAMESPACE", value_delimiter = ',')]
    namespaces: Vec<String>,
    /// Where /healthz, /readyz and /metrics are told
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The namespace of the Lease by which several agents agree on one that works [default: the agent's own]
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,
    /// The name of that Lease
    #[arg(long, value_name = "NAME", default_value = "rollout-agent")]
    lease_name: String,
    /// Who this agent is, in the Lease; no two may be the same [default: host name and process number]
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,
    /// How long that Lease lasts when it is not renewed: so long nobody works after an agent was killed
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..=600))]
    lease_seconds: u32,
    /// Works without asking whether another agent does: for one agent only
    #[arg(long)]
    no_leader_election: bool,
    /// How much is logged, as JSON on stderr: error, warn, info, debug, or a filter as `rollout=debug,kube=warn`
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: String,
}

/// Runs until it is told to stop.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    follow_logs(&args.log)?;
    let host = world.environment.get("HOSTNAME").filter(|host| !host.is_empty()).map_or("rollout-agent", String::as_str);
    let identity = args.identity.clone().unwrap_or_else(|| format!("{host}-{}", std::process::id()));
    let election = (!args.no_leader_election).then(|| ElectionOptions {
        namespace: args.lease_namespace.clone(),
        name: args.lease_name.clone(),
        duration: Duration::from_secs(u64::from(args.lease_seconds)),
    });
    let options = Options {
        kubeconfig: args.kubeconfig.as_ref().map(|path| world.directory.join(path)),
        namespaces: args.namespaces.clone(),
        listen: args.listen,
        identity,
        election,
    };
    run_agent(options)?;
    Ok(Answer::Yes)
}
