//! The new version's share as the manifests give it, where a table would say something else or nothing.

use std::collections::BTreeMap;
use std::fmt;

use crate::exposure::{Entry, PodShare, Routes, Share, Split, Verdict};
use crate::model::StepTraffic;

/// Shares of requests that no match of the step means, in tenths of a percent. They differ where rules or gateways do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// The least.
    pub least: u16,
    /// The most.
    pub most: u16,
}

impl Effective {
    /// The shares of a step; none where they cannot be told from the plan, or are what the step declares. Where nothing routes,
    /// requests follow the pods behind each Service.
    pub(super) fn of(entries: &[Entry], by_pods: &BTreeMap<String, PodShare>, traffic: Option<&StepTraffic>) -> Option<Self> {
        let shares = if entries.is_empty() {
            let behind = by_pods.values().filter(|share| **share != PodShare::Nothing);
            behind.map(|share| share.known()).collect::<Option<Vec<f64>>>()?
        } else {
            unmatched(entries)?.into_iter().map(Split::new_version).collect::<Option<Vec<f64>>>()?
        };
        let effective = Self::between(&shares)?;
        let declared = traffic.and_then(|traffic| traffic.weight).unwrap_or(0);
        // A weight among small ones is not always a whole percentage.
        let is_declared = |share: u16| share.abs_diff(u16::from(declared) * 10) <= 10 && (share == 0) == (declared == 0);
        (!is_declared(effective.least) || !is_declared(effective.most)).then_some(effective)
    }

    /// The shares of all requests; none where all of them go to the workload, or none to the new version.
    pub(super) fn of_all_requests(entries: &[Entry]) -> Option<Self> {
        let splits = unmatched(entries)?;
        let is_part = splits.iter().any(|split| tenths(split.workload) < 1000);
        let shares = splits.into_iter().map(|split| Some(split.new_version()? * split.workload)).collect::<Option<Vec<f64>>>()?;
        Self::between(&shares).filter(|overall| is_part && overall.most > 0)
    }

    fn between(shares: &[f64]) -> Option<Self> {
        let shares = shares.iter().map(|share| tenths(*share));
        Some(Self { least: shares.clone().min()?, most: shares.max()? })
    }
}

/// How requests of the workload are divided that no match of the step means; none where that cannot be told.
fn unmatched(entries: &[Entry]) -> Option<Vec<&Split>> {
    let mut splits = Vec::new();
    for entry in entries {
        let Routes::Known(routes) = &entry.routes else { return None };
        for route in routes.iter().filter(|route| route.is_matched == Verdict::No && route.is_ours == Verdict::Yes) {
            match &route.share {
                Share::Known(split) => splits.push(split),
                Share::Elsewhere => {}
                Share::NotKnown(_) => return None,
            }
        }
    }
    Some(splits)
}

/// `16.7%`, `10% to 20%`.
impl fmt::Display for Effective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            return formatter.write_str(&percent(self.most));
        }
        write!(formatter, "{} to {}", percent(self.least), percent(self.most))
    }
}

fn percent(tenths: u16) -> String {
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}%"),
        (whole, tenth) => format!("{whole}.{tenth}%"),
    }
}

/// A share from 0 to 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1000, rounded")]
fn tenths(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposure;
    use crate::model::{Plan, VersionKey};
    use crate::plan::fixture;

    fn said(plan: &Plan) -> Vec<Option<String>> {
        let exposure = exposure::of(plan, &[]);
        let steps = exposure.steps.iter().zip(&exposure.by_pods).zip(&plan.spec.steps);
        steps.map(|((entries, by_pods), step)| Effective::of(entries, by_pods, step.traffic.as_ref()).map(|it| it.to_string())).collect()
    }

    fn key(text: &str) -> VersionKey {
        VersionKey::try_from(text.to_owned()).expect("a key")
    }

    #[test]
    fn what_is_as_declared_is_not_said_again() {
        assert_eq!(said(&fixture()), [None, None]);
    }

    #[test]
    fn a_step_that_leaves_routing_alone_gives_what_the_number_of_pods_gives() {
        let mut plan = fixture();
        for step in &mut plan.spec.steps {
            step.traffic = None;
            for (now, then) in [
                ("Service/shop@2", "Service/shop@1"),
                ("VirtualService/shop@2", "VirtualService/shop@1"),
                ("VirtualService/shop@3", "VirtualService/shop@1"),
            ] {
                for version in step.state.iter_mut().filter(|version| **version == key(now)) {
                    *version = key(then);
                }
            }
        }
        assert_eq!(said(&plan), [Some("20%".into()), Some("33.3%".into())]);
        plan.spec.steps[0].state.retain(|version| version.object().kind() != "VirtualService");
        assert_eq!(said(&plan)[0], None, "without a route nothing is known");
    }

    #[test]
    fn shares_that_differ_are_said_from_the_least_to_the_most() {
        let mut plan = fixture();
        let rules = &mut plan.spec.objects.get_mut(&key("VirtualService/shop@2")).expect("the route")["spec"]["http"];
        let mut other = rules[0].clone();
        other["match"] = serde_json::json!([{"uri": {"prefix": "/cart"}}]);
        other["route"][0]["weight"] = 60.into();
        other["route"][1]["weight"] = 40.into();
        rules.as_array_mut().expect("rules").insert(0, other);
        assert_eq!(said(&plan), [Some("20% to 40%".into()), None]);
    }

    #[test]
    fn without_a_route_requests_follow_the_pods_of_the_services() {
        let of = |shares: &[PodShare]| {
            let by_pods = shares.iter().enumerate().map(|(index, share)| (index.to_string(), *share)).collect();
            Effective::of(&[], &by_pods, None).map(|effective| effective.to_string())
        };
        assert_eq!(of(&[PodShare::Known(0.2), PodShare::Nothing, PodShare::Known(0.25)]).as_deref(), Some("20% to 25%"));
        assert_eq!(of(&[PodShare::Known(0.2), PodShare::NotKnown]), None);
        assert_eq!(of(&[PodShare::Nothing]), None);
    }

    #[test]
    fn a_rule_that_sends_a_part_elsewhere_gives_less_of_all_requests() {
        let mut plan = fixture();
        let of_all = |plan: &Plan| Effective::of_all_requests(&exposure::of(plan, &[]).steps[0]).map(|overall| overall.to_string());
        assert_eq!(of_all(&plan), None);
        let rules = &mut plan.spec.objects.get_mut(&key("VirtualService/shop@2")).expect("the route")["spec"]["http"];
        rules[0]["route"] = serde_json::json!([
            {"destination": {"host": "shop"}, "weight": 72}, {"destination": {"host": "shop-canary"}, "weight": 18}, {"destination": {"host": "cart"}, "weight": 10},
        ]);
        assert_eq!(of_all(&plan).as_deref(), Some("18%"));
        assert_eq!(said(&plan)[0], None, "of the workload's requests it is what the step declares");
    }
}
