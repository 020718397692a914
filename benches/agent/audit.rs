//! The API server's own record of what the agent asks it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::process::flags;
use crate::subject::USER;

/// A record that is being written.
pub(crate) struct Audit {
    policy: PathBuf,
    log: PathBuf,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `get`, `list`, `watch`, `patch`…
    pub(crate) verb: String,
    /// `rolloutplans`, `leases`, with the subresource.
    pub(crate) resource: String,
    /// When it reached the server, as the server writes it.
    pub(crate) at: String,
    /// Its address.
    pub(crate) address: String,
}

impl Audit {
    /// Writes the policy: the agent's requests, when they arrive, and nobody else's.
    pub(crate) fn prepare(folder: &Path) -> Result<Self, String> {
        let (policy, log) = (folder.join("audit-policy.yaml"), folder.join("audit.log"));
        let text = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["ResponseStarted", "ResponseComplete"], "rules": [
            {"level": "Metadata", "users": [USER]}, {"level": "None"},
        ]});
        fs::write(&policy, text.to_string()).map_err(|error| error.to_string())?;
        Ok(Self { policy, log })
    }

    /// The API server's flags.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        flags([("audit-policy-file", self.policy.as_os_str()), ("audit-log-path", self.log.as_os_str())])
    }

    /// How much is recorded: a place to read on from.
    pub(crate) fn length(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |metadata| metadata.len())
    }

    /// What was asked since that place.
    pub(crate) fn since(&self, start: u64) -> Vec<Asked> {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(usize::try_from(start).unwrap_or(usize::MAX)..).unwrap_or_default()).into_owned();
        text.lines().filter_map(|line| asked(&serde_json::from_str(line).ok()?)).collect()
    }
}

fn asked(event: &Value) -> Option<Asked> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let subresource = text("/objectRef/subresource");
    let slash = if subresource.is_empty() { "" } else { "/" };
    Some(Asked {
        verb: event.get("verb")?.as_str()?.to_owned(),
        resource: format!("{}{slash}{subresource}", text("/objectRef/resource")),
        at: text("/requestReceivedTimestamp"),
        address: text("/requestURI"),
    })
}

/// How often each was asked, as `verb resource`.
pub(crate) fn counted(all: &[Asked]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for asked in all {
        *counts.entry(format!("{} {}", asked.verb, asked.resource)).or_default() += 1;
    }
    counts
}
