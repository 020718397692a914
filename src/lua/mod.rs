//! A Lua script as a function: JSON values in, one JSON value out, bounded and the same on every run.
//!
//! Scripts see Lua 5.1 with the libraries that gopher-lua's users know (`prelude.luau`). Each call has a world of its own.
//! What a script is for is not known here.

mod budget;
mod dialect;
mod enter;
mod fuel;
mod host;
mod json;
mod leave;
mod number;
mod printed;
mod reuse;
mod rewrite;
mod sandbox;
mod tokens;
mod trouble;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "an attack must end soon")]
mod attacks;
#[cfg(test)]
mod golden;

use std::collections::BTreeSet;
use std::sync::Arc;

use mlua::chunk::{ChunkMode, Compiler};
use serde_json::Value;

use sandbox::{Called, World};

pub use budget::Budget;
pub use dialect::beyond_lua51;
pub use trouble::{ScriptError, ScriptErrorKind};

/// The name and the bytecode of a script; cheap to call any number of times, from any thread.
#[derive(Debug, Clone)]
pub struct Script {
    name: String,
    bytecode: Arc<[u8]>,
    /// It cannot make `ipairs` mean anything else.
    keeps_ipairs: bool,
    /// What it shares with the others of its run.
    budget: Arc<Budget>,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The last value that the script returned; null when it returned none.
    pub value: Value,
    /// What it printed, line by line; cut, with a last line that says so, where it printed too much.
    pub printed: Vec<String>,
}

/// What a script may use. The verdict does not depend on the machine, but for the clock, which is only a backstop.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Calls and turns of loops, and the bytes that library functions work through, by sixteen.
    fuel: u64,
    memory: usize,
    seconds: u64,
}

const LIMITS: Limits = Limits { fuel: 20_000_000, memory: 64 << 20, seconds: 10 };

/// The longest string, in bytes, that a library function takes or gives, and that a script may return.
const LONGEST_STRING: usize = 1 << 20;

impl Script {
    /// Compiles a script; `name` is what errors call it.
    pub fn compile(name: &str, source: &str) -> Result<Self, ScriptError> {
        if let Some(position) = source.find('\0') {
            // The compiler would take it for the end.
            return Err(trouble::of_source(name, source, position, "a NUL character"));
        }
        // Who does not name `_G` changes a global by its own name or not at all, and the compiler sees that.
        let keeps_ipairs = !source.contains("_G") && rewrite::uses_ipairs_for_loops_only(source);
        // The compiler leaves a syntax error inside the bytecode; loading brings it to light.
        let lua =
            mlua::Lua::new_with(mlua::StdLib::NONE, mlua::LuaOptions::default()).map_err(|error| trouble::of_running(name, &error))?;
        let load = |source: &str| {
            // What the compiler takes for changing is asked for each time, as in Lua; what it knows to stay runs inside of the machine.
            let changing = words(source).into_iter().filter(|word| !(keeps_ipairs && *word == IPAIRS));
            let compiler = Compiler::new().set_optimization_level(1).set_debug_level(1).set_mutable_globals(changing);
            let bytecode = compiler.compile(source).map_err(|error| trouble::of_compiling(name, &error))?;
            let script = Self { name: trouble::tidy(name), bytecode: bytecode.into(), keeps_ipairs, budget: Arc::default() };
            script.load(&lua).map_err(|error| trouble::of_compiling(&script.name, &error))?;
            Ok(script)
        };
        // As it is, first: nothing in it closes what is put around it.
        load(source)?;
        let rewritten = rewrite::rewritten(source, keeps_ipairs)
            .map_err(|unreadable| trouble::of_source(name, source, unreadable.position, unreadable.message))?;
        load(&rewritten)
    }

    /// The same script, which draws on what the scripts of a run may use together.
    #[must_use]
    pub fn within(self, budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), ..self }
    }

    /// Runs the script in a world that has `globals` and has seen no other call, as far as any script can tell.
    pub fn call(&self, globals: &[(&str, &Value)]) -> Result<Output, ScriptError> {
        if let Some(spent) = self.budget.verdict() {
            return Err(trouble::of_run(&self.name, spent));
        }
        let called = match reuse::call(self, globals) {
            Some(called) => called,
            None => self.called_within(globals, LIMITS)?,
        };
        self.budget.add(called.used);
        called.outcome
    }

    /// Runs the script in a new world.
    fn called_within(&self, globals: &[(&str, &Value)], limits: Limits) -> Result<Called, ScriptError> {
        let world = World::new(limits).map_err(|error| trouble::of_running(&self.name, &error))?;
        Ok(world.called(self, globals, limits))
    }

    #[cfg(test)]
    fn call_within(&self, globals: &[(&str, &Value)], limits: Limits) -> Result<Output, ScriptError> {
        self.called_within(globals, limits)?.outcome
    }

    fn load(&self, lua: &mlua::Lua) -> mlua::Result<mlua::Function> {
        lua.load(&*self.bytecode).set_name(format!("={}", self.name)).set_mode(ChunkMode::Binary).into_function()
    }
}

