//! Objects that no Rollout names and that a release meets all the same: where it makes objects, and behind its Service.

use crate::bases::{ROUTING, SERVICE, deployment, rollout, route};
use crate::ground::{Ground, Said};

const INGRESS: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: prod
spec:
  ingressClassName: nginx
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
";

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
