//! The world of one call: the libraries, the limits, and what was printed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mlua::chunk::{ChunkMode, Compiler};
use mlua::{
    Error, ExternalError, Function, IntoLuaMulti, Lua, LuaOptions, LuaString, MultiValue, Result, StdLib, Table, Value as LuaValue, VmState,
};
use serde_json::Value;

use super::trouble::{Spent, Uncrossable};
use super::{LONGEST_STRING, Limits, enter, json, leave};

const PRELUDE: &str = include_str!("prelude.luau");

const MOST_LINES: usize = 1000;
const MOST_PRINTED_BYTES: usize = 64 << 10;

/// Bytes that a library function works through for one unit of fuel.
const BYTES_A_UNIT: u64 = 16;

pub(super) struct World {
    pub(super) lua: Lua,
    /// The metatable of lists, by which an empty one is told from an empty map.
    pub(super) empty_list: Table,
    fuel: Rc<Fuel>,
    printed: Rc<RefCell<Printed>>,
    limits: Limits,
}

impl World {
    pub(super) fn new(limits: Limits) -> Result<Self> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::default())?;
        let empty_list = lua.create_table()?;
        empty_list.set_readonly(true);
        let world = Self { fuel: Rc::new(Fuel::new(limits)), printed: Rc::default(), lua, empty_list, limits };
        world.furnish()?;
        Ok(world)
    }

    pub(super) fn set(&self, name: &str, value: &Value) -> Result<()> {
        self.lua.globals().raw_set(name, enter::value(&self.lua, value, &self.empty_list)?)
    }

    /// Runs a script under the limits and returns the last value it gives.
    pub(super) fn run(&self, script: &Function) -> Result<LuaValue> {
        let fuel = Rc::clone(&self.fuel);
        self.lua.set_interrupt(move |lua| match fuel.spend(1) {
            Ok(()) => Ok(VmState::Continue),
            // The machine's own traceback leaves out the function that was interrupted.
            Err(cause) => Err(Error::CallbackError {
                traceback: lua.traceback(None, 0).map(|frames| frames.to_string_lossy()).unwrap_or_default(),
                #[expect(clippy::arc_with_non_send_sync, reason = "the type is the crate's")]
                cause: Arc::new(cause),
            }),
        });
        self.lua.set_memory_limit(self.limits.memory)?;
        let returned = script.call::<MultiValue>(());
        self.lua.set_memory_limit(0)?;
        self.lua.remove_interrupt();
        // A script may have caught the error, which does not give it more.
        match (returned, self.fuel.verdict()) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(spent)) => Err(spent.into_lua_err()),
            (Ok(mut values), None) => Ok(values.pop_back().unwrap_or(LuaValue::Nil)),
        }
    }

    pub(super) fn printed(&self) -> Vec<String> {
        self.printed.take().into_lines()
    }

    /// Puts the prelude's functions over those of the machine.
    fn furnish(&self) -> Result<()> {
        let lua = &self.lua;
        let printed = Rc::clone(&self.printed);
        let print = lua.create_function(move |_, line: LuaString| {
            printed.borrow_mut().add(&line.as_bytes());
            Ok(())
        })?;
        let (fuel, empty_list) = (Rc::clone(&self.fuel), self.empty_list.clone());
        let encode = lua.create_function(move |lua, value: LuaValue| {
            let text = leave::value(&value, &empty_list).map(|value| json::to_text(&value));
            match text {
                Ok(text) => {
                    fuel.spend_bytes(text.len())?;
                    within_bounds(lua, &text)
                }
                Err(Uncrossable(problem)) => failed(lua, &format!("cannot encode {problem}")),
            }
        })?;
        let (fuel, empty_list) = (Rc::clone(&self.fuel), self.empty_list.clone());
        let decode = lua.create_function(move |lua, text: LuaString| {
            let bytes = text.as_bytes();
            fuel.spend_bytes(bytes.len())?;
            if bytes.len() > LONGEST_STRING {
                return failed(lua, &format!("cannot decode a string of {} bytes, more than {LONGEST_STRING}", bytes.len()));
            }
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(value) => enter::value(lua, &value, &empty_list)?.into_lua_multi(lua),
                Err(error) => failed(lua, &error.to_string()),
            }
        })?;
        let fuel = Rc::clone(&self.fuel);
        let find = lua.create_function(move |_, (text, needle, start): (LuaString, LuaString, f64)| {
            let (text, needle) = (text.as_bytes(), needle.as_bytes());
            fuel.spend_bytes(text.len() + needle.len())?;
            Ok(find_from(&text, &needle, start).unzip())
        })?;
        let change_case = lua.create_function(|lua, (text, is_upper): (LuaString, bool)| match text.to_str() {
            Ok(valid) => lua.create_string(changed_case(&valid, is_upper)),
            Err(_) => Ok(text.clone()),
        })?;
        let fuel = Rc::clone(&self.fuel);
        let charge = lua.create_function(move |_, bytes: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, as it should")]
            fuel.spend_bytes(bytes as usize)
        })?;
        lua.load(prelude()).set_name("=sandbox").set_mode(ChunkMode::Binary).call::<()>((
            print,
            encode,
            decode,
            find,
            change_case,
            charge,
            LONGEST_STRING,
        ))
    }
}

