//! The command line of a chart.

use std::ffi::OsString;

use camino::Utf8Path;

use super::kustomize::CommandLine;
use super::program::Programs;
use crate::config::{Capabilities, Chart};

/// `helm template`, offline: no hooks, no schema or dependency fetched. `at` turns a path below the root into one that can be read.
pub(super) fn command(chart: &Chart, at: &dyn Fn(&str) -> camino::Utf8PathBuf, programs: &Programs) -> Option<CommandLine> {
    let program = programs.find("helm")?;
    let mut arguments: Vec<OsString> =
        vec!["template".into(), release(chart).into(), at(&chart.folder).into_std_path_buf().into(), "--no-hooks".into()];
    if let Some(namespace) = &chart.namespace {
        arguments.extend(["--namespace".into(), namespace.into()]);
    }
    for values in &chart.values {
        arguments.extend(["--values".into(), at(values).into_std_path_buf().into()]);
    }
    arguments.extend(told(&chart.capabilities));
    Some(CommandLine { program, name: "helm template", arguments })
}

/// What the chart is told about the cluster.
fn told(capabilities: &Capabilities) -> impl Iterator<Item = OsString> {
    let kube_version = capabilities.kube_version.iter().map(|version| format!("--kube-version={version}"));
    let api_versions = capabilities.api_versions.iter().map(|version| format!("--api-versions={version}"));
    kube_version.chain(api_versions).map(OsString::from)
}

/// The release's name: as chosen, else the last folder's name.
fn release(chart: &Chart) -> String {
    let folder = Utf8Path::new(&chart.folder).file_name().unwrap_or("chart");
    chart.release.clone().unwrap_or_else(|| {
        let plain = |character: char| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' };
        let name: String = folder.chars().map(plain).take(53).collect();
        let name = name.trim_matches('-');
        if name.is_empty() { "chart".to_owned() } else { name.to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::{release, told};
    use crate::config::{Capabilities, Chart};

    #[test]
    fn a_release_is_called_as_its_chart_unless_somebody_says_otherwise() {
        let chart = |folder: &str, release: Option<&str>| Chart {
            folder: folder.into(),
            values: Vec::new(),
            release: release.map(str::to_owned),
            namespace: None,
            capabilities: Capabilities::default(),
        };
        assert_eq!(release(&chart("charts/My_Shop", None)), "my-shop");
        assert_eq!(release(&chart("charts/shop", Some("eu"))), "eu");
        assert_eq!(release(&chart("", None)), "chart");
    }
    #[test]
    fn a_chart_is_told_of_the_cluster_what_somebody_says() {
        assert_eq!(told(&Capabilities::default()).count(), 0);
        let capabilities = Capabilities { kube_version: Some("1.34".into()), api_versions: vec!["a/v1".into(), "b/v1/Route".into()] };
        let arguments: Vec<_> = told(&capabilities).filter_map(|argument| argument.into_string().ok()).collect();
        assert_eq!(arguments, ["--kube-version=1.34", "--api-versions=a/v1", "--api-versions=b/v1/Route"]);
    }
}