/// The function that scripts loop with, mostly.
const IPAIRS: &str = "ipairs";

/// Everything in a source that can be a name.
fn words(source: &str) -> BTreeSet<&str> {
    source.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "tests say what they expect, and read better without `&`")]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn case(source: &str, object: Value, expected: Value) {
        let output = Script::compile("script.lua", source).unwrap().call(&[("obj", &object)]).unwrap();
        assert_eq!(output.value, expected, "{source}");
    }

    #[track_caller]
    fn fails(source: &str, line: Option<u32>, expected: &str) {
        let error = Script::compile("script.lua", source)
            .and_then(|script| script.call(&[("obj", &json!({"a": [1], "m": {}}))]))
            .expect_err(source);
        assert!(error.message.contains(expected), "{source}: {}", error.message);
        assert_eq!((error.script.as_str(), error.line), ("script.lua", line), "{source}: {}", error.message);
    }

    #[test]
    fn an_object_comes_back_as_it_went_in() {
        let object = json!({"list": [1, 2.5, "x", true, [], {}], "map": {"empty": [], "none": {}}, "n": -7, "z": 0});
        case("return obj", object.clone(), object);
    }

    #[test]
    fn null_is_nil() {
        case(
            "return {n = obj.n == nil, count = #obj.l, list = obj.l}",
            json!({"n": null, "l": [1, null, 3]}),
            json!({"n": true, "count": 2, "list": [1, 3]}),
        );
        case("obj.a = nil return obj", json!({"a": 1, "b": null}), json!({}));
        case("return nil", json!({}), json!(null));
        case("", json!({}), json!(null));
        case("return 1, 2", json!({}), json!(2));
    }

    #[test]
    fn an_emptied_list_stays_a_list_and_a_filled_one_is_what_it_holds() {
        case("table.remove(obj.l) return obj", json!({"l": [1]}), json!({"l": []}));
        case("obj.l.x = 1 return obj", json!({"l": []}), json!({"l": {"x": 1}}));
        case("table.insert(obj.m, 'x') return obj", json!({"m": {}}), json!({"m": ["x"]}));
        case("obj.m.a = nil return obj", json!({"m": {"a": 1}}), json!({"m": {}}));
        case("return {a = {}}", json!({}), json!({"a": {}}));
    }

    #[test]
    fn integers_stay_integers() {
        case(
            "return {50.0, 100 / 2, 0.5, 9007199254740992, 1e20, -0.0}",
            json!({}),
            json!([50, 50, 0.5, 9_007_199_254_740_992_i64, 1e20, 0]),
        );
        fails("return {a = 2^53 / 0}", None, "a number that is not finite at `/a`");
    }

    #[test]
    fn an_integer_that_lua_cannot_hold_is_an_error() {
        let error = Script::compile("s", "return obj").unwrap().call(&[("obj", &json!({"a": 9_007_199_254_740_993_i64}))]).unwrap_err();
        assert!(error.message.contains("9007199254740993") && error.message.contains("/a"), "{error}");
    }

    #[test]
    fn shared_tables_are_copied_and_cycles_are_errors() {
        case("local s = {x = 1} return {a = s, b = s}", json!({}), json!({"a": {"x": 1}, "b": {"x": 1}}));
        fails("local t = {} t.a = {t} return t", None, "a table that contains itself at `/a/0`");
        fails("local t = {} for i = 1, 60 do t = {t, t} end return t", None, "more than");
    }

    #[test]
    fn what_json_cannot_say_is_an_error_with_its_path() {
        fails("return {a = {1, nil, 3}}", None, "a list with holes at `/a`");
        fails("return {a = {1, x = 2}}", None, "a table with both positions and names at `/a`");
        fails("return {a = {b = print}}", None, "a function at `/a/b`");
        fails("return {a = {0 / 0}}", None, "a number that is not finite at `/a/0`");
        fails("return {[true] = 1}", None, "a boolean as a key at the top");
        fails("return {['a/b'] = {[1.5] = 1}}", None, "a list with holes at `/a~1b`");
        fails("local s = 'x' for i = 1, 21 do s = s .. s end return s", None, "a string of 2097152 bytes");
    }

    #[test]
    fn errors_name_script_line_and_message() {
        fails("local a = 1\nerror('boom')", Some(2), "boom");
        fails("\n\nreturn obj.x.y", Some(3), "nil");
        fails("return (", Some(1), "");
        fails("\nlocal = 1", Some(2), "");
        fails("error({code = 1})", Some(1), "raised a table");
        fails("error()", Some(1), "nil");
        fails("\nstring.rep()", Some(2), "string expected");
        fails("\nlocal x = string.rep('x', 1e9)", Some(2), "longer than 1048576");
        fails("\nfor k in pairs(nil) do end", Some(2), "table expected");
        fails("\nwhile true do end", Some(2), "instructions");
        fails("\nassert(false, 'no')", Some(2), "no");
        fails("local t = {}\ntable.concat({{}})", Some(2), "");
        fails("math.random()", Some(1), "not available");
    }

    #[test]
    fn one_call_never_sees_another() {
        let script = Script::compile("s", "count = (count or 0) + 1 string.x = (string.x or 0) + 1 return {count, string.x}").unwrap();
        for _ in 0..3 {
            assert_eq!(script.call(&[]).unwrap().value, json!([1, 1]));
        }
    }

    #[test]
    fn iteration_is_sorted() {
        let source = "local s = '' for k in pairs({z = 1, a = 2, [3] = 1, [1] = 1, [2] = 1, m = 3}) do s = s .. k end
            local k = next(obj) while k do s = s .. k k = next(obj, k) end return s";
        case(source, json!({"c": 1, "b": 2}), json!("123amzbc"));
    }

    #[test]
    fn a_walk_may_change_and_remove_what_it_meets() {
        case(
            "for k, v in pairs(obj) do if v > 1 then obj[k] = nil else obj[k] = v + 10 end end return obj",
            json!({"a": 1, "b": 2, "c": 3}),
            json!({"a": 11}),
        );
    }

    #[test]
    fn print_is_captured_and_bounded() {
        let output = Script::compile("s", "print('a', 1, nil, {}) for i = 1, 1e4 do print(i) end").unwrap().call(&[]).unwrap();
        assert_eq!(output.printed[0], "a\t1\tnil\ttable: 0x00000001");
        assert!(output.printed.len() <= 1001 && output.printed.last().unwrap().contains("more"));
    }

    #[test]
    fn nothing_but_the_promised_names_is_there() {
        let source = "local names = {} for _, t in ipairs({_G, string, table, math, json}) do
            local n = {} for k in pairs(t) do n[#n + 1] = k end names[#names + 1] = table.concat(n, ' ') end return names";
        case(
            source,
            json!({}),
            json!([
                "_G _GOPHER_LUA_VERSION _VERSION assert error getmetatable ipairs json math next obj pairs pcall print rawequal rawget \
                 rawset select setmetatable string table tonumber tostring type unpack xpcall",
                "byte char find format gfind gmatch gsub len lower match rep reverse sub upper",
                "concat getn insert maxn remove sort",
                "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad random \
                 randomseed sin sinh sqrt tan tanh",
                "decode encode",
            ]),
        );
    }

    #[test]
    fn a_global_read_before_it_changes_is_read_again_after() {
        case("if obj.w == -1 then obj.w = 100 end return obj.w", json!({"w": -1}), json!(100));
    }

    #[test]
    fn a_function_of_the_library_is_what_the_script_makes_of_it() {
        let own = "function(list) local done return function() if not done then done = true return 7, list[1] end end, list, 0 end";
        let counted = "local sum = 0 for i, v in ipairs({'a', 'b'}) do sum = sum + i end return sum";
        case(counted, json!({}), json!(3));
        for change in ["ipairs = ", "_G.ipairs = ", "_G['ipairs'] = ", "local g = _G g.ipairs = ", "local ipairs = "] {
            case(&format!("{change}{own} {counted}"), json!({}), json!(7));
        }
        case(&format!("rawset(_G, 'ipairs', {own}) {counted}"), json!({}), json!(7));
        case("for _, change in ipairs({1}) do type = function() return 'x' end end return type(1)", json!({}), json!("x"));
        case("local s = string s.sub = function() return 'x' end return string.sub('abc', 1, 1)", json!({}), json!("x"));
        case("local m = math m.floor = function() return 7 end local floor = math.floor return floor(1)", json!({}), json!(7));
        case("tostring = function() return 'x' end return tostring(1)", json!({}), json!("x"));
        fails("ipairs = nil for _ in ipairs({}) do end", Some(1), "nil");
    }

    #[test]
    fn a_loop_over_a_list_ends_where_the_list_does() {
        let lengths =
            "local lengths = {} for index, list in ipairs(obj) do local n = 0 for i in ipairs(list) do n = i end lengths[index] = n end
            return lengths";
        case(lengths, json!([[], [1], [1, 2, 3], [null, 1]]), json!([0, 1, 3, 1]));
        case(
            "local t = {x = 1, y = 2, z = 3} t[2] = 2 t[3] = 3 t[1] = 1 local n = 0 for i in ipairs(t) do n = i end return n",
            json!({}),
            json!(3),
        );
        case("local t = {1, nil, 3} local n = 0 for i in ipairs(t) do n = i end return n", json!({}), json!(1));
        case("local t, n = {1, 2}, 0 for i, v in ipairs(t) do n = n + v if i < 5 then t[#t + 1] = 1 end end return n", json!({}), json!(7));
        case("local t, n = {1, 2, 3}, 0 for i in ipairs(t) do n = i t[3] = nil end return n", json!({}), json!(2));
        case("local t = setmetatable({}, {__index = {1}}) local n = 0 for i in ipairs(t) do n = i end return n", json!({}), json!(0));
        fails("for _ in ipairs(nil) do end", Some(1), "table expected");
        fails("for _ in ipairs(obj.a.b) do end", Some(1), "table expected");
    }

    #[test]
    fn a_walk_by_hand_goes_on_when_what_it_met_is_removed() {
        case(
            "local k = next(obj) while k do obj[k] = nil k = next(obj, k) end return {obj, next(obj) == nil}",
            json!({"a": 1, "b": 2}),
            json!([{}, true]),
        );
        case("local t = {} local none = next(t) t.a = 1 return {none == nil, (next(t))}", json!({}), json!([true, "a"]));
    }

    #[test]
    fn what_lies_anywhere_in_memory_is_no_key() {
        fails("\nobj[{}] = 1", Some(2), "a table as a key");
        fails("\nrawset(obj, print, 1)", Some(2), "a function as a key");
        fails("\nreturn {[obj.m] = 1}", Some(2), "a table as a key");
        case("local t = {} t[obj.k], t[1.5], t[true] = 1, 2, 3 return t.x + t[1.5] + t[true]", json!({"k": "x"}), json!(6));
    }

    #[test]
    fn loops_call_what_they_get_as_in_lua_51() {
        fails("\nfor k in obj do end", Some(2), "attempt to call a table value");
        fails("\nfor k in setmetatable({}, {__iter = function() return next, obj end}) do end", Some(2), "attempt to call a table value");
        case("local n = 0 for c in string.gmatch('abc', '.') do n = n + 1 end return n", json!({}), json!(3));
        case(
            "local t = setmetatable({}, {__call = function(_, s, c) return next(s, c) end}) for k in t, obj do return k end",
            json!({"a": 1}),
            json!("a"),
        );
        case("local n = select('#', ...) return n", json!({}), json!(0));
    }

    #[test]
    fn a_result_is_no_larger_than_an_object_can_be() {
        fails("local t = {} for i = 1, 2e5 do t[i] = i end return t", None, "more than 100000 values");
        fails("local t = {} for i = 1, 20 do t[i] = string.rep('x', 1e5) end return t", None, "more than 1048576 bytes");
    }

    #[test]
    fn a_long_message_is_cut() {
        fails("error(string.rep('x', 1e6))", Some(1), "x… (1000000 bytes)");
        fails("return {[string.rep('x', 1e6)] = print}", None, "bytes)");
    }

    #[test]
    fn a_run_has_one_budget_for_all_its_scripts() {
        let budget = Arc::new(Budget::default());
        let script = Script::compile("s", "for i = 1, 1e4 do end return 1").unwrap().within(&budget);
        assert_eq!(script.call(&[]).unwrap().value, json!(1));
        assert_eq!(budget.exceeded(), None);
        budget.add(fuel::Used { fuel: 1_999_990_001, time: std::time::Duration::ZERO });
        assert!(budget.exceeded().is_some_and(|message| message.contains("2000000000 instructions together")));
        assert_eq!(script.call(&[]).unwrap_err().kind, ScriptErrorKind::Limit);
    }

    #[test]
    fn a_caught_limit_is_still_a_limit() {
        fails("pcall(function() while true do end end) return {}", Some(1), "instructions");
    }
}
