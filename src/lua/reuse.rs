//! A world serves one call after the other: making one takes longer than most scripts run.
//!
//! The answer is that of a new world, always. What a script can write to is made for its call; a world gives less than a
//! new one would, so that what succeeds here succeeds there; and the collector rests, so that nothing tells when it ran. A
//! call that does not succeed takes its world along, and is made again in a new one.

use std::cell::Cell;

use serde_json::Value;

use super::sandbox::{CALM, Called, World};
use super::{LIMITS, Limits, Script, ScriptErrorKind};

/// Far more than scripts for gateways need.
const LITTLE: Limits = Limits { fuel: LIMITS.fuel / 20, memory: CALM, ..LIMITS };

thread_local! {
    static IDLE: Cell<Option<World>> = const { Cell::new(None) };
}

/// Runs the script in a world that may have served others. None: there is no answer yet.
pub(super) fn call(script: &Script, globals: &[(&str, &Value)]) -> Option<Called> {
    let world = IDLE.take().or_else(|| World::new(LITTLE).ok())?;
    let called = world.called(script, globals, LITTLE);
    match &called.outcome {
        Ok(_) => {
            if world.sweep().is_ok() {
                IDLE.set(Some(world));
            }
            Some(called)
        }
        // Time that is up is not given again.
        Err(error) if error.kind == ScriptErrorKind::Time => Some(called),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{LIMITS, Output, Script};
    use super::IDLE;

    fn call(script: &Script, globals: &[(&str, &serde_json::Value)]) -> Option<Output> {
        super::call(script, globals).and_then(|called| called.outcome.ok())
    }

    /// What scripts do that want to be remembered. All of them succeed.
    const VANDALS: &[&str] = &[
        "x = 1 _G.y = 2 rawset(_G, 'z', 3)",
        "string.rep = nil string.x = 1 table.insert = function() return 7 end math.floor = nil json.encode = nil json.x = 1",
        "getmetatable('').__index = function() return 1 end",
        "getmetatable('').__add = function() return 1 end getmetatable('').x = 1",
        "setmetatable(_G, {__index = function() return 1 end, __newindex = function() end})",
        "setmetatable(string, {__index = function() return 1 end}) setmetatable(json, {__index = math})",
        "for k in pairs(_G) do if k ~= '_G' then _G[k] = nil end end",
        "pairs = nil next = nil print = nil _VERSION = 'x' _G._G = {}",
        "tostring({}) tostring(print) tostring({})",
        "local t = {a = 1, b = 2} next(t) next(t, 'a')",
        "pcall(string.rep) string.find(('a'):rep(5000), '%b()x') table.sort({'b', 'a'})",
        "print('hello')",
        "pcall(error, 'x') pcall(json.decode, '{') json.decode('[1]')",
        "local _, e = pcall(string.rep, 'x', 1e9) local _, f = pcall(error, {}) f.x = 1",
        "pcall(setmetatable, getmetatable(obj.list), {__index = {x = 1}}) pcall(rawset, getmetatable(obj.list), 'x', 1)",
        "obj.list[1] = nil obj.x = obj return 1",
        "local t = {} for i = 1, 1e4 do t[i] = {} end",
        "local s = 'x' for i = 1, 18 do s = s .. s end return s",
        "local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end return deep(150)",
        "setmetatable({}, {__mode = 'k'}).x = {}",
        "table.sort({3, 1, 2}) string.gsub('abc', '.', function(c) kept = c end)",
    ];

    /// Tells all that a script can reach, and how it behaves.
    const PROBE: &str = "
        local seen, said = {}, {}
        local function walk(path, value)
            table.insert(said, path .. ' ' .. type(value) .. (type(value) == 'table' and '' or tostring(value)))
            if type(value) == 'table' and not seen[tostring(value)] then
                seen[tostring(value)] = true
                for key, member in pairs(value) do walk(path .. '.' .. tostring(key), member) end
                walk(path .. '/', getmetatable(value))
            end
        end
        walk('_G', _G)
        walk('text', getmetatable(''))
        walk('list', getmetatable(obj.list))
        return {said, ('x'):rep(3), ('abc'):upper(), tostring({}), #json.encode(obj), ('x').y == nil, x == nil}";

    #[test]
    fn nothing_outlives_its_call() {
        let object = json!({"list": [], "map": {"a": [1, 2]}, "text": "x"});
        let globals = [("obj", &object)];
        let probe = Script::compile("probe.lua", PROBE).expect("compiles");
        let expected = probe.call_within(&globals, LIMITS).expect("answers");
        for vandal in VANDALS {
            let script = Script::compile("vandal.lua", vandal).expect("compiles");
            IDLE.take();
            for _ in 0..3 {
                let reused = call(&script, &globals).expect(vandal);
                assert_eq!(reused, script.call_within(&globals, LIMITS).expect(vandal), "{vandal}");
                assert_eq!(call(&probe, &globals).as_ref(), Some(&expected), "after {vandal}");
            }
        }
        for first in VANDALS {
            call(&Script::compile("vandal.lua", first).expect("compiles"), &globals).expect(first);
        }
        assert_eq!(call(&probe, &globals).as_ref(), Some(&expected), "after all of them");
    }

    #[test]
    fn weak_tables_tell_nothing_of_former_calls() {
        let source = "local weak, kept = setmetatable({}, {__mode = 'kv'}), {}
            for i = 1, 2000 do weak[i] = {} kept[i] = ('x'):rep(100) .. i end
            local left = 0
            for i = 1, 2000 do if weak[i] then left = left + 1 end end
            return left";
        let script = Script::compile("weak.lua", source).expect("compiles");
        for _ in 0..20 {
            assert_eq!(call(&script, &[]).expect("answers").value, json!(2000));
        }
        assert_eq!(script.call_within(&[], LIMITS).expect("answers").value, json!(2000));
    }

    #[test]
    fn a_call_that_fails_takes_its_world_along() {
        for source in ["error('x')", "while true do end", "local t = {} while true do t[#t + 1] = {} end", "return print"] {
            let script = Script::compile("failing.lua", source).expect("compiles");
            assert_eq!(call(&script, &[]), None, "{source}");
            assert!(IDLE.take().is_none(), "{source}");
        }
    }

    #[test]
    fn what_needs_much_gets_it_in_a_new_world() {
        let script = Script::compile("much.lua", "local t = {} for i = 1, 4e5 do t[i] = {i} end return #t").expect("compiles");
        assert_eq!(call(&script, &[]), None);
        assert_eq!(script.call(&[]).expect("answers").value, json!(400_000));
    }
}
