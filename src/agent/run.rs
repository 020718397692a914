//! The agent from start to stop.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::api::{Api, chain};
use super::fence::Fence;
use super::health;
use super::lease::Election;
use super::metrics::Metrics;
use super::shared::Shared;
use super::supervise::supervise;
use super::sweep::sweep;

/// How an agent calls itself in the API server's logs.
const USER_AGENT: &str = concat!("rollout-agent/", env!("CARGO_PKG_VERSION"));

/// How an agent runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file that says where the cluster is. Absent: the environment, then the cluster that the agent runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The namespaces of the plans. Empty: all.
    pub namespaces: Vec<String>,
    /// Where health and metrics are told.
    pub listen: SocketAddr,
    /// Who this agent is, other than all others.
    pub identity: String,
    /// How agents agree on one that works. Absent: this one works.
    pub election: Option<ElectionOptions>,
}

/// The Lease by which agents agree on one that works.
#[derive(Debug, Clone)]
pub struct ElectionOptions {
    /// The Lease's namespace. Absent: the agent's own.
    pub namespace: Option<String>,
    /// The Lease's name.
    pub name: String,
    /// How long the lease lasts when it is not renewed: so long nobody works after an agent was killed.
    pub duration: Duration,
}

/// How long an agent that is told to stop waits for the writes that are on their way. Otherwise its lease ends by itself.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Why an agent could not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system does not let us run.
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    /// There is no cluster to talk to.
    #[error("cannot find a cluster: {0}")]
    Cluster(String),
    /// Somebody else listens there.
    #[error("cannot listen at `{address}`")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Runs the agent on this thread until the process is told to stop, by SIGTERM or an interrupt.
pub fn run(options: Options) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime)?;
    runtime.block_on(async {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(StartError::Runtime)?;
        run_until(options, async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        })
        .await
    })
}

/// Runs the agent until `stop` is over, and gives the lease back.
pub async fn run_until(options: Options, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let config = config(&options).await?;
    let namespace = config.default_namespace.clone();
    let cluster = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| StartError::Cluster(chain(&error)))?;
    let fence = Arc::new(if options.election.is_some() { Fence::closed() } else { Fence::open() });
    let metrics = Arc::new(Metrics::new(Arc::clone(&fence)));
    let listening = health::listen(options.listen).await.map_err(|source| StartError::Listen { address: options.listen, source })?;
    let address = listening.local_addr().unwrap_or(options.listen);
    tracing::info!(%address, cluster, version = env!("CARGO_PKG_VERSION"), "the agent begins");
    let health = tokio::spawn(health::serve(listening, Arc::clone(&metrics)));
    let api = Api::new(client, Arc::clone(&fence), Arc::clone(&metrics));
    let probe = tokio::spawn(probe(api.clone(), Arc::clone(&metrics)));
    work(options, namespace, api, fence, metrics, stop).await;
    probe.abort();
    tracing::info!("the agent stops");
    health.abort();
    Ok(())
}

/// Where the cluster is. Requests are never sent again behind our back: each write is checked against the fence first.
async fn config(options: &Options) -> Result<Config, StartError> {
    let cluster = |error: &dyn std::error::Error| StartError::Cluster(chain(error));
    let mut config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| cluster(&error))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(|error| cluster(&error))?
        }
        None => Config::infer().await.map_err(|error| cluster(&error))?,
    };
    config.default_retry = false;
    config.headers.push((header::USER_AGENT, header::HeaderValue::from_static(USER_AGENT)));
    if config.accept_invalid_certs || config.cluster_url.scheme_str() != Some("https") {
        // Nobody's certificate is looked at: the system's, which an image need not have, are not asked for.
        config.root_cert.get_or_insert_default();
    }
    Ok(config)
}

async fn work(options: Options, namespace: String, api: Api, fence: Arc<Fence>, metrics: Arc<Metrics>, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        () = answered(&api) => {}
        () = &mut stop => return,
    }
    let Some(election) = options.election.clone() else {
        metrics.leads(true);
        tokio::select! {
            () = lead(&api, &metrics, &options) => {}
            () = stop => {}
        }
        return;
    };
    let place = election.namespace.unwrap_or(namespace);
    let mut election =
        Election::new(api.for_lease(), Arc::clone(&fence), place, election.name, options.identity.clone(), election.duration);
    loop {
        tokio::select! {
            () = election.won() => {}
            () = &mut stop => return,
        }
        tracing::info!("this agent leads");
        metrics.leads(true);
        let mut leading = Box::pin(lead(&api, &metrics, &options));
        let is_over = tokio::select! {
            () = election.lost() => false,
            () = &mut leading => false,
            () = &mut stop => true,
        };
        metrics.leads(false);
        if is_over {
            let held = fence.is_open();
            fence.close();
            // Another may write as soon as the lease is given back: what is on its way has to have arrived.
            let is_quiet = tokio::select! {
                () = fence.quiet() => true,
                () = &mut leading => true,
                () = tokio::time::sleep(LAST_WRITES) => false,
            };
            drop(leading);
            if held && is_quiet {
                election.resign().await;
            }
            return;
        }
        tracing::warn!("this agent leads no longer");
    }
}

async fn lead(api: &Api, metrics: &Arc<Metrics>, options: &Options) {
    let shared = Arc::new(Shared::new(api.clone(), Arc::clone(metrics), options.identity.clone()));
    let namespaces = &options.namespaces;
    tokio::join!(sweep(Arc::clone(&shared), namespaces.clone()), supervise(shared, namespaces.clone()));
}

/// Asks the API server something where nothing else was asked for a while, so that it is known whether it answers.
async fn probe(api: Api, metrics: Arc<Metrics>) {
    loop {
        tokio::time::sleep(health::SILENCE / 4).await;
        if metrics.unanswered().is_some_and(|time| time > health::SILENCE / 3) {
            // What became of it is counted.
            let _ = api.get("/version").await;
        }
    }
}

/// Returns when the API server has answered.
async fn answered(api: &Api) {
    loop {
        match api.get("/version").await {
            Ok(_) => return,
            Err(trouble) => tracing::warn!(%trouble, "the API server does not answer"),
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
