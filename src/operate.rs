//! Plans in a cluster, for the person who operates a release: what they say, and what is asked of them.
//!
//! A client of the API server as the user's kubeconfig names it. Every call waits for its answer.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use hyper::header;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::model::{PlanSpec, PlanStatus, REQUEST_ANNOTATION, Request};

/// The name under which we write.
const MANAGER: &str = "rollout";
/// How we call ourselves in the API server's logs.
const USER_AGENT: &str = concat!("rollout/", env!("CARGO_PKG_VERSION"));

/// How long one call may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a cluster gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    /// No cluster is configured.
    #[error("cannot tell which cluster is meant; name a kubeconfig with --kubeconfig or $KUBECONFIG")]
    NoCluster(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The cluster has no plans at all.
    #[error("the cluster does not know RolloutPlans; install the definitions with `rollout crds | kubectl apply --server-side -f -`")]
    NotInstalled,
    /// There is no such plan.
    #[error("there is no plan `{name}` in the namespace `{namespace}`")]
    NoPlan {
        /// Where it was looked for.
        namespace: String,
        /// What was looked for.
        name: String,
    },
    /// An object that is no plan as this program knows plans.
    #[error("the plan `{namespace}/{name}` cannot be read")]
    Unreadable {
        /// The plan's namespace.
        namespace: String,
        /// The plan's name.
        name: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The API server refused.
    #[error("the API server refused")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A plan as the cluster holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct LivePlan {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub spec: PlanSpec,
    /// Where it stands. The default where no agent has seen it yet.
    pub status: PlanStatus,
    /// The id of the request that was put on it last.
    pub requested: Option<String>,
    /// The object's resource version.
    version: String,
}

/// A connection to one cluster.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    namespace: String,
}

impl LivePlan {
    /// Whether somebody's request waits for an agent's answer.
    pub fn is_asked(&self) -> bool {
        self.requested.is_some() && self.requested != self.status.handled_request
    }
}

impl Cluster {
    /// Connects as a kubeconfig says: the file that is named, else as kubectl looks for it, else as a pod.
    pub fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, OperateError> {
        let no_cluster = |error: Box<dyn std::error::Error + Send + Sync>| OperateError::NoCluster(error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| no_cluster(error.into()))?;
        let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let (client, namespace) = runtime.block_on(async {
            let mut config = match kubeconfig {
                Some(path) => {
                    let file = Kubeconfig::read_from(path).map_err(|error| no_cluster(error.into()))?;
                    Config::from_custom_kubeconfig(file, &options).await.map_err(|error| no_cluster(error.into()))?
                }
                None if context.is_some() => Config::from_kubeconfig(&options).await.map_err(|error| no_cluster(error.into()))?,
                None => Config::infer().await.map_err(|error| no_cluster(error.into()))?,
            };
            config.read_timeout = Some(TIMEOUT);
            config.headers.push((header::USER_AGENT, header::HeaderValue::from_static(USER_AGENT)));
            if config.accept_invalid_certs || config.cluster_url.scheme_str() != Some("https") {
                // Nobody's certificate is looked at: the system's, which an image need not have, are not asked for.
                config.root_cert.get_or_insert_default();
            }
            let namespace = config.default_namespace.clone();
            let client = Client::try_from(config).map_err(|error| no_cluster(error.into()))?;
            Ok::<_, OperateError>((client, namespace))
        })?;
        Ok(Self { runtime, client, namespace })
    }

    /// The namespace that the kubeconfig's context names.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns a plan.
    pub fn plan(&self, namespace: &str, name: &str) -> Result<LivePlan, OperateError> {
        let object = self.runtime.block_on(self.plans_of(Some(namespace)).get(name));
        match object {
            Ok(object) => read(&object),
            Err(kube::Error::Api(status)) if status.code == 404 && status.message.contains("not find the requested resource") => {
                Err(OperateError::NotInstalled)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                Err(OperateError::NoPlan { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            Err(error) => Err(OperateError::Refused(error.into())),
        }
    }

    /// Returns the plans of a namespace, or of all, sorted by namespace and name. One that cannot be read is an error in its place.
    pub fn plans(&self, namespace: Option<&str>) -> Result<Vec<Result<LivePlan, OperateError>>, OperateError> {
        match self.runtime.block_on(self.plans_of(namespace).list(&ListParams::default())) {
            Ok(list) => Ok(list.items.iter().map(read).collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Err(OperateError::NotInstalled),
            Err(error) => Err(OperateError::Refused(error.into())),
        }
    }

    /// Asks something of a plan as it was read. The agent answers in the plan's status. Returns false, and asks nothing, where
    /// the plan has changed since: two people who ask at the same time do not take each other's words away.
    pub fn ask(&self, plan: &LivePlan, request: &Request) -> Result<bool, OperateError> {
        let text = serde_json::to_string(request).map_err(|error| OperateError::Refused(error.into()))?;
        let metadata = json!({"resourceVersion": plan.version, "annotations": {REQUEST_ANNOTATION: text}});
        let api = self.plans_of(Some(&plan.namespace));
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        match self.runtime.block_on(api.patch_metadata(&plan.name, &parameters, &patch)) {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(OperateError::Refused(error.into())),
        }
    }

    /// Tells `seen` of a plan as it is, and of each change, until that breaks off or `limit` has passed. Returns what `seen`
    /// broke off with, `None` after the limit.
    pub fn watch<T>(
        &self,
        namespace: &str,
        name: &str,
        limit: Option<Duration>,
        mut seen: impl FnMut(LivePlan) -> ControlFlow<T>,
    ) -> Result<Option<T>, OperateError> {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let stream = watcher(self.plans_of(Some(namespace)), config).default_backoff().applied_objects();
        let watched = async {
            let mut stream = stream.boxed();
            while let Some(object) = stream.try_next().await.map_err(|error| OperateError::Refused(error.into()))? {
                if let ControlFlow::Break(answer) = seen(read(&object)?) {
                    return Ok(Some(answer));
                }
            }
            Ok(None)
        };
        self.runtime.block_on(async {
            match limit {
                Some(limit) => tokio::time::timeout(limit, watched).await.unwrap_or(Ok(None)),
                None => watched.await,
            }
        })
    }

    fn plans_of(&self, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("rollout.dev", "v1alpha1", "RolloutPlan");
        let resource = ApiResource::from_gvk_with_plural(&kind, "rolloutplans");
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

fn read(object: &DynamicObject) -> Result<LivePlan, OperateError> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let name = object.metadata.name.clone().unwrap_or_default();
    let part = |field: &str| object.data.get(field).cloned().unwrap_or(Value::Null);
    let unreadable = |source| OperateError::Unreadable { namespace: namespace.clone(), name: name.clone(), source };
    let spec = serde_json::from_value(part("spec")).map_err(unreadable)?;
    let status: Option<PlanStatus> = serde_json::from_value(part("status")).map_err(unreadable)?;
    let status = status.unwrap_or_default();
    let requested = object.metadata.annotations.as_ref().and_then(|annotations| annotations.get(REQUEST_ANNOTATION));
    let requested = requested.and_then(|text| serde_json::from_str::<Request>(text).ok()).map(|request| request.id);
    let version = object.metadata.resource_version.clone().unwrap_or_default();
    Ok(LivePlan { spec, status, requested, version, namespace: namespace.clone(), name: name.clone() })
}
