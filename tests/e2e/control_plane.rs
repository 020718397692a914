//! A control plane of its own: etcd, API server, controller manager, scheduler, and kwok as the kubelet of four nodes.
//!
//! Everything listens on free ports of 127.0.0.1 and writes below one folder. Access is by token and RBAC.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::{Value, json};

use crate::cluster::{At, Cluster};
use crate::gateway::Gateway;
use crate::process::{self, Process, Program, flags};

/// The token of an identity that may do everything.
const ADMIN_TOKEN: &str = "admin-of-the-suite";

/// How long each program may take until it answers.
const PATIENCE: Duration = Duration::from_secs(90);

/// Whose definitions of a Rollout are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definitions {
    /// What `rollout crds` prints.
    Ours,
    /// OpenKruise's, where it has them.
    OfOpenKruise,
}

/// A running control plane; it ends with the value.
pub(crate) struct ControlPlane {
    /// `https://127.0.0.1:port`.
    pub(crate) address: String,
    folder: PathBuf,
    api_server: Mutex<Process>,
    api_flags: Vec<std::ffi::OsString>,
    others: Vec<Process>,
    gateway: Option<Gateway>,
}

impl ControlPlane {
    /// Starts everything below the folder, and returns when pods can run.
    pub(crate) fn start(folder: &Path, definitions: Definitions) -> Result<Self, String> {
        Self::start_with(folder, definitions, Vec::new())
    }

    /// The same, with more flags of the API server.
    pub(crate) fn start_with(folder: &Path, definitions: Definitions, more: Vec<std::ffi::OsString>) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let account_key = account_key(folder)?;
        let tokens = folder.join("tokens.csv");
        write(&tokens, &format!("{ADMIN_TOKEN},admin,admin,\"system:masters\"\n"))?;

        let (store, peer, port, kwok_port) = (free_port()?, free_port()?, free_port()?, free_port()?);
        let store = format!("http://127.0.0.1:{store}");
        let peer = format!("http://127.0.0.1:{peer}");
        let mut etcd = flags([
            ("data-dir", folder.join("etcd").into_os_string()),
            ("listen-client-urls", store.clone().into()),
            ("advertise-client-urls", store.clone().into()),
            ("listen-peer-urls", peer.clone().into()),
            ("initial-advertise-peer-urls", peer.clone().into()),
            ("initial-cluster", format!("default={peer}").into()),
            ("log-level", "warn".into()),
        ]);
        etcd.push("--unsafe-no-fsync".into());
        let etcd = start("ETCD", etcd, folder, "etcd")?;

        let mut api_flags = flags([
            ("etcd-servers", store.into()),
            ("secure-port", port.to_string().into()),
            ("bind-address", "127.0.0.1".into()),
            ("advertise-address", "127.0.0.1".into()),
            ("cert-dir", folder.join("certificates").into_os_string()),
            ("service-cluster-ip-range", "10.96.0.0/16".into()),
            ("service-account-issuer", "https://kubernetes.default.svc".into()),
            ("service-account-key-file", account_key.clone().into_os_string()),
            ("service-account-signing-key-file", account_key.clone().into_os_string()),
            ("token-auth-file", tokens.into_os_string()),
            ("authorization-mode", "RBAC".into()),
            // Pods that run nothing need no tokens, and nobody takes the taint off that a new node gets.
            ("disable-admission-plugins", "ServiceAccount,TaintNodesByCondition".into()),
        ]);
        api_flags.extend(more);
        let api_server = start("KUBE_APISERVER", api_flags.clone(), folder, "kube-apiserver")?;
        let address = format!("https://127.0.0.1:{port}");
        let mut plane =
            Self { address, folder: folder.to_owned(), api_server: Mutex::new(api_server), api_flags, others: vec![etcd], gateway: None };
        plane.wait_until_ready()?;

