//! JSON into Lua: null is nothing, lists remember that they are lists.

use mlua::{Either, ExternalResult, IntoLua, Lua, Result, Table, Value as LuaValue};
use serde_json::{Number, Value};

use super::trouble::Uncrossable;

/// Deeper values are refused on both sides: no manifest is as deep, and the walk must not exhaust the stack.
pub(super) const DEEPEST: usize = 200;

/// Adds `value` to the world as Lua sees it; `empty_list` is the metatable by which lists are known when they are empty.
pub(super) fn value(lua: &Lua, value: &Value, empty_list: &Table) -> Result<LuaValue> {
    Entering { value, empty_list, depth: 0 }.into_lua(lua).map_err(|error| match inexact(value, &mut String::new()) {
        Some(problem) => mlua::Error::external(problem),
        None => error,
    })
}

/// Returns the first integer that Lua cannot hold, with its path: sought only when entering failed.
fn inexact(value: &Value, pointer: &mut String) -> Option<Uncrossable> {
    let (length, depth) = (pointer.len(), pointer.matches('/').count());
    let mut within = |key: &str, child: &Value| {
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let found = inexact(child, pointer);
        pointer.truncate(length);
        found
    };
    match value {
        Value::Number(number) => double(number).err().map(|Uncrossable(problem)| Uncrossable(format!("{problem} at `{pointer}`"))),
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => None,
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| within(&index.to_string(), item)),
        Value::Object(members) => members.iter().find_map(|(key, member)| within(key, member)),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[derive(Clone, Copy)]
struct Entering<'a> {
    value: &'a Value,
    empty_list: &'a Table,
    depth: usize,
}

/// Texts, numbers and booleans cross as they are; only what holds others takes a handle of its own.
type Member<'a> = Either<Either<&'a str, f64>, Either<bool, Entering<'a>>>;

impl<'a> Entering<'a> {
    fn member(self, value: &'a Value) -> Member<'a> {
        let inner = || Either::Right(Either::Right(Self { value, depth: self.depth + 1, ..self }));
        match value {
            Value::String(text) => Either::Left(Either::Left(text)),
            Value::Number(number) => double(number).map_or_else(|_| inner(), |double| Either::Left(Either::Right(double))),
            Value::Bool(boolean) => Either::Right(Either::Left(*boolean)),
            Value::Null | Value::Array(_) | Value::Object(_) => inner(),
        }
    }
}

impl IntoLua for Entering<'_> {
    fn into_lua(self, lua: &Lua) -> Result<LuaValue> {
        match self.value {
            Value::Null => Ok(LuaValue::Nil),
            Value::Bool(boolean) => Ok(LuaValue::Boolean(*boolean)),
            Value::Number(number) => double(number).map(LuaValue::Number).into_lua_err(),
            Value::String(text) => lua.create_string(text).map(LuaValue::String),
            Value::Array(_) | Value::Object(_) if self.depth >= DEEPEST => {
                Err(Uncrossable(format!("a value is nested more than {DEEPEST} levels deep"))).into_lua_err()
            }
            Value::Array(items) => {
                // Without nulls the table has its size from the start.
                let table = if items.iter().any(Value::is_null) {
                    lua.create_sequence_from(items.iter().filter(|item| !item.is_null()).map(|item| self.member(item)))?
                } else {
                    lua.create_sequence_from(items.iter().map(|item| self.member(item)))?
                };
                table.set_metatable(Some(self.empty_list.clone()))?;
                Ok(LuaValue::Table(table))
            }
            Value::Object(members) => {
                let table = if members.values().any(Value::is_null) {
                    let present = members.iter().filter(|(_, member)| !member.is_null());
                    lua.create_table_from(present.map(|(key, member)| (key.as_str(), self.member(member))))?
                } else {
                    lua.create_table_from(members.iter().map(|(key, member)| (key.as_str(), self.member(member))))?
                };
                Ok(LuaValue::Table(table))
            }
        }
    }
}

/// Returns the number as Lua has it, or refuses an integer that would come back as another one.
fn double(number: &Number) -> std::result::Result<f64, Uncrossable> {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "looking for the loss")]
    let is_exact = match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => i128::from(integer) == (integer as f64) as i128,
        (None, Some(integer)) => u128::from(integer) == (integer as f64) as u128,
        (None, None) => true,
    };
    match number.as_f64() {
        Some(double) if is_exact => Ok(double),
        _ => Err(Uncrossable(format!("the integer {number} is larger than Lua can hold"))),
    }
}
