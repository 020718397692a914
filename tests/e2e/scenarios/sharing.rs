//! Two releases of one commit that change the same route: one after the other, and neither overwrites the other.

use std::time::Duration;

use serde_json::Value;

use super::{Scenario, beside, with_steps};
use crate::release::{Running, prepare_both};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("two-plans-on-one-route", |world| both(world, End::Success)),
    beside("two-plans-on-one-route-and-the-first-is-aborted", |world| both(world, End::Abort)),
];

/// How the first release ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Success,
    Abort,
}

const STEPS: &str = "      - replicas: 1
        traffic: 10%
      - replicas: 50%
        traffic: 50%
";

const RULE: &str = "  - matches:
    - path:
        type: PathPrefix
        value: /
    backendRefs:
    - name: shop
      port: 80
";
const RULE_OF_CART: &str = "  - matches:
    - path:
        type: PathPrefix
        value: /cart
    backendRefs:
    - name: cart
      port: 80
";

/// `shop` and `cart` behind one HTTPRoute; the same commit changes another rule of it.
fn change(side: &str, file: &str, text: &str) -> String {
    let text = with_steps(file, text, STEPS);
    match file {
        "shop/route.yaml" => {
            let text = text.replace(RULE, &format!("{RULE_OF_CART}{RULE}"));
            if side == "after" { text.replace("replaceFullPath: /\n", "replaceFullPath: /new\n") } else { text }
        }
        // The Rollout of `cart` names the route of `shop`, and there is no other.
        "cart/route.yaml" | "cart/virtual-service.yaml" => String::new(),
        "cart/rollout.yaml" => {
            let (start, _) = text.split_once("      trafficRoutings:\n").expect("a Rollout with routing");
            format!(
                "{start}      trafficRoutings:\n      - service: cart\n        gracePeriodSeconds: 1\n        gateway:\n          httpRouteName: shop\n"
            )
        }
        _ => text,
    }
}

fn both(world: &mut World<'_>, end: End) -> Result<(), String> {
    let [cart, shop] =
        prepare_both(world, [("two-gateways", "cart"), ("httproute-five-steps", "shop")], |side, file, text| change(side, file, &text))?;
    let said = cart.world.rollout(&["render", "after", "--base-dir", "before", "--format", "json"])?;
    if !said.contains("change HTTPRoute/shop: the agent runs one after the other") {
        return Err("render does not say that they share the route".to_owned());
    }
    let (mut cart, mut shop) = (cart, shop);
    cart.agent.start()?;
    cart.apply_plan()?;
    shop.apply_plan()?;
    let world = cart.world;
    let cart_is_first = world.wait("one of them to run and the other to wait", PATIENCE, || {
        let (cart, shop) = (cart.status()?, shop.status()?);
        match (is_at_gate(&cart), is_held(&cart), is_at_gate(&shop), is_held(&shop)) {
            (true, _, _, true) => Ok(Some(true)),
            (_, true, true, _) => Ok(Some(false)),
            _ => Ok(None),
        }
    })?;
    let (first, second) = if cart_is_first { (&mut cart, &mut shop) } else { (&mut shop, &mut cart) };
    let words = format!("HTTPRoute/shop belongs to the release of the plan `{}` until that is over", first.name());
    let held = second.status()?;
    if held["waitingFor"] != words {
        return Err(format!("the second says {} and not {words}", held["waitingFor"]));
    }
    second.wait_event("Claimed", &words)?;
    // Nothing of the second release is there.
    let canary = format!("{}-canary", second.name());
    for kind in ["Deployment", "Service"] {
        if world.get(kind, &canary)?.is_some() {
            return Err(format!("{kind} {canary} is there while the first release runs"));
        }
    }
    match end {
        End::Success => first.approve_to_the_end()?,
        End::Abort => first.ask("abort", 0)?,
    }
    // Nobody touches the second: it goes on by itself, at once.
    second.wait_long("the second release to begin", Duration::from_secs(20), |status| status["cursor"]["part"] != "check")?;
    second.approve_to_the_end()?;
    let outcome = if end == End::Success { "Succeeded" } else { "Aborted" };
    let status = first.wait_phase(outcome)?;
    if status["last"]["outcome"] != outcome {
        return Err(format!("the first release is told as {}", status["last"]));
    }
    second.neighbours.push(first.plan.clone());
    first.neighbours.push(second.plan.clone());
    second.assert_succeeded()?;
    if end == End::Success {
        first.assert_succeeded()?;
    }
    // The route is what git says, rule by rule.
    is_gits(second)?;
    first.assert_no_fault()?;
    second.assert_no_fault()
}

fn is_at_gate(status: &Value) -> bool {
    status["cursor"]["part"] == "gate"
}

fn is_held(status: &Value) -> bool {
    status["phase"] == "Holding" && status["cursor"]["hold"]["cause"] == "Claimed"
}

fn is_gits(running: &Running<'_, '_>) -> Result<(), String> {
    let manifests = running.world.manifests("after")?;
    let manifest = manifests.iter().find(|manifest| manifest["kind"] == "HTTPRoute").ok_or("no HTTPRoute")?;
    running.assert_inside("HTTPRoute", "shop", manifest)
}
