//! What users write, and what is said about it.

mod repositories;
mod rules_v1alpha1;
mod rules_v1beta1;

use crate::config::Config;
use crate::discover::{Discovery, discover, read};
use crate::files::Files;

fn files(entries: &[(&str, &str)]) -> Files {
    entries.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().into())).collect()
}

fn discovered(files: &Files, config: &Config) -> Discovery {
    discover(&read(files, config), config)
}

/// Every finding as `line:column severity[code] message`.
fn shown(discovery: &Discovery) -> Vec<String> {
    let shown = discovery.findings.iter().map(|finding| {
        let place = finding.place.as_ref().map(|place| format!("{}:{} ", place.position.line, place.position.column));
        format!("{}{}[{}] {}", place.unwrap_or_default(), finding.severity, finding.code, finding.message)
    });
    shown.collect()
}

/// One Rollout in one file gives exactly these findings.
#[track_caller]
fn expect(text: &str, expected: &[&str]) {
    let discovery = discovered(&files(&[("shop.yaml", text)]), &Config::default());
    assert_eq!(shown(&discovery), expected, "{text}");
    let has_error = expected.iter().any(|line| line.contains(" error["));
    assert_eq!(discovery.counts.rollouts, usize::from(!has_error), "{text}");
}

/// The help of the only finding.
#[track_caller]
fn help(text: &str, expected: &str) {
    let discovery = discovered(&files(&[("shop.yaml", text)]), &Config::default());
    let helps: Vec<_> = discovery.findings.iter().map(|finding| finding.help.as_deref().unwrap_or_default()).collect();
    assert_eq!(helps, [expected], "{:?}", shown(&discovery));
}