fn prelude() -> &'static [u8] {
    static BYTECODE: OnceLock<Vec<u8>> = OnceLock::new();
    BYTECODE.get_or_init(|| {
        // Without line information the machine blames no line of the prelude for what a script did.
        let compiler = Compiler::new().set_optimization_level(2).set_debug_level(0);
        compiler.compile(PRELUDE).expect("the prelude is ours and compiles, as every test shows")
    })
}

fn within_bounds(lua: &Lua, text: &str) -> Result<MultiValue> {
    if text.len() > LONGEST_STRING {
        return failed(lua, &format!("cannot encode to a string of {} bytes, more than {LONGEST_STRING}", text.len()));
    }
    text.into_lua_multi(lua)
}

/// Returns nil and a message, by which library functions say that they failed.
fn failed(lua: &Lua, message: &str) -> Result<MultiValue> {
    (LuaValue::Nil, message).into_lua_multi(lua)
}

/// Finds `needle` in time that grows with the lengths, not with their product (Knuth, Morris, Pratt); positions are Lua's.
fn find_from(text: &[u8], needle: &[u8], start: f64) -> Option<(usize, usize)> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the casts saturate, as they should")]
    let start = if start >= 1.0 { start as usize - 1 } else { text.len().saturating_sub(-start as usize) * usize::from(start < 0.0) };
    if start > text.len() {
        return None;
    }
    if needle.is_empty() {
        return Some((start + 1, start));
    }
    // For each prefix of the needle, the length of its longest proper prefix that is also its suffix.
    let mut borders = vec![0; needle.len()];
    let mut length = 0;
    for index in 1..needle.len() {
        while length > 0 && needle[index] != needle[length] {
            length = borders[length - 1];
        }
        length += usize::from(needle[index] == needle[length]);
        borders[index] = length;
    }
    let mut matched = 0;
    for (index, byte) in text.iter().enumerate().skip(start) {
        while matched > 0 && *byte != needle[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(*byte == needle[matched]);
        if matched == needle.len() {
            return Some((index + 2 - matched, index + 1));
        }
    }
    None
}

/// Changes letter by letter, as Go does: a letter whose other case is several letters stays.
fn changed_case(text: &str, is_upper: bool) -> String {
    fn one(mut letters: impl Iterator<Item = char>, letter: char) -> char {
        match (letters.next(), letters.next()) {
            (Some(changed), None) => changed,
            _ => letter,
        }
    }
    text.chars().map(|letter| if is_upper { one(letter.to_uppercase(), letter) } else { one(letter.to_lowercase(), letter) }).collect()
}

#[expect(clippy::disallowed_methods, reason = "the clock is the backstop against what fuel does not count")]
fn now() -> Instant {
    Instant::now()
}

struct Fuel {
    left: Cell<u64>,
    verdict: Cell<Option<Spent>>,
    began: Instant,
    limits: Limits,
}

impl Fuel {
    fn new(limits: Limits) -> Self {
        Self { left: Cell::new(limits.fuel), verdict: Cell::new(None), began: now(), limits }
    }

    fn spend(&self, units: u64) -> Result<()> {
        const CLOCK_EVERY: u64 = 256;
        let before = self.left.get();
        let after = before.saturating_sub(units);
        self.left.set(after);
        if after == 0 {
            return self.refuse(Spent::Fuel(self.limits.fuel));
        }
        if before / CLOCK_EVERY != after / CLOCK_EVERY && self.began.elapsed() > Duration::from_secs(self.limits.seconds) {
            self.left.set(0);
            return self.refuse(Spent::Clock(self.limits.seconds));
        }
        Ok(())
    }

    fn spend_bytes(&self, bytes: usize) -> Result<()> {
        self.spend(1 + u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_UNIT)
    }

    fn refuse(&self, spent: Spent) -> Result<()> {
        let spent = self.verdict.get().unwrap_or(spent);
        self.verdict.set(Some(spent));
        Err(Error::external(spent))
    }

    fn verdict(&self) -> Option<Spent> {
        self.verdict.get()
    }
}

#[derive(Default)]
struct Printed {
    lines: Vec<String>,
    bytes: usize,
    dropped: usize,
}

impl Printed {
    fn add(&mut self, line: &[u8]) {
        self.bytes = self.bytes.saturating_add(line.len());
        if self.dropped > 0 || self.lines.len() >= MOST_LINES || self.bytes > MOST_PRINTED_BYTES {
            self.dropped += 1;
        } else {
            self.lines.push(String::from_utf8_lossy(line).into_owned());
        }
    }

    fn into_lines(mut self) -> Vec<String> {
        match self.dropped {
            0 => {}
            1 => self.lines.push("… and 1 line more".to_owned()),
            dropped => self.lines.push(format!("… and {dropped} lines more")),
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_found_where_lua_finds_it() {
        assert_eq!(find_from(b"aabaabaaa", b"aabaaa", 1.0), Some((4, 9)));
        assert_eq!(find_from(b"abab", b"ab", 2.0), Some((3, 4)));
        assert_eq!(find_from(b"abab", b"ab", -2.0), Some((3, 4)));
        assert_eq!(find_from(b"abab", b"ab", 0.0), Some((1, 2)));
        assert_eq!(find_from(b"abab", b"x", 1.0), None);
        assert_eq!(find_from(b"ab", b"", 3.0), Some((3, 2)));
        assert_eq!(find_from(b"ab", b"", 4.0), None);
    }

    #[test]
    fn letters_change_one_by_one() {
        assert_eq!((changed_case("héß", true).as_str(), changed_case("HÉ", false).as_str()), ("HÉß", "hé"));
    }
}
