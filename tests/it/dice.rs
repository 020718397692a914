//! What a script could throw dice with: each construct that shows where something lies in memory, or could, gives the same in
//! every process.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Ways to see an order, a place in memory, or how a table has grown, in a table of keys that `KEYS` makes. Each gives a text.
const CONSTRUCTS: &[(&str, &str)] = &[
    ("pairs", "for k, v in pairs(t) do seen(v) end"),
    ("next", "local k, v = next(t) while k do seen(v) k, v = next(t, k) end"),
    ("next-as-iterator", "for k, v in next, t do seen(v) end"),
    ("bare-table", "for k, v in t do seen(v) end"),
    ("bare-table-of-a-call", "local function id(x) return x end for k, v in id(t) do seen(v) end"),
    ("bare-table-in-parentheses", "for k, v in (t) do seen(v) end"),
    ("bare-table-beside-ipairs", "for k, v in ipairs(t) and t do seen(v) end"),
    ("own-ipairs", "local ipairs = function() return t end for k, v in ipairs(t) do seen(v) end"),
    ("own-pairs", "pairs = function() return t end for k, v in pairs(t) do seen(v) end"),
    ("iter", "for k, v in setmetatable({}, {__iter = function() return next, t end}) do seen(v) end"),
    ("iter-bare", "for k, v in setmetatable({}, {__iter = function() return t end}) do seen(v) end"),
    ("call", "for k, v in setmetatable({}, {__call = function(_, _, k) return next(t, k) end}) do seen(v) end"),
    ("foreach", "table.foreach(t, function(k, v) seen(v) end)"),
    ("maxn", "seen(table.maxn(t))"),
    ("length-with-holes", "for i = 1, 8 do t[i] = i end for i = 1, 7, 2 do t[i] = nil end seen(#t) table.insert(t, 'x') seen(#t)"),
    ("unpack-with-holes", "for i = 1, 8 do t[i] = i end t[3], t[6] = nil, nil seen(select('#', unpack(t)))"),
    ("tostring", "for k, v in pairs(keys) do seen(tostring(v)) end"),
    ("format", "for k, v in pairs(keys) do seen(string.format('%s %10s %q', v, v, v)) end"),
    ("format-pointer", "seen(string.format('%p', keys[1]))"),
    ("concatenation", "seen('x' .. keys[1])"),
    ("print", "print(keys[1], t)"),
    ("error-value", "error(keys[1])"),
    ("error-in-text", "error('x ' .. tostring(keys[1]))"),
    ("error-caught", "local _, e = pcall(error, keys[1]) seen(tostring(e))"),
    ("error-of-ours", "local _, e = pcall(json.decode, '[9007199254740993]') seen(tostring(e)) seen(type(e))"),
    ("error-of-ours-as-key", "local _, e = pcall(json.decode, '[9007199254740993]') t[e] = 1"),
    ("compare", "seen(keys[1] < keys[2])"),
    ("sort-tables", "table.sort(keys)"),
    ("sort-never-before", "local l = {3, 1, 2, 5, 4} table.sort(l, function() return false end) seen(table.concat(l, ' '))"),
    ("sort-always-before", "local l = {3, 1, 2, 5, 4} table.sort(l, function() return true end) seen(table.concat(l, ' '))"),
    ("sort-by-text", "table.sort(keys, function(a, b) return tostring(a) < tostring(b) end) for _, k in ipairs(keys) do seen(t[k]) end"),
    ("json", "seen(tostring(json.encode(t)))"),
    ("result", "result.t = t"),
    ("result-mixed", "result.t = {[1.5] = 1, x = print, [keys[1]] = 2}"),
    ("weak", "setmetatable(t, {__mode = 'kv'}) local n = 0 for k in pairs(t) do n = n + 1 end seen(n)"),
    ("random", "seen(math.random())"),
    ("memory", "local n = 0 pcall(function() local s = {} while true do s[n] = {} n = n + 1 end end) seen(n)"),
    ("memory-after-keys", "for i = 1, 1e5 do t[i % 7 == 0 and {} or i] = i end seen(#t)"),
    ("rawset", "rawset(t, keys[1], 1) for k, v in t do seen(v) end"),
    ("newindex", "local u = setmetatable({}, {__newindex = t}) for _, k in ipairs(keys) do u[k] = 1 end for k, v in t do seen(v) end"),
    ("constructor", "local u = {[keys[1]] = 1, [keys[2]] = 2, [keys[3]] = 3} for k, v in u do seen(v) end"),
    ("several-at-once", "t[keys[3]], t[keys[1]], t[keys[2]] = 1, 2, 3 for k, v in t do seen(v) end"),
    ("environment", "for _, k in ipairs(keys) do _G[k] = 1 end for k, v in _G do seen(v) end"),
    ("compound", "t[keys[1]] = 1 t[keys[1]] += 1 for k, v in t do seen(v) end"),
];

