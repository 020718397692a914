//! Lua into JSON: what a table holds decides what it is; shared tables are copied, everything that JSON cannot say is an
//! error with its path.

use std::fmt::Write as _;

use mlua::{Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

use super::LONGEST_STRING;
use super::enter::DEEPEST;
use super::number;
use super::trouble::Uncrossable;

/// A few shared tables can stand for a value that fits no machine. No API server takes an object of more than 1.5 MiB.
const MOST_VALUES: usize = 100_000;
const MOST_BYTES: usize = 1 << 20;

/// What came of a Lua value.
pub(super) struct Left {
    pub(super) value: Result<Value, Uncrossable>,
    /// What it took, in instructions.
    pub(super) work: u64,
}

/// Returns the JSON for a Lua value; `empty_list` marks the lists among the empty tables.
pub(super) fn value(value: &LuaValue, empty_list: &Table) -> Left {
    let mut leaving = Leaving { empty_list, around: Vec::new(), values: 0, bytes: 0 };
    let value = leaving.value(value).map_err(|problem| {
        let Problem { what, path } = problem;
        let place = if path.is_empty() { "the top".to_owned() } else { format!("`{}`", pointer(&path)) };
        Uncrossable(format!("{what} at {place}"))
    });
    Left { value, work: u64::try_from(leaving.values * 8 + leaving.bytes / 16).unwrap_or(u64::MAX) }
}

struct Leaving<'a> {
    empty_list: &'a Table,
    /// The tables that the walk is inside of.
    around: Vec<*const std::ffi::c_void>,
    values: usize,
    bytes: usize,
}

/// What cannot cross, with the keys from the inside out.
struct Problem {
    what: String,
    path: Vec<String>,
}

/// What a table holds, so far as it is known.
#[derive(Default)]
struct Members {
    /// At 1, 2, 3 and on, as the walk mostly meets them.
    list: Vec<Value>,
    /// At other numbers, in the order of the walk.
    strays: Vec<(u32, Value)>,
    names: Map<String, Value>,
}

enum Key {
    Position(u32),
    Name(String),
}

impl Leaving<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and one message for the rest")]
    fn value(&mut self, value: &LuaValue) -> Result<Value, Problem> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(problem(format!("more than {MOST_VALUES} values")));
        }
        match value {
            LuaValue::Nil => Ok(Value::Null),
            LuaValue::Boolean(boolean) => Ok(Value::Bool(*boolean)),
            LuaValue::Integer(integer) => Ok(Value::from(*integer)),
            LuaValue::Number(double) => finite(*double).map(Value::Number),
            LuaValue::String(text) => self.text(text).map(Value::String),
            LuaValue::Table(table) => self.table(table),
            other => Err(problem(format!("a {}", other.type_name()))),
        }
    }

    fn text(&mut self, text: &mlua::LuaString) -> Result<String, Problem> {
        let bytes = text.as_bytes();
        self.bytes += bytes.len();
        if bytes.len() > LONGEST_STRING {
            return Err(problem(format!("a string of {} bytes, more than {LONGEST_STRING},", bytes.len())));
        }
        if self.bytes > MOST_BYTES {
            return Err(problem(format!("more than {MOST_BYTES} bytes of strings")));
        }
        match str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    fn table(&mut self, table: &Table) -> Result<Value, Problem> {
        let address = table.to_pointer();
        if self.around.contains(&address) {
            return Err(problem("a table that contains itself"));
        }
        if self.around.len() >= DEEPEST {
            return Err(problem(format!("tables nested more than {DEEPEST} levels deep")));
        }
        self.around.push(address);
        let members = self.members(table)?;
        self.around.pop();
        if !members.has_positions() {
            let is_list = members.names.is_empty() && table.metatable().is_some_and(|metatable| metatable == *self.empty_list);
            return Ok(if is_list { Value::Array(Vec::new()) } else { Value::Object(members.names) });
        }
        if !members.names.is_empty() {
            return Err(problem("a table with both positions and names"));
        }
        members.into_list()
    }

    fn members(&mut self, table: &Table) -> Result<Members, Problem> {
        let mut members = Members { list: Vec::with_capacity(table.raw_len().min(1024)), ..Members::default() };
        let mut found = None;
        let walked = table.for_each(|key: LuaValue, member: LuaValue| {
            let crossed = self.key(&key).and_then(|key| match self.value(&member) {
                Ok(member) => Ok((key, member)),
                Err(inner) => Err(inner.inside(key)),
            });
            match crossed {
                Ok((key, member)) => members.add(key, member),
                Err(problem) => {
                    found = Some(problem);
                    return Err(mlua::Error::runtime(""));
                }
            }
            Ok(())
        });
        match (found, walked) {
            (Some(problem), _) => Err(problem),
            (None, Err(error)) => Err(problem(error.to_string())),
            (None, Ok(())) => Ok(members),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and one message for the rest")]
    fn key(&mut self, key: &LuaValue) -> Result<Key, Problem> {
        match key {
            LuaValue::String(text) => self.text(text).map(Key::Name),
            LuaValue::Integer(integer) => u32::try_from(*integer).map(Key::Position).map_err(|_| problem("a list with holes")),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
            LuaValue::Number(double) if *double >= 1.0 && *double <= f64::from(u32::MAX) && double.fract() == 0.0 => {
                Ok(Key::Position(*double as u32))
            }
            LuaValue::Number(_) => Err(problem("a list with holes")),
            other => Err(problem(format!("a {} as a key", other.type_name()))),
        }
    }
}

impl Members {
    fn add(&mut self, key: Key, member: Value) {
        match key {
            Key::Position(position) if usize::try_from(position).is_ok_and(|position| position == self.list.len() + 1) => {
                self.list.push(member);
            }
            Key::Position(position) => self.strays.push((position, member)),
            Key::Name(name) => {
                self.names.insert(name, member);
            }
        }
    }

    fn has_positions(&self) -> bool {
        !self.list.is_empty() || !self.strays.is_empty()
    }

    fn into_list(mut self) -> Result<Value, Problem> {
        self.strays.sort_by_key(|(position, _)| *position);
        for (position, member) in std::mem::take(&mut self.strays) {
            self.add(Key::Position(position), member);
        }
        if self.strays.is_empty() { Ok(Value::Array(self.list)) } else { Err(problem("a list with holes")) }
    }
}

impl Problem {
    fn inside(mut self, key: Key) -> Self {
        self.path.push(match key {
            Key::Position(position) => position.saturating_sub(1).to_string(),
            Key::Name(name) => name,
        });
        self
    }
}

fn problem(what: impl Into<String>) -> Problem {
    Problem { what: what.into(), path: Vec::new() }
}

fn finite(double: f64) -> Result<Number, Problem> {
    number::of_double(double).ok_or_else(|| problem("a number that is not finite"))
}

fn pointer(path: &[String]) -> String {
    const MOST_SHOWN: usize = 20;
    let shown = path.iter().rev().take(MOST_SHOWN).fold(String::new(), |mut pointer, key| {
        let _ = write!(pointer, "/{}", key.replace('~', "~0").replace('/', "~1"));
        pointer
    });
    if path.len() > MOST_SHOWN { shown + "/…" } else { shown }
}
