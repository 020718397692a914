//! What a hostile script tries; each must end in an error, soon, whatever it catches.

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::{LIMITS, Limits, Script, ScriptErrorKind};

/// Less fuel than in earnest, so that the tests are quick, and no clock, which is no verdict: the machine may be busy.
const SCARCE: Limits = Limits { fuel: 2_000_000, seconds: 3600, ..LIMITS };

const ATTACKS: &[&str] = &[
    "while true do end",
    "repeat until false",
    "for i = 1, 1e12 do end",
    "local function f() return f() end f()",
    "local function f() return 1 + f() end f()",
    "while true do pcall(function() while true do end end) end",
    "while true do pcall(error) end",
    "xpcall(function() while true do end end, function() while true do end end) while true do end",
    "local function f() xpcall(f, f) end while true do f() end",
    "string.gsub(string.rep('a', 1e5), 'a', function() while true do end end)",
    "string.find(string.rep('a', 3e4), '.-.-.-b')",
    "string.match(string.rep('a', 3e4), 'a*a*a*b')",
    "string.gsub(string.rep('a', 3e4), '.-.-.-b', '')",
    "for w in string.gmatch(string.rep('a', 3e4), 'a*a*a*b') do end",
    "return string.rep('x', 1e9)",
    "while true do pcall(string.rep, 'x', 1e9) end",
    "local s = 'x' while true do s = s .. s end",
    "local t = {} while true do t[#t + 1] = {} end",
    "local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
    "local s = string.rep('x', 1e6) local t = {} for i = 1, 1000 do t[i] = s end return table.concat(t)",
    "while true do string.rep('', 1e9) end",
    "local text, needle = string.rep('a', 1e6), string.rep('a', 5e5) .. 'b' while true do string.find(text, needle, 1, true) end",
    "local text, needle = string.rep('a', 1e6), string.rep('a', 5e5) .. 'b' while true do string.find(text, needle) end",
    "newproxy(true)",
    "loadstring(string.dump(function() end))()",
    "return os.execute('true')",
    "return io.open('/etc/passwd')",
    "return require('os')",
    "return getfenv(0)",
    "return debug.getregistry()",
    "return coroutine.wrap(function() while true do end end)()",
    "local t = {} for i = 1, 2e5 do t[i] = 1e6 - i end while true do table.sort(t) end",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
    "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
    "local s = string.rep('x', 1e6) while true do s:upper() s:reverse() end",
    "while true do json.decode('[' .. string.rep('1,', 1e5) .. '1]') end",
    "return json.decode(string.rep('[', 1e5)).x",
    "local t = {} for i = 1, 1e5 do t = {t} end return t",
    "return (string.format('%99999d', 1))",
    "return unpack({}, 1, 1e8)",
    "local t = {} for i = 1, 1e4 do t[i] = i end while true do next(t) end",
    "setmetatable(_G, {__index = function() while true do end end}) return nothing",
    "string.rep = nil return ('x'):rep(3)",
    "error(setmetatable({}, {__tostring = function() while true do end end}))",
    // Long texts that begin alike, compared again and again.
    "local s, t = string.rep('x', 1e6), {} for i = 1, 1e4 do t[i] = i % 2 == 0 and s .. 'a' or s .. 'b' end while true do table.sort(t) end",
    "local s, t = string.rep('x', 1e6), {} for i = 1, 30 do t[s .. i] = i end while true do pairs(t) end",
    // What a metatable says of a length is not what a function works through.
    "local t = {} for i = 1, 1e5 do t[i] = i end setmetatable(t, {__len = function() return 0 end}) while true do table.sort(t) end",
    "local t = {} for i = 1, 1e5 do t[i] = i end setmetatable(t, {__len = function() return 0 end}) while true do table.insert(t, 1, 0) end",
    "local t = setmetatable({}, {__len = function() return 1e9 end}) while true do pcall(unpack, t) pcall(table.concat, t) end",
    // Searches whose single steps go through the text, or through a long pattern.
    "return string.find(string.rep('(', 1e6), '%b()')",
    "return string.find(string.rep('a', 1e6), '(a*)%1%1%1b')",
    "return string.find(string.rep('a', 4000), '(a*)(a*)%1%2%1b')",
    "return string.find(string.rep('b', 1e6), '[' .. string.rep('a', 1e5) .. 'b]*x')",
    "return string.find(string.rep('a', 1e6), string.rep('a', 1e5) .. '.b')",
    "local next_one = string.gmatch(string.rep('a', 1e6), string.rep('a', 1e5) .. '.b') while true do next_one() end",
    "return string.gsub(string.rep('a', 1e6), '%f[' .. string.rep('b', 1e5) .. ']', '')",
    "string.gsub(string.rep('(', 1e4), '.', function() string.find(string.rep('(', 1e4), '%b()') end)",
    // Values that are made, looked at, and never kept.
    "local t = {} for i = 1, 9e4 do t[i] = i end t.x = print while true do json.encode(t) end",
    "local s = string.rep('x', 1e6) while true do local part = s:sub(2) end",
    "local s = string.rep('x', 1e6) while true do local longer = s .. 'y' end",
    "local s = string.rep('x', 1e6) while true do local same = s .. '' end",
    "local t = {} for i = 1, 60 do t[i] = string.rep('x', 1e6) end while true do pcall(table.concat, t) end",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do pcall(unpack, t) end",
    "local s = string.rep('x', 1e5) while true do pcall(string.byte, s, 1, -1) end",
    "local s = string.rep(' ', 1e6) while true do tonumber(s, 16) end",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.maxn(t) end",
    // To run out of memory is not for scripts to get over.
    "while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) end",
    "pcall(function() local t = {} while true do t[#t + 1] = {} end end) return {}",
    "xpcall(function() local s = 'x' while true do s = s .. s end end, function() return 1 end) return {}",
];