        let cluster = plane.admin("suite")?;
        install_crds(&cluster, definitions)?;
        plane.gateway = Some(Gateway::start(plane.admin("gateway")?));
        if has_controllers() {
            plane.start_controllers(account_key, kwok_port)?;
        }
        Ok(plane)
    }

    /// What makes pods of Deployments, and lets them run.
    fn start_controllers(&mut self, account_key: PathBuf, kwok_port: u16) -> Result<(), String> {
        let (admin, cluster) = (self.admin_kubeconfig()?, self.admin("suite")?);
        let folder = &self.folder.clone();
        let manager = flags([
            ("kubeconfig", admin.clone().into_os_string()),
            ("service-account-private-key-file", account_key.into_os_string()),
            ("leader-elect", "false".into()),
            ("secure-port", "0".into()),
            // kwok's nodes send heartbeats too rarely for these two.
            ("controllers", "*,-node-lifecycle-controller,-taint-eviction-controller".into()),
            ("kube-api-qps", "300".into()),
            ("kube-api-burst", "600".into()),
            ("concurrent-namespace-syncs", "4".into()),
        ]);
        self.others.push(start("KUBE_CONTROLLER_MANAGER", manager, folder, "kube-controller-manager")?);
        let scheduler = flags([
            ("kubeconfig", admin.clone().into_os_string()),
            ("leader-elect", "false".into()),
            ("secure-port", "0".into()),
            ("kube-api-qps", "300".into()),
            ("kube-api-burst", "600".into()),
        ]);
        self.others.push(start("KUBE_SCHEDULER", scheduler, folder, "kube-scheduler")?);
        let stages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/stages.yaml");
        let mut kwok = flags([
            ("kubeconfig", admin.into_os_string()),
            ("config", stages.into_os_string()),
            ("server-address", format!("127.0.0.1:{kwok_port}").into()),
            ("node-lease-duration-seconds", "40".into()),
        ]);
        kwok.push("--manage-all-nodes".into());
        self.others.push(start("KWOK", kwok, folder, "kwok")?);

        for node in 1..=4 {
            cluster.create(&json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": format!("node-{node}"), "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "status": {"allocatable": {"cpu": "1k", "memory": "1Ti", "pods": "1000"}, "capacity": {"cpu": "1k", "memory": "1Ti", "pods": "1000"}},
            }))?;
        }
        Ok(())
    }

    /// Returns a client that may do everything and is known as `manager` in what it writes.
    pub(crate) fn admin(&self, manager: &str) -> Result<Cluster, String> {
        Cluster::connect(&self.admin_kubeconfig()?, manager)
    }

    /// Returns a kubeconfig of the identity that may do everything.
    pub(crate) fn admin_kubeconfig(&self) -> Result<PathBuf, String> {
        self.kubeconfig("admin", ADMIN_TOKEN)
    }

    /// Writes a kubeconfig with a token and returns where.
    pub(crate) fn kubeconfig(&self, name: &str, token: &str) -> Result<PathBuf, String> {
        self.kubeconfig_to(&self.address, name, token)
    }

    /// The same, for another address of the same server: a proxy's.
    pub(crate) fn kubeconfig_to(&self, address: &str, name: &str, token: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{name}.kubeconfig"));
        let cluster = if address == self.address {
            json!({"server": address, "certificate-authority": self.authority_file()})
        } else {
            json!({"server": address})
        };
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "suite",
            "clusters": [{"name": "suite", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "suite", "context": {"cluster": "suite", "user": name}}],
        });
        // Others may be reading it: the new text takes the old one's place at once.
        let fresh = path.with_extension(format!("{:?}", thread::current().id()));
        write(&fresh, &text.to_string())?;
        fs::rename(&fresh, &path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Installs the gateways' definitions that are missing.
    pub(crate) fn install_definitions(&self) -> Result<(), String> {
        let cluster = self.admin("suite")?;
        install_folder(&cluster, "tests/e2e/crds")?;
        cluster.wait_for_crds()
    }

    /// Ends the API server as a crash would.
    pub(crate) fn stop_api_server(&self) -> Result<(), String> {
        self.api_server.lock().map_err(|error| error.to_string())?.kill();
        Ok(())
    }

    /// Starts the API server again, on the same port.
    pub(crate) fn start_api_server(&self) -> Result<(), String> {
        *self.api_server.lock().map_err(|error| error.to_string())? =
            start("KUBE_APISERVER", self.api_flags.clone(), &self.folder, "kube-apiserver")?;
        self.wait_until_ready()
    }

    fn authority_file(&self) -> PathBuf {
        self.folder.join("certificates/apiserver.crt")
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        loop {
            self.api_server.lock().map_err(|error| error.to_string())?.check()?;
            let answer = self.admin("suite").and_then(|cluster| cluster.text("/readyz"));
            match answer {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > end => return Err(format!("the API server did not get ready: {error}")),
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// Whether there are programs that make pods of Deployments. Somebody may have brought an API server and its store only.
pub(crate) fn has_controllers() -> bool {
    ["KUBE_CONTROLLER_MANAGER", "KUBE_SCHEDULER", "KWOK"]
        .iter()
        .all(|variable| env::var_os(format!("ROLLOUT_E2E_{variable}")).is_some_and(|file| !file.is_empty()))
}

/// Starts the program that `ROLLOUT_E2E_<variable>` names.
fn start(variable: &str, arguments: Vec<std::ffi::OsString>, folder: &Path, name: &str) -> Result<Process, String> {
    let file = env::var_os(format!("ROLLOUT_E2E_{variable}"))
        .ok_or_else(|| format!("ROLLOUT_E2E_{variable} is not set; tests/e2e/run sets it"))?;
    process::start(Program { file: Path::new(&file), arguments, log: folder.join(format!("{name}.log")) })
}

/// Makes the key that signs the tokens of service accounts.
fn account_key(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("service-account.key");
    let made = Command::new("openssl").args(["genrsa", "-out"]).arg(&path).arg("2048").stdin(Stdio::null()).stderr(Stdio::null()).status();
    if made.is_ok_and(|status| status.success()) { Ok(path) } else { Err("openssl could not make a key".to_owned()) }
}

/// Returns a port that nobody listens on.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no free port: {error}"))?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// The gateways' definitions, and those of a Rollout.
fn install_crds(cluster: &Cluster, definitions: Definitions) -> Result<(), String> {
    install_folder(cluster, "tests/e2e/crds")?;
    if definitions == Definitions::OfOpenKruise {
        install_folder(cluster, "tests/e2e/crds-of-openkruise")?;
    }
    let printed = Command::new(crate::world::program()).args(["crds", "--format", "json"]).output().map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&printed.stdout).map_err(|error| format!("rollout crds: {error}"))?;
    for crd in list["items"].as_array().into_iter().flatten() {
        let at = At { kind: "CustomResourceDefinition", namespace: "", name: crd["metadata"]["name"].as_str().unwrap_or_default() };
        if cluster.get(at)?.is_none() {
            cluster.apply(crd)?;
        }
    }
    cluster.wait_for_crds()
}

/// Creates every definition of a folder of the repository that is not there.
fn install_folder(cluster: &Cluster, folder: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let crd: Value = serde_yaml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        if cluster.get(At { kind: "CustomResourceDefinition", namespace: "", name })?.is_none() {
            cluster.create(&crd).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
