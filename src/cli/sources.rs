//! The arguments about what makes manifests: kustomizations and charts.

use camino::{Utf8Path, Utf8PathBuf};

use crate::build::Choice;
use crate::config::{Capabilities, Chart, is_api_version, is_version};

use super::Failure;
use super::repository::normal;

/// Where manifests come from.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Sources {
    /// Build this kustomization and read nothing else [default: those that name a Rollout and that no other includes]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["helm", "no_build"])]
    kustomize: Option<Utf8PathBuf>,

    /// Render this chart and read nothing else
    #[arg(long, value_name = "CHART", conflicts_with = "no_build")]
    helm: Option<Utf8PathBuf>,

    /// Values for the chart; a later file wins
    #[arg(long, value_name = "FILE", requires = "helm")]
    values: Vec<Utf8PathBuf>,

    /// The name of the chart's release [default: the name of the chart's folder]
    #[arg(long, value_name = "NAME", requires = "helm")]
    release: Option<String>,

    /// The namespace of the chart's release
    #[arg(long, value_name = "NAME", requires = "helm")]
    namespace: Option<String>,

    /// The version of Kubernetes that the chart is rendered for
    #[arg(long, value_name = "VERSION", requires = "helm", value_parser = kube_version)]
    kube_version: Option<String>,

    /// An API version that the cluster has, beside those that helm knows; may be given more than once
    #[arg(long, value_name = "VERSION", requires = "helm", value_delimiter = ',', value_parser = api_version)]
    api_versions: Vec<String>,

    /// Build nothing: read files as they stand
    #[arg(long)]
    no_build: bool,
}

impl Sources {
    /// What to build of the files below `root`, for arguments that are relative to `directory`.
    pub(super) fn choice(&self, directory: &Utf8Path, root: &Utf8Path) -> Result<Choice, Failure> {
        let below = |path: &Utf8Path| -> Result<String, Failure> {
            if path.as_str().contains("://") {
                return Err(format!("`{path}` is on the network, and builds have none\nhelp: give a folder").into());
            }
            let whole = normal(&directory.join(path));
            let below = whole.strip_prefix(root).map(|below| below.as_str().to_owned());
            below.map_err(|_| format!("`{path}` is not inside of `{root}`\nhelp: give a folder around both as PATH").into())
        };
        if self.no_build {
            return Ok(Choice::Nothing);
        }
        if let Some(folder) = &self.kustomize {
            return Ok(Choice::Kustomize(below(folder)?));
        }
        let Some(chart) = &self.helm else { return Ok(Choice::Configured) };
        Ok(Choice::Helm(Chart {
            folder: below(chart)?,
            values: self.values.iter().map(|values| below(values)).collect::<Result<_, _>>()?,
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            capabilities: Capabilities { kube_version: self.kube_version.clone(), api_versions: self.api_versions.clone() },
        }))
    }
}

fn kube_version(text: &str) -> Result<String, String> {
    is_version(text).then(|| text.to_owned()).ok_or_else(|| "a version of Kubernetes is `1.34` or `v1.34.2`".to_owned())
}

fn api_version(text: &str) -> Result<String, String> {
    is_api_version(text)
        .then(|| text.to_owned())
        .ok_or_else(|| "an API version is `gateway.networking.k8s.io/v1`, perhaps with `/Kind`".to_owned())
}
