//! The agent as a pod has it: a static program alone in an empty, read-only root, without rights, under the account that a
//! cluster puts there. Only where `ROLLOUT_E2E_IMAGE` names such a program; needs root.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Prepares the root, then becomes the program in it. Killed, it takes the program along: it is the first process of its kind.
const CONTAINER: &str = r#"set -e
root=$1
shift
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
chroot=$(command -v chroot)
env -i "$1" "$2" "$3" "$chroot" --userspec=65532:65532 --groups= "$root" /rollout "${@:4}" &
wait $!
"#;

/// The program that stands alone, where one is to be tried.
pub(crate) fn program() -> Option<PathBuf> {
    env::var_os("ROLLOUT_E2E_IMAGE").map(PathBuf::from)
}

/// Returns the command by which the program runs in a root of its own, with the identity of a kubeconfig.
pub(crate) fn command(program: &Path, root: &Path, kubeconfig: &Path, arguments: &[OsString]) -> Result<(PathBuf, Vec<OsString>), String> {
    let said = |error: std::io::Error| format!("{}: {error}", root.display());
    let text = fs::read_to_string(kubeconfig).map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
    let config: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let cluster = &config["clusters"][0]["cluster"];
    let address = cluster["server"].as_str().unwrap_or_default();
    let host = address.rsplit("://").next().unwrap_or_default();
    let (host, port) = host.trim_end_matches('/').rsplit_once(':').ok_or_else(|| format!("no port in {address}"))?;
    fs::create_dir_all(root).map_err(said)?;
    fs::copy(program, root.join("rollout")).map_err(|error| format!("{}: {error}", program.display()))?;
    let mut arguments = arguments.to_vec();
    if let Some(authority) = cluster["certificate-authority"].as_str() {
        let account = root.join("var/run/secrets/kubernetes.io/serviceaccount");
        fs::create_dir_all(&account).map_err(said)?;
        fs::copy(authority, account.join("ca.crt")).map_err(said)?;
        fs::write(account.join("token"), config["users"][0]["user"]["token"].as_str().unwrap_or_default()).map_err(said)?;
        fs::write(account.join("namespace"), "default").map_err(said)?;
    } else {
        // A way to the server that no cluster offers: a proxy.
        fs::copy(kubeconfig, root.join("kubeconfig")).map_err(said)?;
        arguments.push("--kubeconfig=/kubeconfig".into());
    }
    let mut all: Vec<OsString> =
        ["--mount", "--pid", "--fork", "--kill-child", "--", "bash", "-c", CONTAINER, "container"].map(OsString::from).into();
    all.push(root.into());
    all.push(format!("KUBERNETES_SERVICE_HOST={host}").into());
    all.push(format!("KUBERNETES_SERVICE_PORT={port}").into());
    all.push(format!("HOSTNAME={}", root.file_name().unwrap_or_default().to_string_lossy()).into());
    all.extend(arguments);
    Ok((PathBuf::from("unshare"), all))
}
