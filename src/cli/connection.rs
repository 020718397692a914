//! Which cluster and which namespace a command is about.

use camino::Utf8PathBuf;

use super::{Failure, World};
use crate::operate::{Cluster, LivePlan};
use crate::report::Live;

/// The arguments by which kubectl names a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct Connection {
    /// The namespace of the plan [default: the one of the kubeconfig's context]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// The kubeconfig [default: $KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<Utf8PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Connection {
    /// Connects.
    pub(super) fn open(&self, world: &World<'_>) -> Result<Cluster, Failure> {
        let kubeconfig = self.kubeconfig.as_ref().map(|path| world.directory.join(path));
        Ok(Cluster::connect(kubeconfig.as_deref(), self.context.as_deref())?)
    }

    /// The namespace that is meant.
    pub(super) fn namespace<'a>(&'a self, cluster: &'a Cluster) -> &'a str {
        self.namespace.as_deref().unwrap_or_else(|| cluster.namespace())
    }
}

/// A plan for a report.
pub(super) fn shown(plan: &LivePlan) -> Live<'_> {
    Live { namespace: &plan.namespace, name: &plan.name, spec: &plan.spec, status: &plan.status }
}
