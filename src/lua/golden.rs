//! What gopher-lua answered, measured, against what we answer. Each accepted deviation stands here with its reason.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Script;

/// Why `..` writes some numbers otherwise than `tostring` does.
const JOINED: &str = "Luau formats the numbers of `..` natively, where no host function is called; weights are from 0 to 100";

/// Expressions that we answer otherwise.
const EXPRESSIONS: &[(&str, &str, &str)] = &[
    ("'' .. 1e-5", "string:0.00001", JOINED),
    ("'' .. (1e20)", "string:100000000000000000000", JOINED),
    ("'' .. (1e19)", "string:10000000000000000000", JOINED),
    ("'' .. 2^63", "string:9223372036854776000", JOINED),
    ("'' .. -2^63", "string:-9223372036854776000", JOINED),
    ("string.match('THE fox','%f[%a]%a+')", "string:THE", "gopher-lua overlooks a frontier at the very start, Lua 5.1 does not"),
];

/// Results that we answer otherwise.
const RESULTS: &[(&str, &str, &str)] = &[
    ("return obj", r#"{"arr":[1,3],"big":9007199254740992,"e":[],"f":1.5,"i":50,"o":{}}"#, "what is empty keeps its shape"),
    ("return {}", "{}", "what is empty keeps its shape"),
    ("return {a={}}", r#"{"a":{}}"#, "what is empty keeps its shape"),
    ("local s={x=1} return {a=s,b=s}", r#"{"a":{"x":1},"b":{"x":1}}"#, "shared tables are no cycles"),
    (
        "return {w=1e21, x=1e20, y=0.1+0.2, z=1e-7, n=-0.0, b=obj.big}",
        r#"{"b":9007199254740992,"n":0,"w":1e+21,"x":100000000000000000000,"y":0.30000000000000004,"z":1e-7}"#,
        "a zero is a zero",
    ),
    ("return json.decode(\"{\\\"a\\\":[]}\")", r#"{"a":[]}"#, "what is empty keeps its shape"),
    ("return math.random(1,1)", "ERR", "the same input must give the same result"),
];

/// A recorded answer.
#[derive(Deserialize)]
struct Recorded {
    /// What was run.
    lua: String,
    /// What gopher-lua answered; `ERR …` where it raised.
    answer: String,
}

fn recorded(file: &str) -> Vec<(String, String)> {
    let recorded = file.lines().map(|line| serde_json::from_str(line).unwrap());
    recorded.map(|Recorded { lua, answer }| (lua, answer)).collect()
}

#[track_caller]
fn compare(given: &[(String, String)], deviations: &[(&str, &str, &str)], answer: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for (source, golden) in given {
        let deviation = deviations.iter().find(|(deviating, ..)| deviating == source);
        let expected = deviation.map_or(golden.as_str(), |(_, ours, _)| ours);
        let actual = answer(source);
        let is_alike = if expected.starts_with("ERR") { actual.starts_with("ERR") } else { actual == expected };
        if !is_alike {
            wrong.push(format!("{source}\n  expected {expected}\n  actual   {actual}"));
        }
    }
    for (deviating, ..) in deviations {
        if !given.iter().any(|(source, _)| source == deviating) {
            wrong.push(format!("{deviating}\n  is not recorded"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn golden_expressions_are_answered_alike() {
    let show = "local function show(...) local words = {} for i = 1, select('#', ...) do local value = select(i, ...) \
                words[i] = type(value) .. ':' .. tostring(value) end return table.concat(words, ', ') end";
    compare(&recorded(include_str!("../../tests/golden/lua-expressions.jsonl")), EXPRESSIONS, |expression| {
        let called = Script::compile("script.lua", &format!("{show} return show({expression})")).and_then(|script| script.call(&[]));
        match called {
            Ok(output) => output.value.as_str().unwrap_or_default().to_owned(),
            Err(error) => format!("ERR {error}"),
        }
    });
}

#[test]
fn golden_results_are_answered_alike() {
    let object = json!({"arr": [1, null, 3], "big": 9_007_199_254_740_992_i64, "e": [], "f": 1.5, "i": 50, "n": null, "o": {}});
    compare(&recorded(include_str!("../../tests/golden/lua-results.jsonl")), RESULTS, |source| {
        let called = Script::compile("script.lua", source).and_then(|script| script.call(&[("obj", &object)]));
        match called {
            Ok(output) => super::json::to_text(&output.value),
            Err(error) => format!("ERR {error}"),
        }
    });
}

/// Statements of the same measurement, written anew with the answers that gopher-lua gave.
#[test]
fn statements_are_answered_alike() {
    for (source, expected) in [
        ("local a, b, c = 1, 2 return tostring(c)", json!("nil")),
        ("return (function(...) return select('#', ...) end)(1, nil, 3)", json!(3)),
        ("return select('#', nil, nil)", json!(2)),
        ("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t, ',')", json!("3,2,1")),
        ("local t = {1, 2, 3} table.remove(t, 1) return table.concat(t, ',')", json!("2,3")),
        ("local t = {1, 3} table.insert(t, 2, 2) return table.concat(t, ',')", json!("1,2,3")),
        ("return setmetatable({}, {__index = function(_, key) return key .. '!' end}).foo", json!("foo!")),
        ("return tostring(setmetatable({}, {__tostring = function() return 'T' end}))", json!("T")),
        (
            "local n = 0 for _ in pairs(setmetatable({}, {__pairs = function() return next, {1, 2} end})) do n = n + 1 end return n",
            json!(0),
        ),
        ("local ok, e = pcall(error, {code = 5}) return {ok, e.code}", json!([false, 5])),
        ("local ok, e = pcall(function() error('x', 0) end) return e", json!("x")),
        ("local ok, e = pcall(function() error('x') end) return e", json!("script.lua:1: x")),
        ("local ok, e = pcall(function() assert(false, 'm') end) return e", json!("script.lua:1: m")),
        ("local ok, e = pcall(function() assert(nil) end) return e", json!("script.lua:1: assertion failed!")),
        ("local goto = 3 return goto", json!(3)),
        ("return '\\104\\105'", json!("hi")),
        ("return #[[\n1\n2]]", json!(3)),
        ("local t = {} t[1], t['1'] = 'n', 's' return t['1'] .. t[1]", json!("sn")),
        ("return math.mod(7, 4) + math.fmod(7, 4)", json!(6)),
        ("local n = 0 for w in string.gfind('a b c', '%a') do n = n + 1 end return n", json!(3)),
        ("return string.gsub('a.b', '%.', '%-')", json!(1)),
        ("return table.getn({1, 2}) + table.maxn({1, 2, [5] = 1})", json!(7)),
        ("return unpack({1, 2, 3})", json!(3)),
        ("return string.format('%5s|%-5s|%05d|%.2f|%%', 'a', 'b', 42, 1.005)", json!("    a|b    |00042|1.00|%")),
        ("local a <const> = 1 return a", Value::Null),
    ] {
        let called = Script::compile("script.lua", source).and_then(|script| script.call(&[]));
        match called {
            Ok(output) if expected != Value::Null => assert_eq!(output.value, expected, "{source}"),
            Ok(output) => assert!(!super::beyond_lua51(source).is_empty(), "{source}: {}", output.value),
            Err(error) => assert_eq!(expected, Value::Null, "{source}: {error}"),
        }
    }
}
