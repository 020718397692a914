//! `trafficRoutings`: the Service and the gateway objects that carry traffic to the workload. Alike in both API versions.

use std::collections::BTreeSet;

use super::fields::no_hint;
use super::node::Node;
use crate::model::{Finding, GatewayRef, Routing};

const DEFAULT_GRACE: u32 = 3;
const DEFAULT_CLASS: &str = "nginx";

/// What the strategy says about traffic; absent when it moves pods only.
pub(super) fn read(strategy: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Routing> {
    let elements = strategy.list("trafficRoutings", findings);
    let is_subset_mode = strategy.flag("disableGenerateCanaryService", findings);
    if let Some(second) = elements.get(1) {
        let message = format!("a Rollout has one traffic routing, not {}", elements.len());
        findings.push(second.error("routing-several", message).help("one routing can name several gateway objects"));
    }
    let node = elements.into_iter().next()?;
    let known = ["service", "gracePeriodSeconds", "ingress", "gateway", "customNetworkRefs"];
    if !node.is_map("trafficRoutings", &known, no_hint, findings) {
        return None;
    }
    let service =
        node.needed_text("service", "routing-service", "name the Service whose pods the workload runs: `service: shop`", findings);
    let gateways = gateways(&node, findings);
    Some(Routing { service: service?.to_owned(), grace_seconds: grace(&node, findings), gateways, is_subset_mode, place: node.place() })
}

fn grace(node: &Node<'_>, findings: &mut Vec<Finding>) -> u32 {
    let Some(seconds) = node.integer("gracePeriodSeconds", findings) else { return DEFAULT_GRACE };
    u32::try_from(seconds).unwrap_or_else(|_| {
        let at = node.child("gracePeriodSeconds").unwrap_or_else(|| node.clone());
        findings.push(at.error("routing-grace", format!("`gracePeriodSeconds` is not negative: {seconds}")));
        DEFAULT_GRACE
    })
}

/// Custom references, then the Ingress, then the HTTPRoute: the order in which Kruise drives them.
fn gateways(node: &Node<'_>, findings: &mut Vec<Finding>) -> Vec<GatewayRef> {
    let has_list = node.child("customNetworkRefs").is_some();
    let customs = node.list("customNetworkRefs", findings);
    let (ingress, gateway) = (node.child("ingress"), node.child("gateway"));
    if !has_list && ingress.is_none() && gateway.is_none() {
        let finding = node.error("routing-nothing", "a traffic routing names an `ingress`, a `gateway` or `customNetworkRefs`");
        findings.push(finding.help("`customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]`"));
    }
    let mut read: Vec<GatewayRef> = customs.iter().filter_map(|custom| custom_ref(custom, findings)).collect();
    read.extend(ingress_ref(node, findings));
    read.extend(route_ref(node, findings));
    let mut known = BTreeSet::new();
    for reference in &read {
        if !known.insert((reference.script_name(), &reference.name)) {
            let message = format!("{} `{}` is named twice", reference.kind, reference.name);
            let finding = Finding::error("routing-twice", message).at(&reference.place.path, reference.place.position);
            findings.push(finding.help("name every traffic object once"));
        }
    }
    read
}

fn custom_ref(node: &Node<'_>, findings: &mut Vec<Finding>) -> Option<GatewayRef> {
    if !node.is_map("customNetworkRefs", &["apiVersion", "kind", "name"], no_hint, findings) {
        return None;
    }
    let reference = super::reference::read(node, "routing-reference", findings)?;
    let (api_version, kind, name) = (reference.api_version, reference.kind, reference.name);
    Some(GatewayRef { api_version, kind, name, ingress_class: None, place: node.place() })
}

fn ingress_ref(routing: &Node<'_>, findings: &mut Vec<Finding>) -> Option<GatewayRef> {
    let node = routing.map("ingress", &["classType", "name"], no_hint, findings)?;
    let class = node.text("classType", findings).filter(|class| !class.is_empty()).unwrap_or(DEFAULT_CLASS);
    if class.contains(['/', '\\']) || class.starts_with('.') {
        let at = node.child("classType").unwrap_or_else(|| node.clone());
        findings.push(at.error("routing-class", format!("`classType` names an ingress dialect such as `nginx`, not `{class}`")));
    }
    let name = node.needed_text("name", "routing-ingress", "name the Ingress: `ingress: {name: shop}`", findings)?;
    let ingress_class = Some(class.to_owned());
    Some(GatewayRef {
        api_version: "networking.k8s.io/v1".into(),
        kind: "Ingress".into(),
        name: name.into(),
        ingress_class,
        place: node.place(),
    })
}

fn route_ref(routing: &Node<'_>, findings: &mut Vec<Finding>) -> Option<GatewayRef> {
    let node = routing.map("gateway", &["httpRouteName"], no_hint, findings)?;
    let name = node.needed_text("httpRouteName", "routing-gateway", "name the HTTPRoute: `gateway: {httpRouteName: shop}`", findings)?;
    let (api_version, kind) = ("gateway.networking.k8s.io/v1".into(), "HTTPRoute".into());
    Some(GatewayRef { api_version, kind, name: name.into(), ingress_class: None, place: node.place() })
}
