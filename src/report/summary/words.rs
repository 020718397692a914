//! How a release is said, in the words of all formats.

use crate::diff::Change;
use crate::model::{Gate, Replicas, ScriptUse, StepTraffic, Style};
use crate::report::{count, traffic};

use super::{Changed, Impact, Part, Pods, Release, Row, Share};

impl Release {
    /// `prod/shop`, `eu: prod/shop`.
    pub fn title(&self) -> String {
        let environment = if self.environment.is_empty() { String::new() } else { format!("{}: ", self.environment) };
        format!("{environment}{}/{}", self.namespace, self.name)
    }

    /// How many steps it has.
    pub fn steps(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.part, Part::Step(_))).count()
    }

    /// How the new version comes in: `Canary`.
    pub fn style_said(&self) -> &'static str {
        match self.style {
            Style::Canary => "Canary",
            Style::Partition => "Partition",
            Style::BlueGreen => "BlueGreen",
        }
    }

    /// `Canary release of Deployment/shop in 2 steps`.
    pub fn what(&self) -> String {
        format!("{} release of {} in {}", self.style_said(), self.workload, count(self.steps(), "step"))
    }

    /// Why nothing is released; none for a release.
    pub fn preview(&self) -> Option<&'static str> {
        self.is_preview.then_some("preview: this change releases nothing")
    }
}

/// `approval`, `after 300 s`, `none`.
pub(in crate::report) fn gate_said(gate: &Gate) -> String {
    match gate {
        Gate::Approval {} => "approval".into(),
        Gate::Seconds(seconds) => format!("after {seconds} s"),
        Gate::None {} => "none".into(),
    }
}

impl Row {
    /// `approval`, `after 300 s`; empty for `finish` and `abort`.
    pub fn gate_said(&self) -> String {
        self.gate.as_ref().map(gate_said).unwrap_or_default()
    }

    /// `+Service/shop-canary, Service/shop, -Deployment/shop-canary`, or `nothing`.
    pub fn changes_said(&self) -> String {
        let words: Vec<String> = self.changes.iter().map(Changed::said).collect();
        if words.is_empty() { "nothing".into() } else { words.join(", ") }
    }

    /// `20%`, `unchanged, 16.7% by pods`, `20%, in effect 36%`, `20%, 18% of all requests`, `20%, not proved`.
    pub fn traffic_said(&self) -> String {
        self.share.said() + &self.effective_said()
    }

    /// What the manifests say beyond what is declared: `, 16.7% by pods`; empty for most.
    pub fn effective_said(&self) -> String {
        let overall = self.overall.map(|overall| format!(", {overall} of all requests")).unwrap_or_default();
        let proof = if self.not_proved.is_some() { ", not proved" } else { "" };
        self.in_effect() + &overall + proof
    }

    fn in_effect(&self) -> String {
        match (&self.share, self.effective) {
            (_, None) => String::new(),
            (Share::Unchanged, Some(effective)) => format!(", {effective} by pods"),
            (Share::Split { matches, .. }, Some(effective)) if !matches.is_empty() => format!(", in effect {effective} of all others"),
            (Share::Split { .. } | Share::All | Share::None, Some(effective)) => format!(", in effect {effective}"),
        }
    }
}

impl Changed {
    /// `+Service/shop-canary`, `Service/shop`, `-Deployment/shop-canary`.
    pub fn said(&self) -> String {
        match self.change {
            Change::Added => format!("+{}", self.object),
            Change::Changed => self.object.to_string(),
            Change::Removed => format!("-{}", self.object),
        }
    }
}

impl Share {
    /// The share of a step, whose traffic these scripts split.
    pub(in crate::report) fn of(traffic: Option<&StepTraffic>, scripts: &[ScriptUse]) -> Self {
        match traffic {
            Some(traffic) if traffic.weight.is_some() || !traffic.matches.is_empty() => {
                Self::Split { weight: traffic.weight, matches: traffic.matches.iter().map(|it| traffic::said(it, scripts)).collect() }
            }
            Some(_) | None => Self::Unchanged,
        }
    }

    /// `20%`, `header version=canary`, `20%, and header version=canary`, `unchanged`, `all`, `none`.
    pub fn said(&self) -> String {
        match self {
            Self::Unchanged => "unchanged".into(),
            Self::All => "all".into(),
            Self::None => "none".into(),
            Self::Split { weight, matches } => {
                let matches = matches.join(" or ");
                match (weight, matches.is_empty()) {
                    (None, _) => matches,
                    (Some(weight), true) => format!("{weight}%"),
                    (Some(weight), false) => format!("{weight}%, and {matches}"),
                }
            }
        }
    }

    /// The share of all requests in percent, where there is one.
    pub fn weight(&self) -> Option<u8> {
        match self {
            Self::Unchanged => None,
            Self::All => Some(100),
            Self::None => Some(0),
            Self::Split { weight, .. } => *weight,
        }
    }
}

impl Pods {
    /// `1 of 5`, `3 of 5 (60%)`, `60%`, `all`, `none`.
    pub fn said(&self) -> String {
        match (self.written, self.new, self.total) {
            (Some(written @ Replicas::Percent(_)), Some(new), Some(total)) => format!("{new} of {total} ({written})"),
            (_, Some(new), Some(total)) => format!("{new} of {total}"),
            (Some(written), _, _) => written.to_string(),
            (None, Some(0), None) => "none".into(),
            (None, _, _) => "all".into(),
        }
    }
}

impl Impact {
    /// `1 release in 2 steps, 2 of them on approval, changes 4 objects`, `no rollout changes`, `no plan could be rendered`.
    pub fn said(&self) -> String {
        let previews = match (self.releases, self.previews) {
            (0, 0) if self.errors > 0 => return "no plan could be rendered".into(),
            (0, 0) => return "no rollout changes".into(),
            (0, previews) => return format!("no release; {}", count(previews, "preview")),
            (_, 0) => String::new(),
            (_, previews) => format!("; {}", count(previews, "preview")),
        };
        let approvals = match self.approvals {
            0 => String::new(),
            approvals => format!(", {approvals} of them on approval,"),
        };
        let verb = if self.releases == 1 { "changes" } else { "change" };
        let (releases, steps, objects) = (count(self.releases, "release"), count(self.steps, "step"), count(self.objects, "object"));
        format!("{releases} in {steps}{approvals} {verb} {objects}{previews}")
    }
}
