//! How long a step may take, from the Rollout's annotations.

use super::node::Node;
use crate::model::{Deadline, DeadlineAction, Finding};

const STEP_DEADLINE: &str = "rollout.dev/step-deadline";
const ON_DEADLINE: &str = "rollout.dev/on-deadline";

/// The deadline that the annotations set, if they do.
pub(super) fn read(root: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Deadline> {
    let annotations = root.child("metadata")?.child("annotations")?;
    let then = match annotations.text(ON_DEADLINE, findings) {
        None | Some("hold") => DeadlineAction::Hold,
        Some("abort") => DeadlineAction::Abort,
        Some(other) => {
            let at = annotations.child(ON_DEADLINE)?;
            findings.push(at.error("deadline-invalid", format!("`{ON_DEADLINE}` is `hold` or `abort`, not `{other}`")));
            DeadlineAction::Hold
        }
    };
    let Some(written) = annotations.text(STEP_DEADLINE, findings) else {
        if let Some(action) = annotations.child(ON_DEADLINE)
            && annotations.child(STEP_DEADLINE).is_none()
        {
            let finding = action.warning("deadline-missing", format!("`{ON_DEADLINE}` does nothing without `{STEP_DEADLINE}`"));
            findings.push(finding.help(format!("`{STEP_DEADLINE}: 10m`")));
        }
        return None;
    };
    let Some(seconds) = seconds(written).filter(|seconds| *seconds > 0) else {
        let at = annotations.child(STEP_DEADLINE)?;
        let message = format!("`{STEP_DEADLINE}` is a time of at least a second such as `10m` or `1h30m`, not `{written}`");
        findings.push(at.error("deadline-invalid", message));
        return None;
    };
    Some(Deadline { seconds, then })
}

/// A Go duration in whole seconds, rounded up.
fn seconds(text: &str) -> Option<u32> {
    const UNITS: &[(&str, u128)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() || rest.len() > 64 {
        return None;
    }
    let mut nanoseconds: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        nanoseconds = nanoseconds.checked_add(scaled(number, *size)?)?;
        rest = tail;
    }
    u32::try_from(nanoseconds.div_ceil(1_000_000_000)).ok()
}

fn scaled(number: &str, size: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 12 {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(15)];
    let part =
        if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? * size / 10_u128.pow(u32::try_from(fraction.len()).ok()?) };
    Some(whole * size + part)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (written, expected) in [
            ("10m", Some(600)),
            ("1h30m", Some(5400)),
            ("1.5h", Some(5400)),
            ("90s", Some(90)),
            ("1500ms", Some(2)),
            (".5s", Some(1)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("10 m", None),
            ("m", None),
            ("1.2.3s", None),
            ("-1s", None),
            ("9999999999999999h", None),
            ("1d", None),
        ] {
            assert_eq!(seconds(written), expected, "{written}");
        }
    }
}
