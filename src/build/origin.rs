//! From what was built to what people wrote: findings about built manifests point to the overlay, or to the chart's template.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::files::Files;
use crate::model::{Finding, Manifest, Place, Position};
use crate::yaml;

/// What each built file was made from.
#[derive(Debug, Clone, Default)]
pub struct Origins(BTreeMap<String, Origin>);

/// What one built file was made from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// The file that people know: the overlay's kustomization, the chart's `Chart.yaml`.
    pub(super) shown: String,
    /// The chart's folder, where there is one.
    pub(super) chart: Option<String>,
    /// What was built.
    pub(super) text: Arc<[u8]>,
}

impl Origins {
    pub(super) fn insert(&mut self, path: String, origin: Origin) {
        self.0.insert(path, origin);
    }

    /// The file that people know for one that was read: what it was built from, or the file itself.
    pub fn file_of<'p>(&'p self, path: &'p str) -> &'p str {
        self.0.get(path).map_or(path, |origin| &origin.shown)
    }

    /// The same findings, with those about a built file at what that was made from, about the object that was built.
    /// `files` are those of the repository.
    #[must_use]
    pub fn pointed(&self, findings: Vec<Finding>, files: &Files) -> Vec<Finding> {
        if self.0.is_empty() {
            return findings;
        }
        findings.into_iter().map(|finding| self.one(finding, files)).collect()
    }

    fn one(&self, mut finding: Finding, files: &Files) -> Finding {
        for (path, origin) in &self.0 {
            if finding.message.contains(path.as_str()) {
                finding.message = finding.message.replace(path.as_str(), &format!("{} (built)", origin.shown));
            }
            if let Some(help) = finding.help.as_mut().filter(|help| help.contains(path.as_str())) {
                *help = help.replace(path.as_str(), &format!("{} (built)", origin.shown));
            }
        }
        let Some((place, origin)) =
            finding.place.as_mut().and_then(|place| Some((self.0.get(&place.path)?, place)).map(|(origin, place)| (place, origin)))
        else {
            return finding;
        };
        let (object, template) = origin.written_at(place.position);
        let shown = template.filter(|template| files.get(template).is_some()).unwrap_or_else(|| origin.shown.clone());
        *place = Place { path: shown, position: Position { line: 1, column: 1 } };
        finding.object = finding.object.or(object);
        finding
    }
}

impl Origin {
    /// The object at a position of what was built, and the template that made it.
    fn written_at(&self, position: Position) -> (Option<String>, Option<String>) {
        let Ok(text) = std::str::from_utf8(&self.text) else { return (None, None) };
        let Ok(documents) = yaml::split(text) else { return (None, None) };
        let Some(raw) = documents.iter().rev().find(|raw| raw.first_line <= position.line) else { return (None, None) };
        let manifest = yaml::read(raw).ok().flatten().and_then(|document| Manifest::try_from(document.value).ok());
        let object = manifest.map(|manifest| match manifest.namespace() {
            Some(namespace) => format!("{} {namespace}/{}", manifest.kind(), manifest.name()),
            None => format!("{} {}", manifest.kind(), manifest.name()),
        });
        // `# Source: shop/templates/deployment.yaml`, which begins with the chart's name.
        let source = raw.text.lines().find_map(|line| line.strip_prefix("# Source: "));
        let template = self.chart.as_ref().zip(source.and_then(|source| source.trim().split_once('/')));
        (object, template.map(|(chart, (_, below))| if chart.is_empty() { below.to_owned() } else { format!("{chart}/{below}") }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, Origins};
    use crate::files::Files;
    use crate::model::{Finding, Position};

    const BUILT: &str = "---\n# Source: shop/templates/a.yaml\nkind: A\n---\n# Source: shop/templates/b.yaml\napiVersion: v1\nkind: Service\nmetadata:\n  name: shop\n  namespace: prod\n";

    fn pointed(chart: Option<&str>, finding: Finding) -> Finding {
        let mut origins = Origins::default();
        let origin = Origin { shown: "prod/kustomization.yaml".into(), chart: chart.map(str::to_owned), text: BUILT.as_bytes().into() };
        origins.insert("prod/.built.yaml".into(), origin);
        let files: Files = [("charts/shop/templates/b.yaml".to_owned(), b"".as_slice().into())].into_iter().collect();
        origins.pointed(vec![finding], &files).remove(0)
    }

    #[test]
    fn a_finding_points_to_the_overlay_and_names_the_object() {
        let finding = pointed(None, Finding::error("a", "see prod/.built.yaml:6").at("prod/.built.yaml", Position { line: 8, column: 3 }));
        assert_eq!(finding.place.expect("a place").path, "prod/kustomization.yaml");
        assert_eq!(finding.object.as_deref(), Some("Service prod/shop"));
        assert_eq!(finding.message, "see prod/kustomization.yaml (built):6");
    }

    #[test]
    fn a_finding_of_a_chart_points_to_the_template() {
        let at = |line| pointed(Some("charts/shop"), Finding::error("a", "b").at("prod/.built.yaml", Position { line, column: 1 }));
        assert_eq!(at(7).place.expect("a place").path, "charts/shop/templates/b.yaml");
        assert_eq!(at(3).place.expect("a place").path, "prod/kustomization.yaml");
    }

    #[test]
    fn other_findings_stay_as_they_are() {
        let finding = Finding::error("a", "b").at("other.yaml", Position { line: 8, column: 3 });
        assert_eq!(pointed(None, finding.clone()), finding);
    }
}
