//! Objects that no Rollout names and that a release meets all the same: where it makes objects, and behind its Service.

use crate::bases::{INGRESS, ROUTING, SERVICE, deployment, rollout, route};
use crate::ground::{Ground, Said};

/// The folders `before` and `after` with a release of `shop` through a routing, and `beside` in both.
fn ground(routing: &str, beside: &[(&str, String)]) -> Ground {
    let ground = Ground::new();
    for (folder, version) in [("before", 1), ("after", 2)] {
        let rollout = rollout("shop", "[{replicas: 1, traffic: 20%}]") + routing;
        let files = [("d", deployment("shop", version)), ("r", rollout), ("s", SERVICE.into()), ("v", route("")), ("i", INGRESS.into())];
        for (name, text) in files.iter().chain(beside) {
            ground.write(&format!("{folder}/{name}.yaml"), text);
        }
    }
    ground
}

fn render(ground: &Ground) -> Said {
    ground.rollout("after", "render --base-dir ../before --format yaml")
}

fn ingress_routing() -> String {
    ROUTING.replace("gateway: {httpRouteName: shop}", "ingress: {classType: nginx, name: shop}")
}

fn is_taken(routing: &str, beside: &str, object: &str) {
    let said = render(&ground(routing, &[("x", beside.to_owned())])).exits(1);
    said.tells(&format!("x.yaml:4:9: error[name-taken]: {object} stands in the repository, and the release makes an object of this name"));
}

#[test]
fn an_object_of_the_users_own_where_the_release_makes_one_is_an_error() {
    let own = |text: &str| text.replacen("name: shop\n", "name: shop-canary\n", 1);
    is_taken(ROUTING, &own(&deployment("shop", 1)), "Deployment prod/shop-canary");
    is_taken(ROUTING, &own(SERVICE), "Service prod/shop-canary");
    is_taken(&ingress_routing(), &own(INGRESS), "Ingress prod/shop-canary");
}

#[test]
fn where_the_release_makes_nothing_names_are_free() {
    let own = |text: &str| text.replacen("name: shop\n", "name: shop-canary\n", 1);
    for (routing, text) in
        [("", own(SERVICE)), (ROUTING, own(INGRESS)), (ROUTING, own(SERVICE).replace("namespace: prod", "namespace: test"))]
    {
        let said = render(&ground(routing, &[("x", text)])).exits(0);
        assert!(!said.stderr.contains("name-taken"), "{}", said.stderr);
    }
}

#[test]
fn a_declared_suffix_is_looked_for_as_well() {
    let ground = ground(&ingress_routing(), &[("x", INGRESS.replacen("name: shop\n", "name: shop-shadow\n", 1))]);
    let shipped = |file: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/lua_configuration/trafficrouting_ingress/nginx");
        std::fs::read_to_string(format!("{folder}/{file}")).unwrap().replace("suffix: -canary", "suffix: -shadow")
    };
    for file in ["trafficRouting.lua", "gateway.yaml"] {
        ground.write(&format!("after/lua_configuration/trafficrouting_ingress/nginx/{file}"), &shipped(file));
    }
    render(&ground).exits(1).tells("error[name-taken]: Ingress prod/shop-shadow stands in the repository");
}

#[test]
fn a_change_that_only_takes_a_name_concerns_the_release() {
    let ground = ground(ROUTING, &[]);
    ground.git("after", "init -q");
    ground.commit("after", "first");
    ground.rollout("after", "render --base HEAD --changed --format yaml").exits(0);
    ground.write("after/x.yaml", &deployment("shop", 1).replacen("name: shop\n", "name: shop-canary\n", 1));
    ground.rollout("after", "render --base HEAD --changed --format yaml").exits(1).tells("error[name-taken]");
}

/// A release that takes its Service from one color to the other, beside a workload of this kind and file.
fn recolored(beside: &str) -> Said {
    let ground = Ground::new();
    for (folder, version, color) in [("before", 1, "blue"), ("after", 2, "green")] {
        let colored = |text: &str| text.replace("{app: shop}}\n    spec", &format!("{{app: shop, color: {color}}}}}\n    spec"));
        ground.write(&format!("{folder}/d.yaml"), &colored(&deployment("shop", version)));
        ground.write(&format!("{folder}/s.yaml"), &SERVICE.replace("{app: shop}", &format!("{{app: shop, color: {color}}}")));
        ground.write(&format!("{folder}/r.yaml"), &(rollout("shop", "[{replicas: 1, traffic: 20%}]") + ROUTING));
        ground.write(&format!("{folder}/v.yaml"), &route(""));
        ground.write(&format!("{folder}/x.yaml"), beside);
    }
    render(&ground)
}

#[test]
fn pods_of_a_workload_that_no_rollout_names_are_no_bridge_for_a_selector() {
    let other = deployment("other", 1).replace("{app: other}}\n    spec", "{app: shop, color: grey}}\n    spec");
    assert!(other.contains("grey"));
    let said =
        "error[service-selects-others]: while the new version takes over, Service `shop` selects `app: shop`, and with it the pods of";
    recolored(&other).exits(1).tells(&format!("{said} Deployment prod/other"));
    recolored(&other.replace("kind: Deployment", "kind: StatefulSet")).exits(1).tells(&format!("{said} StatefulSet prod/other"));
    let listed = format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", other.trim_end().replace('\n', "\n  "));
    recolored(&listed).exits(1).tells(&format!("{said} Deployment prod/other"));
    recolored(&listed.replace("kind: Deployment", "kind: DaemonSet")).exits(1).tells(&format!("{said} DaemonSet prod/other"));
    for harmless in [other.replace("namespace: prod", "namespace: test"), deployment("other", 1), "kind: DaemonSet\na: [".to_owned()] {
        let said = recolored(&harmless).exits(0);
        assert!(!said.stderr.contains("service-selects-others"), "{}", said.stderr);
    }
}
