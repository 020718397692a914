//! What the prelude needs of ours: printing, JSON, searches in bounded time, and what all of it costs.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;

use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Error, Function, IntoLuaMulti, Lua, LuaString, MultiValue, Result, Table, Value as LuaValue};
use serde_json::Value;

use super::fuel::Fuel;
use super::printed::Printed;
use super::trouble::Uncrossable;
use super::{LONGEST_STRING, enter, json, leave};

const PRELUDE: &str = include_str!("prelude.luau");

/// Bytes of JSON are read into values, which takes longer than reading them alone.
const DECODING: usize = 16;

/// To raise and to catch costs as much as so many calls.
const CATCHING: u64 = 100;

/// What the prelude gives.
pub(super) struct Furniture {
    /// Makes the globals of one call, and the metatable of its strings.
    pub(super) furnish: Function,
    /// What a loop asks for what it calls.
    pub(super) iterated: Function,
    /// What sees each key that something is assigned to.
    pub(super) key: Function,
}

/// What the functions of one machine share.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) fuel: Rc<Fuel>,
    /// The metatable of lists, by which an empty one is told from an empty map.
    pub(super) empty_list: Table,
    pub(super) printed: Rc<RefCell<Printed>>,
}

impl Host {
    /// Runs the prelude, which takes what it needs of ours and keeps what it wants of the machine's.
    pub(super) fn furniture(&self, lua: &Lua) -> Result<Furniture> {
        let host = self.clone();
        let print = lua.create_function(move |_, line: LuaString| {
            host.printed.borrow_mut().add(&line.as_bytes());
            Ok(())
        })?;
        let host = self.clone();
        let encode = lua.create_function(move |lua, value: LuaValue| host.encode(lua, &value))?;
        let host = self.clone();
        let decode = lua.create_function(move |lua, text: LuaString| host.decode(lua, &text))?;
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
        let fuel = Rc::clone(&self.fuel);
        let caught =
            lua.create_function(move |_, raised: LuaValue| if is_memory(&raised) { fuel.exhaust() } else { fuel.spend(CATCHING) })?;
        let fuel = Rc::clone(&self.fuel);
        let rate = lua.create_function(move |_, rate: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, as it should")]
            fuel.set_rate(rate as u64);
            Ok(())
        })?;
        let prelude = lua.load(prelude()).set_name("=sandbox").set_mode(ChunkMode::Binary);
        let ours = (print, encode, decode, find, change_case, caught, rate, charge, LONGEST_STRING);
        let (furnish, iterated, key) = prelude.call(ours)?;
        Ok(Furniture { furnish, iterated, key })
    }

    fn encode(&self, lua: &Lua, value: &LuaValue) -> Result<MultiValue> {
        let left = leave::value(value, &self.empty_list);
        self.fuel.spend(left.work)?;
        match left.value.map(|value| json::to_text(&value)) {
            Ok(text) => {
                self.fuel.spend_bytes(text.len())?;
                within_bounds(lua, &text)
            }
            Err(Uncrossable(problem)) => failed(lua, &format!("cannot encode {problem}")),
        }
    }

    fn decode(&self, lua: &Lua, text: &LuaString) -> Result<MultiValue> {
        let bytes = text.as_bytes();
        self.fuel.spend_bytes(bytes.len().saturating_mul(DECODING))?;
        if bytes.len() > LONGEST_STRING {
            return failed(lua, &format!("cannot decode a string of {} bytes, more than {LONGEST_STRING}", bytes.len()));
        }
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) => enter::value(lua, &value, &self.empty_list)?.into_lua_multi(lua),
            Err(error) => failed(lua, &error.to_string()),
        }
    }
}

/// Whether what a script caught says that there was no memory left. A script that makes up such an error is believed.
#[expect(clippy::wildcard_enum_match_arm, reason = "not our enums, and nothing else speaks of memory")]
fn is_memory(raised: &LuaValue) -> bool {
    match raised {
        LuaValue::String(text) => text.as_bytes().ends_with(b"not enough memory"),
        LuaValue::Error(error) => {
            let mut cause: &Error = error;
            while let Error::CallbackError { cause: inner, .. } = cause {
                cause = inner;
            }
            match cause {
                Error::MemoryError(_) => true,
                Error::RuntimeError(text) => text.ends_with("not enough memory"),
                _ => false,
            }
        }
        _ => false,
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
