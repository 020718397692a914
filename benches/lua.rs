//! One script call, in a world of its own: the shipped VirtualService script over an object of 10 KB.

use criterion::{Criterion, criterion_group, criterion_main};
use rollout::lua::Script;
use serde_json::{Value, json};

const SOURCE: &str = include_str!("../lua_configuration/networking.istio.io/VirtualService/trafficRouting.lua");

fn object() -> Value {
    let rule = |index: usize| {
        json!({
            "name": format!("route-{index}"),
            "match": [{"uri": {"prefix": format!("/api/v{index}/resources")}, "headers": {"x-tenant": {"exact": format!("tenant-{index}")}}}],
            "route": [{"destination": {"host": if index.is_multiple_of(8) { "shop" } else { "basket" }, "port": {"number": 8080}}, "weight": 100}],
            "retries": {"attempts": 3, "perTryTimeout": "2s", "retryOn": "5xx,reset,connect-failure"},
            "timeout": "10s",
        })
    };
    json!({
        "data": {
            "spec": {"hosts": ["shop.example.org"], "gateways": [], "http": (0..33).map(rule).collect::<Vec<_>>()},
            "labels": {"app": "shop"},
            "annotations": {"team": "checkout"},
        },
        "canaryWeight": 20,
        "stableWeight": 80,
        "matches": null,
        "canaryService": "shop-canary",
        "stableService": "shop",
    })
}

fn benches(criterion: &mut Criterion) {
    let object = object();
    assert!((9_000..11_000).contains(&object.to_string().len()), "{}", object.to_string().len());
    let script = Script::compile("VirtualService", SOURCE).expect("the shipped script compiles");
    let nothing = Script::compile("nothing", "return nil").expect("nothing compiles");
    let identity = Script::compile("identity", "return obj").expect("identity compiles");
    criterion.bench_function("lua: a world alone", |bencher| bencher.iter(|| nothing.call(&[]).expect("runs")));
    criterion.bench_function("lua: 10 KB in and out", |bencher| bencher.iter(|| identity.call(&[("obj", &object)]).expect("runs")));
    criterion.bench_function("lua: one call, 10 KB", |bencher| bencher.iter(|| script.call(&[("obj", &object)]).expect("runs")));
    criterion.bench_function("lua: compile", |bencher| bencher.iter(|| Script::compile("VirtualService", SOURCE).expect("compiles")));
}

criterion_group!(lua, benches);
criterion_main!(lua);
