//! Somebody who writes the same object again and again: told, with the setting that ends it, instead of fought.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::ObjectKey;

/// So many overwrites …
const MOST: usize = 3;
/// … within so much time are a fight.
const WITHIN: Duration = Duration::from_mins(1);

/// Who overwrote what, and when.
#[derive(Debug, Default)]
pub(super) struct Fights(BTreeMap<(ObjectKey, String), Vec<Instant>>);

impl Fights {
    /// Notes that a manager overwrote an object; returns what to tell when it has become a fight.
    pub(super) fn note(&mut self, object: &ObjectKey, manager: &str, fields: &str, now: Instant) -> Option<String> {
        let times = self.0.entry((object.clone(), manager.to_owned())).or_default();
        // A fight is over when nobody has overwritten anything for longer than we pause.
        let within = if times.len() >= MOST { WITHIN * 5 } else { WITHIN };
        times.retain(|time| now.duration_since(*time) < within);
        times.push(now);
        (times.len() >= MOST).then(|| {
            format!(
                "`{}` has overwritten {object} {} times within a minute ({fields}): {}",
                manager.escape_debug(),
                times.len(),
                help(manager)
            )
        })
    }
}

fn help(manager: &str) -> &'static str {
    let manager = manager.to_ascii_lowercase();
    if manager.contains("argocd") {
        "let Argo CD leave the plan's paths alone: `ignoreDifferences` with `RespectIgnoreDifferences=true`"
    } else if manager.contains("kustomize-controller") || manager.contains("flux") {
        "let Flux leave the plan's paths alone: `spec.ignore` of the Kustomization"
    } else if manager.contains("helm") {
        "let the Helm controller leave the plan's paths alone: `driftDetection.ignore` of the HelmRelease"
    } else {
        "stop whoever writes there during a release"
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Fights;
    use crate::model::ObjectKey;

    #[test]
    fn three_times_within_a_minute_is_a_fight_and_seldom_is_not() {
        let (mut fights, object) = (Fights::default(), ObjectKey::new("VirtualService", "shop"));
        let begin = Instant::now();
        let mut note = |manager: &str, seconds: u64| fights.note(&object, manager, "/spec/http", begin + Duration::from_secs(seconds));
        assert_eq!(note("kubectl", 0), None);
        assert_eq!(note("argocd-controller", 1), None);
        assert_eq!(note("argocd-controller", 2), None);
        assert!(note("argocd-controller", 3).unwrap().contains("RespectIgnoreDifferences=true"));
        assert_eq!(note("kubectl", 50), None);
        assert_eq!(note("kubectl", 100), None);
        assert_eq!(note("kubectl", 150), None);
        assert!(note("argocd-controller", 90).is_some());
        assert_eq!(note("argocd-controller", 900), None);
    }
}