#[test]
fn a_script_that_runs_out_of_time_is_not_run_again() {
    let script = Script::compile("attack.lua", "local s = string.rep(' ', 1e6) .. 1 while true do local n = s + 1 end").expect("compiles");
    let before = Instant::now();
    assert_eq!(script.call(&[]).expect_err("ends").kind, ScriptErrorKind::Time);
    assert!(before.elapsed() < Duration::from_secs(2 * LIMITS.seconds), "{:?}", before.elapsed());
}

/// What this thread has had of a processor, where the system tells it; the time that went by elsewhere.
fn worked() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

#[test]
fn every_attack_ends_in_an_error() {
    for attack in ATTACKS {
        let before = worked();
        let ended = Script::compile("attack.lua", attack).and_then(|script| script.call_within(&[], SCARCE));
        let error = ended.expect_err(attack);
        let took = worked().saturating_sub(before);
        eprintln!("{:>6} ms  {attack}\n           {error}", took.as_millis());
        assert!(took < Duration::from_secs(8), "{attack}: {took:?}");
        assert!(error.message.len() < 1100, "{attack}: {} bytes", error.message.len());
    }
}

#[test]
fn hostile_sources_do_not_compile() {
    for source in [
        "return ".to_owned() + &"(".repeat(100_000),
        "return ".to_owned() + &"{".repeat(100_000),
        "do ".repeat(100_000),
        "\u{1b}Lua".to_owned(),
        "\0\u{1}\u{2}".to_owned(),
        "return '".to_owned(),
    ] {
        let error = Script::compile("hostile.lua", &source).expect_err("refused");
        assert!(error.message.len() < 1000, "{error}");
    }
}

#[test]
fn a_verdict_does_not_change() {
    for attack in ["while true do end", "local t = {} while true do t[#t + 1] = {} end"] {
        let script = Script::compile("attack.lua", attack).expect("compiles");
        let mut verdicts: Vec<_> = (0..3).map(|_| script.call_within(&[], SCARCE).expect_err(attack)).collect();
        verdicts.dedup();
        assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    }
}
