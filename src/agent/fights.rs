//! Somebody who writes the same object again and again: told, with the setting that ends it, instead of fought.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::api::MANAGER;
use crate::model::ObjectKey;

/// So many overwrites …
const MOST: usize = 3;
/// … within so much time are a fight.
const WITHIN: Duration = Duration::from_mins(1);

/// Who overwrote what, and when.
#[derive(Debug, Default)]
pub(super) struct Fights(BTreeMap<(ObjectKey, String), Fight>);

#[derive(Debug, Default)]
struct Fight {
    /// When it was overwritten, the last times.
    times: Vec<Instant>,
    /// What is told, the same for as long as it goes on.
    told: Option<String>,
}

impl Fights {
    /// Notes that a manager overwrote an object; returns what to tell when it has become a fight.
    pub(super) fn note(&mut self, object: &ObjectKey, manager: &str, fields: &str, now: Instant) -> Option<String> {
        let fight = self.0.entry((object.clone(), manager.to_owned())).or_default();
        // A fight is over when nobody has overwritten anything for longer than we pause.
        let within = if fight.told.is_some() { WITHIN * 5 } else { WITHIN };
        fight.times.retain(|time| now.duration_since(*time) < within);
        fight.times.push(now);
        if fight.times.len() < MOST {
            fight.told = None;
            return None;
        }
        let more = fight.times.len() - MOST;
        fight.times.drain(..more);
        Some(fight.told.get_or_insert_with(|| words(object, manager, fields)).clone())
    }

    /// What to tell of a fight in which something was overwritten within the last minute, though all is as it should be now.
    pub(super) fn going_on(&self, now: Instant) -> Option<&str> {
        let is_recent = |fight: &&Fight| fight.times.last().is_some_and(|time| now.duration_since(*time) < WITHIN);
        self.0.values().filter(is_recent).find_map(|fight| fight.told.as_deref())
    }
}

fn words(object: &ObjectKey, manager: &str, fields: &str) -> String {
    if manager == MANAGER {
        return format!(
            "{object} was written {MOST} times within a minute and is not what was written ({fields}): stop what changes it on its \
             way, a mutating webhook or another agent"
        );
    }
    format!("`{}` has overwritten {object} {MOST} times within a minute ({fields}): {}", manager.escape_debug(), help(manager))
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
    use crate::agent::api::MANAGER;
    use crate::model::ObjectKey;

    #[test]
    fn a_fight_goes_on_for_a_minute_after_the_last_blow_and_is_told_in_the_same_words() {
        let (mut fights, object, begin) = (Fights::default(), ObjectKey::new("VirtualService", "shop"), Instant::now());
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        assert_eq!(fights.going_on(at(0)), None);
        let told: Vec<_> = (0..5).map(|second| fights.note(&object, "helm", &format!("/spec/{second}"), at(second))).collect();
        assert_eq!((&told[0], &told[1]), (&None, &None));
        assert!(told[2].as_ref().unwrap().contains("`helm` has overwritten VirtualService/shop 3 times within a minute (/spec/2)"));
        assert_eq!((&told[3], &told[4]), (&told[2], &told[2]));
        assert_eq!(fights.going_on(at(63)), told[2].as_deref());
        assert_eq!(fights.going_on(at(64)), None);
    }

    #[test]
    fn what_is_changed_on_its_way_is_told_as_that() {
        let (mut fights, object, now) = (Fights::default(), ObjectKey::new("Deployment", "shop"), Instant::now());
        let told = (0..3).find_map(|_| fights.note(&object, MANAGER, "/spec/template", now)).unwrap();
        assert!(told.contains("a mutating webhook or another agent"), "{told}");
    }

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