/// What lies in memory at another place in every process; and what does not, for the rest of a construct to be reached.
const KEYS: &[(&str, &str)] = &[
    ("tables", "for i = 1, 40 do keys[i] = {} end"),
    ("functions", "for i = 1, 40 do keys[i] = function() return i end end"),
    ("userdata", "for i = 1, 40 do keys[i] = select(2, pcall(json.decode, '[9007199254740993]')) end"),
    ("texts", "for i = 1, 40 do keys[i] = 'key' .. i end"),
    ("booleans-and-numbers", "keys = {true, false, -1, 0.5, 1e300, 1, 2, 3}"),
];

const FILLING: [(&str, &str); 2] = [
    ("assigned", "for i, k in ipairs(keys) do t[k] = i end"),
    // What was taken out decides when the table grows.
    ("taken-out", "for i, k in ipairs(keys) do t[k] = i if i % 3 > 0 then t[k] = nil end end"),
];

/// It expects something else, so that what the script gave is shown.
const CASE: &str = "\
rollout:
  apiVersion: rollouts.kruise.io/v1beta1
  kind: Rollout
  metadata: {name: dice}
  spec:
    workloadRef: {apiVersion: apps/v1, kind: Deployment, name: dice}
    strategy:
      canary:
        steps:
        - traffic: 20%
        trafficRoutings:
        - service: dice
          customNetworkRefs:
          - {apiVersion: example.com/v1, kind: Dice, name: dice}
original:
  apiVersion: example.com/v1
  kind: Dice
  metadata: {name: dice}
  spec: {}
expected: []
";

#[test]
fn a_script_gives_the_same_in_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for (construct, code) in CONSTRUCTS {
        for (kind, keys) in KEYS {
            for (filling, fill) in FILLING {
                let script = format!(
                    "local keys, t, said, result = {{}}, {{}}, {{}}, {{}}\nlocal function seen(x) said[#said + 1] = tostring(x) end\n{keys}\n\
                     local ok, e = pcall(function() {fill} end) seen(ok) seen(e)\n{code}\nresult.said = said\nreturn {{spec = result}}\n"
                );
                let place = folder.path().join(format!("{construct}/{kind}-{filling}"));
                fs::create_dir_all(place.join("testdata")).unwrap();
                fs::write(place.join("trafficRouting.lua"), script).unwrap();
                fs::write(place.join("testdata/case.yaml"), CASE).unwrap();
                count += 1;
            }
        }
    }
    let answers: BTreeSet<(Vec<u8>, Vec<u8>)> = (0..4)
        .map(|_| {
            let output = Command::new(env!("CARGO_BIN_EXE_rollout")).args(["test", "."]).current_dir(folder.path()).output().unwrap();
            (output.stdout, output.stderr)
        })
        .collect();
    let texts: Vec<String> = answers.iter().map(|(stdout, stderr)| format!("{}{}", text(stdout), text(stderr))).collect();
    assert!(texts[0].matches("case.yaml").count() >= count, "{}", texts[0]);
    assert!(texts[0].contains("key1") && texts[0].contains("as a key"), "{}", texts[0]);
    assert!(!texts[0].contains("the script could not"), "{}", texts[0]);
    let differing = texts[0].lines().zip(texts[texts.len() - 1].lines()).find(|(one, other)| one != other);
    assert_eq!((answers.len(), differing), (1, None), "the answers of four processes");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
