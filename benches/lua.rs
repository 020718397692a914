//! One script call, of which the next can tell nothing: the shipped VirtualService script over an object of 10 KB.

use criterion::{Criterion, criterion_group, criterion_main};
use rollout::lua::Script;
use serde_json::Value;

const SOURCE: &str = include_str!("../lua_configuration/networking.istio.io/VirtualService/trafficRouting.lua");

/// The same object as `peer-gopher-lua` is measured with.
const OBJECT: &str = include_str!("peer-gopher-lua/object.json");

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn benches(criterion: &mut Criterion) {
    let object: Value = serde_json::from_str(OBJECT).expect("an object");
    let script = Script::compile("VirtualService", SOURCE).expect("the shipped script compiles");
    let failing = Script::compile("failing", "error('no')").expect("it compiles");
    let nothing = Script::compile("nothing", "return nil").expect("nothing compiles");
    let identity = Script::compile("identity", "return obj").expect("identity compiles");
    criterion.bench_function("lua: a call alone", |bencher| bencher.iter(|| nothing.call(&[]).expect("runs")));
    // It is asked twice, each time in a new world.
    criterion
        .bench_function("lua: two new worlds, for a call that fails", |bencher| bencher.iter(|| failing.call(&[]).expect_err("fails")));
    criterion.bench_function("lua: 10 KB in and out", |bencher| bencher.iter(|| identity.call(&[("obj", &object)]).expect("runs")));
    criterion.bench_function("lua: one call, 10 KB", |bencher| bencher.iter(|| script.call(&[("obj", &object)]).expect("runs")));
    let from_text_to_text = || {
        let object: Value = serde_json::from_str(OBJECT).expect("an object");
        script.call(&[("obj", &object)]).expect("runs").value.to_string()
    };
    criterion.bench_function("lua: one call, 10 KB, from JSON and to it", |bencher| bencher.iter(from_text_to_text));
    criterion.bench_function("lua: compile", |bencher| bencher.iter(|| Script::compile("VirtualService", SOURCE).expect("compiles")));
}

criterion_group!(lua, benches);
criterion_main!(lua);
