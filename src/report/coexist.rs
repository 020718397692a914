//! How a plan and the engines that sync the repository get along, as a section of any report.

use std::fmt::Write as _;

use anstyle::Style;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Colors, one_line, visible};
use crate::coexist::{self, Coexistence, EngineKind, Layout, Setting, Synced};
use crate::yaml;

/// The section for people: each engine, its layout, and the settings that it lacks. Empty where no engine was found.
pub fn coexistence(coexistence: &Coexistence, colors: Colors) -> String {
    let mut text = String::new();
    for synced in &coexistence.engines {
        let layout = match synced.layout {
            Layout::Paths => "own: paths",
            Layout::Objects => "own: objects",
        };
        let _ = writeln!(text, "\nsynced by {}, {layout}", colors.paint(Style::new().bold(), one_line(&synced.engine)));
        if synced.is_complete {
            continue;
        }
        let block = match synced.kind {
            EngineKind::Flux => coexist::flux_block(&coexistence.settings),
            EngineKind::ArgoCd => coexist::argocd_block(&coexistence.settings),
        };
        let _ = writeln!(text, "what it needs to leave the release alone:");
        for line in yaml::write(&block).lines() {
            let _ = writeln!(text, "  {}", visible(line));
        }
    }
    text
}

/// The section for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JsonCoexistence {
    /// The engines that have to do with the plan.
    engines: Vec<Synced>,
    /// What they have to leave alone.
    settings: Vec<Setting>,
    /// The same as a part of a Flux Kustomization.
    flux: Value,
    /// The same as a part of an Argo CD Application.
    argocd: Value,
}

impl JsonCoexistence {
    /// The section.
    pub(super) fn of(coexistence: &Coexistence) -> Self {
        Self {
            engines: coexistence.engines.clone(),
            settings: coexistence.settings.clone(),
            flux: coexist::flux_block(&coexistence.settings),
            argocd: coexist::argocd_block(&coexistence.settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coexistence, Colors, EngineKind, Layout, Setting, Synced, coexistence};

    #[test]
    fn the_section_names_the_engine_and_what_it_lacks() {
        let setting = Setting {
            group: String::new(),
            version: "v1".into(),
            kind: "Service".into(),
            namespace: "prod".into(),
            name: "shop".into(),
            paths: vec!["/spec/selector".into()],
        };
        let synced = |is_complete| Synced {
            kind: EngineKind::Flux,
            engine: "Flux Kustomization flux-system/a".into(),
            layout: Layout::Paths,
            is_complete,
        };
        let text = |is_complete| {
            coexistence(
                &Coexistence { settings: vec![setting.clone()], engines: vec![synced(is_complete)], findings: Vec::new() },
                Colors::Never,
            )
        };
        assert_eq!(text(true), "\nsynced by Flux Kustomization flux-system/a, own: paths\n");
        let lacking = "\nsynced by Flux Kustomization flux-system/a, own: paths\nwhat it needs to leave the release alone:\n  spec:\n    ignore:\n    - paths:\n      - /spec/selector\n      target:\n        kind: Service\n        name: ^shop$\n        namespace: ^prod$\n        version: v1\n";
        assert_eq!(text(false), lacking);
    }
}
