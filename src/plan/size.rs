//! How large a plan may be, and what makes it large.

use super::Sealed;
use crate::digest;
use crate::model::{Finding, Plan};

/// From here a client-side `kubectl apply` does not fit its annotation.
const LARGE: usize = 200 * 1024;
/// From here the API server's storage may refuse the object.
const TOO_LARGE: usize = 1024 * 1024;
/// How many objects are named as the cause.
const NAMED: usize = 3;

/// Returns what there is to say about the plan's size: nothing for most, a warning from 200 KiB, an error from 1 MiB.
pub fn check(plan: &Plan, sealed: &Sealed) -> Option<Finding> {
    let size = sealed.length;
    let message = || format!("the plan has {}, {}", kibibytes(size), causes(plan));
    let finding = if size >= TOO_LARGE {
        Finding::error("plan-too-large", format!("{}; a cluster stores at most 1024 KiB", message()))
            .help("release fewer gateway objects with one Rollout, or use fewer steps")
    } else if size >= LARGE {
        Finding::warning("plan-large", message())
            .help("apply it with `kubectl apply --server-side`; Argo CD reads the option from the plan, Flux always does so")
    } else {
        return None;
    };
    Some(finding.about(format!("Rollout {}/{}", plan.namespace, plan.name)))
}

/// Names the objects that take the most, all versions together.
fn causes(plan: &Plan) -> String {
    let mut sizes = std::collections::BTreeMap::new();
    for (version, value) in &plan.spec.objects {
        let (versions, bytes) = sizes.entry(version.object()).or_insert((0_usize, 0_usize));
        *versions += 1;
        *bytes += digest::canonical(value).len();
    }
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    let named: Vec<String> = sizes
        .iter()
        .take(NAMED)
        .map(|(object, (versions, bytes))| {
            let plural = if *versions == 1 { "version" } else { "versions" };
            format!("`{object}` {} in {versions} {plural}", kibibytes(*bytes))
        })
        .collect();
    format!("most of it {}", named.join(", "))
}

fn kibibytes(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::model::{ObjectKey, Severity};
    use crate::plan::{fixture, sealed};

    #[track_caller]
    fn case(bytes: usize, expected: Option<Severity>) {
        let mut plan = fixture();
        let filler = json!({"apiVersion": "v1", "kind": "Filler", "data": "x".repeat(bytes)});
        plan.spec.objects.insert(ObjectKey::new("Filler", "large").version(1), filler);
        let finding = check(&plan, &sealed(&plan.spec));
        assert_eq!(finding.as_ref().map(|finding| finding.severity), expected);
        if let Some(finding) = finding {
            assert!(finding.message.contains("most of it `Filler/large`"), "{}", finding.message);
        }
    }

    #[test]
    fn a_large_plan_is_told_with_what_makes_it_large() {
        case(10, None);
        case(200 * 1024, Some(Severity::Warning));
        case(1024 * 1024, Some(Severity::Error));
    }
}
