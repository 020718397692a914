//! What an Ingress says that the dialect it is written in does not do.

use crate::model::{Catalog, Finding, GatewayRef, Rollout, ScriptOrigin, Source};

/// The annotation that named the class before there was a field.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The annotation by which an Ingress takes a part of another's requests.
const CANARY_ANNOTATION: &str = "nginx.ingress.kubernetes.io/canary";

/// Controllers that read the annotations of ingress-nginx.
const LIKE_NGINX: [&str; 3] = ["nginx", "mse", "higress"];

/// Versions of the API that no cluster since Kubernetes 1.22 has: names of Services stand elsewhere in them.
const REMOVED: [&str; 2] = ["extensions/v1beta1", "networking.k8s.io/v1beta1"];

/// The finding about an Ingress of a version that no cluster has any more.
pub(super) fn removed(ingress: &Source) -> Option<Finding> {
    let version = ingress.manifest.api_version();
    if ingress.object.kind != "Ingress" || !REMOVED.contains(&version) {
        return None;
    }
    let message = format!("no cluster since Kubernetes 1.22 has an Ingress of `{version}`");
    let finding = Finding::error("api-version-removed", message).at(&ingress.path, ingress.places.at("/apiVersion"));
    Some(
        finding
            .about(&ingress.object)
            .help("write it as `networking.k8s.io/v1`: `backend: {service: {name: …, port: {number: …}}}`, and a `pathType` for each path"),
    )
}

/// Adds what keeps requests of an Ingress from the new version although its script has written all that it can.
pub(super) fn check(catalog: &Catalog, rollout: &Rollout, reference: &GatewayRef, ingress: &Source, findings: &mut Vec<Finding>) {
    let Some(dialect) = &reference.ingress_class else { return };
    findings.extend(own_canary(dialect, ingress));
    findings.extend(other_class(catalog, reference, dialect, ingress));
    findings.extend(default_backend(catalog, rollout, reference, ingress));
}

/// It takes a part of the requests of another Ingress. A second one made from it would take a part of nothing.
fn own_canary(dialect: &str, ingress: &Source) -> Option<Finding> {
    let is_canary = ingress.manifest.annotation(CANARY_ANNOTATION) == Some("true");
    if !is_canary || !LIKE_NGINX.contains(&dialect) {
        return None;
    }
    let message = format!("{} is itself a canary: it takes a part of the requests of another Ingress", ingress.object);
    let place = ingress.places.at("/metadata/annotations/nginx.ingress.kubernetes.io~1canary");
    let finding = Finding::error("ingress-is-canary", message).at(&ingress.path, place).about(&ingress.object);
    Some(finding.help("name the Ingress whose requests it takes in the Rollout, and take this one out of the repository"))
}

/// The class is that of another controller, which does not read what the script writes.
fn other_class(catalog: &Catalog, reference: &GatewayRef, dialect: &str, ingress: &Source) -> Option<Finding> {
    let gateway = catalog.gateway(reference)?;
    // Who wrote a script knows who reads it.
    if gateway.script.origin != ScriptOrigin::Shipped {
        return None;
    }
    let field = ingress.manifest.at("/spec/ingressClassName").and_then(|class| class.as_str());
    let (class, pointer) = match (field, ingress.manifest.annotation(CLASS_ANNOTATION)) {
        (Some(class), _) => (class, "/spec/ingressClassName"),
        (None, Some(class)) => (class, "/metadata/annotations/kubernetes.io~1ingress.class"),
        (None, None) => return None,
    };
    if class.is_empty() || is_of(dialect, class) {
        return None;
    }
    let message = format!("{} is of the class `{class}`, and the Rollout has it written for `{dialect}`", ingress.object);
    let known = catalog.gateways.iter().filter_map(|(name, _)| name.strip_prefix("trafficrouting_ingress/"));
    let help = match known.into_iter().find(|known| is_of(known, class)) {
        Some(right) => format!("`classType: {right}` in the Rollout's `trafficRoutings[].ingress`"),
        None => "where its controller reads other annotations, no request reaches the new version: name its dialect in `classType`; `rollout gateways` lists them".to_owned(),
    };
    Some(Finding::warning("ingress-class-differs", message).at(&ingress.path, ingress.places.at(pointer)).about(&ingress.object).help(help))
}

/// Whether the class sounds like one of the dialect: a word of it is part of the name.
fn is_of(dialect: &str, class: &str) -> bool {
    let class = class.to_lowercase();
    let dialect = dialect.to_lowercase();
    let mut words = dialect.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_relative = LIKE_NGINX.contains(&dialect.as_str()) && LIKE_NGINX.iter().any(|relative| class.contains(relative));
    is_relative || words.any(|word| class.contains(word))
}

/// The second Ingress has rules alone: what no rule takes stays with the stable Service.
fn default_backend(catalog: &Catalog, rollout: &Rollout, reference: &GatewayRef, ingress: &Source) -> Option<Finding> {
    let routing = rollout.routing.as_ref().filter(|_| rollout.steps.iter().any(|step| step.traffic.is_split()))?;
    let clone = catalog.gateway(reference)?.clone.as_ref()?;
    let service = ingress.manifest.at("/spec/defaultBackend/service/name")?;
    if *service != routing.service || clone.fields.iter().any(|field| field == "defaultBackend") {
        return None;
    }
    let message = format!(
        "requests that no rule of {} takes go to Service `{}` by its `defaultBackend`, and never reach the new version before the end",
        ingress.object, routing.service
    );
    let finding = Finding::warning("default-backend-stays", message).at(&ingress.path, ingress.places.at("/spec/defaultBackend"));
    Some(finding.about(&ingress.object).help("write a rule with the path `/` for the hosts that are meant"))
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn a_class_is_known_by_a_word_of_its_dialect() {
        for (dialect, class) in [("nginx", "nginx"), ("nginx", "nginx-internal"), ("aliyun-alb", "alb"), ("nginx", "mse"), ("mse", "Nginx")]
        {
            assert!(is_of(dialect, class), "{dialect} {class}");
        }
        for (dialect, class) in [("nginx", "alb"), ("aliyun-alb", "nginx"), ("nginx", "traefik"), ("mse", "alb")] {
            assert!(!is_of(dialect, class), "{dialect} {class}");
        }
    }
}
