//! The rights that are installed are those that an agent uses: no fewer, and no more.

use std::collections::BTreeSet;

use rollout::objects::{Installation, manifests};
use serde_json::Value;

use super::world::{World, scenario, shop};

/// `verb group resource`, and the name of the object where there is one.
type Use = (String, Option<String>);

/// One rule of a role.
struct Granted {
    /// `verb group resource`.
    what: String,
    /// The objects that it is for; none: all.
    names: Vec<String>,
}

fn granted() -> Vec<Granted> {
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        rule[field].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let objects = manifests(&Installation { namespace: "prod", image: "agent" }, &[shop()]);
    let rules = objects.iter().filter_map(|object| object["rules"].as_array()).flatten();
    let mut granted = Vec::new();
    for rule in rules {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                for verb in texts(rule, "verbs") {
                    granted.push(Granted { what: format!("{verb} {group}/{resource}"), names: texts(rule, "resourceNames") });
                }
            }
        }
    }
    granted
}

/// What was asked of the API server, but for what everybody may ask: what is served, and what one may do.
fn used(world: &World) -> BTreeSet<Use> {
    world.server.with(|store| store.requests.iter().filter_map(|request| usage(&request.method, &request.path)).collect())
}

fn usage(method: &str, path: &str) -> Option<Use> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts[..] {
        ["api", _, ref rest @ ..] => ("", rest),
        ["apis", group, _, ref rest @ ..] => (group, rest),
        _ => return None,
    };
    let (resource, name) = match rest {
        ["namespaces", _, resource] | [resource] => ((*resource).to_owned(), None),
        ["namespaces", _, resource, name] | [resource, name] => ((*resource).to_owned(), Some((*name).to_owned())),
        ["namespaces", _, resource, name, subresource] => (format!("{resource}/{subresource}"), Some((*name).to_owned())),
        _ => return None,
    };
    let verb = match (method, &name) {
        ("GET", None) => "list",
        ("GET", Some(_)) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        ("WATCH", _) => "watch",
        (other, _) => panic!("{other}"),
    };
    (!resource.starts_with("selfsubject")).then(|| (format!("{verb} {group}/{resource}"), name))
}

#[test]
fn a_release_and_an_abort_use_every_right_that_is_installed_and_no_other() {
    let mut uses = BTreeSet::new();
    for is_aborted in [false, true] {
        scenario(async |world| {
            world.apply(&shop());
            let agent = world.competitor("one", std::future::pending());
            world.until_gate(1).await;
            // What waits is watched; what is approved at once waits for nothing.
            for watched in ["services", "deployments", "replicasets", "endpointslices", "virtualservices"] {
                world
                    .until(watched, |world| used(world).iter().any(|(what, _)| what.starts_with("watch") && what.ends_with(watched)))
                    .await;
            }
            if is_aborted {
                world.request("abort", 0, "a");
                world.until_phase("Aborted").await;
            } else {
                world.approve("shop");
                world.until_gate(2).await;
                world.approve("shop");
                world.until_phase("Succeeded").await;
            }
            agent.abort();
            uses.extend(used(world));
        });
    }
    let granted = granted();
    let allows = |granted: &Granted, (what, name): &Use| {
        granted.what == *what && (granted.names.is_empty() || name.as_ref().is_some_and(|name| granted.names.contains(name)))
    };
    let missing: Vec<&Use> = uses.iter().filter(|used| !granted.iter().any(|granted| allows(granted, used))).collect();
    assert!(missing.is_empty(), "used without a right: {missing:#?}");
    // Pods are counted while they go, and a Lease is renewed, where that takes longer than here.
    let slow = ["list /pods", "update coordination.k8s.io/leases"];
    let used: BTreeSet<&str> = uses.iter().map(|(what, _)| what.as_str()).chain(slow).collect();
    let idle: Vec<&str> = granted.iter().map(|granted| granted.what.as_str()).filter(|what| !used.contains(what)).collect();
    assert_eq!(idle, Vec::<&str>::new(), "granted and never used");
}

#[test]
fn where_the_rules_are_not_known_as_a_whole_each_right_is_asked_for() {
    scenario(async |world| {
        world.server.with(|store| {
            store.has_other_rules = true;
            store.forbidden.insert("delete services");
        });
        world.apply(&shop());
        world.agent();
        world
            .until("the missing right", |world| world.status()["waitingFor"].to_string().contains("the agent may not delete services"))
            .await;
        world.server.with(|store| store.forbidden.clear());
        world.until_gate(1).await;
    });
}
