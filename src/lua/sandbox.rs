//! The world of a call: the libraries, the limits, and what was printed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Error, ExternalError, Function, Lua, LuaOptions, LuaString, MultiValue, Result, StdLib, Table, Value as LuaValue, VmState};
use serde_json::Value;

use super::fuel::{Fuel, Used};
use super::host::{Furniture, Host};
use super::{IPAIRS, Limits, Output, Script, ScriptError, enter, leave, trouble};

/// A script that never has more than this in memory meets no collector, so that not even weak tables tell it of one.
pub(super) const CALM: usize = 16 << 20;

/// What former calls may leave lying about in a world before it is swept.
const LITTER: usize = 1 << 20;

/// So many scripts stay loaded.
const MOST_LOADED: usize = 8;

/// What came of a call, and what it used.
pub(super) struct Called {
    pub(super) outcome: std::result::Result<Output, ScriptError>,
    pub(super) used: Used,
}

/// A machine with the libraries that scripts find. It serves one call after the other; each has globals of its own.
pub(super) struct World {
    lua: Lua,
    host: Host,
    furniture: Furniture,
    loaded: RefCell<Vec<(Arc<[u8]>, Function)>>,
}

impl World {
    pub(super) fn new(limits: Limits) -> Result<Self> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::default())?;
        lua.gc_stop();
        let empty_list = lua.create_table()?;
        empty_list.set_readonly(true);
        // Nobody changes the machine's own names, from which each call has copies: the prelude may count on them.
        lua.globals().set_safeenv(true);
        let host = Host { fuel: Rc::new(Fuel::new(limits)), empty_list, printed: Rc::default() };
        let furniture = host.furniture(&lua)?;
        let (fuel, is_calm) = (Rc::clone(&host.fuel), Cell::new(true));
        lua.set_interrupt(move |lua| {
            let memory = lua.used_memory();
            if is_calm.get() && memory > CALM {
                is_calm.set(false);
                lua.gc_restart();
            }
            match fuel.step(memory) {
                Ok(()) => Ok(VmState::Continue),
                // The machine's own traceback leaves out the function that was interrupted.
                Err(cause) => Err(Error::CallbackError {
                    traceback: lua.traceback(None, 0).map(|frames| frames.to_string_lossy()).unwrap_or_default(),
                    #[expect(clippy::arc_with_non_send_sync, reason = "the type is the crate's")]
                    cause: Arc::new(cause),
                }),
            }
        });
        Ok(Self { lua, host, furniture, loaded: RefCell::default() })
    }

    /// Runs a script under the limits with these globals: the last value it gives and what it printed, and what it used.
    pub(super) fn called(&self, script: &Script, globals: &[(&str, &Value)], limits: Limits) -> Called {
        self.host.fuel.fill(limits, self.lua.used_memory());
        let outcome = self.call(script, globals, limits);
        Called { outcome, used: self.host.fuel.used() }
    }

    fn call(&self, script: &Script, globals: &[(&str, &Value)], limits: Limits) -> std::result::Result<Output, ScriptError> {
        let trouble = |error: Error| trouble::of_running(&script.name, &error);
        let own = self.globals().map_err(trouble)?;
        for (name, value) in globals {
            enter::value(&self.lua, value, &self.host.empty_list).and_then(|value| own.raw_set(*name, value)).map_err(trouble)?;
        }
        own.set_safeenv(script.keeps_ipairs && globals.iter().all(|(name, _)| *name != IPAIRS));
        let function = self.loaded(script).map_err(|error| trouble::of_compiling(&script.name, &error))?;
        function.set_environment(own).map_err(trouble)?;
        let returned = self.run(&function, limits).map_err(trouble)?;
        let value = leave::value(&returned, &self.host.empty_list).value.map_err(|problem| trouble::of_result(&script.name, &problem))?;
        Ok(Output { value, printed: self.host.printed.take().into_lines() })
    }

    /// Clears away what former calls left, when it has become much.
    pub(super) fn sweep(&self) -> Result<()> {
        if self.lua.used_memory() > LITTER {
            self.lua.gc_collect()?;
            self.lua.gc_stop();
        }
        Ok(())
    }

    fn globals(&self) -> Result<Table> {
        let (globals, of_strings): (Table, Table) = self.furniture.furnish.call(())?;
        self.lua.set_type_metatable::<LuaString>(Some(of_strings));
        Ok(globals)
    }

    /// The script as a function that is this call's own.
    fn loaded(&self, script: &Script) -> Result<Function> {
        let mut loaded = self.loaded.borrow_mut();
        if let Some((_, function)) = loaded.iter().find(|(bytecode, _)| Arc::ptr_eq(bytecode, &script.bytecode)) {
            return function.deep_clone();
        }
        // A script that is loaded while they are safe would keep the machine's own functions instead of asking for its call's.
        let machines = self.lua.globals();
        machines.set_safeenv(false);
        let function = script.load(&self.lua);
        machines.set_safeenv(true);
        let function = function?;
        loaded.truncate(MOST_LOADED - 1);
        loaded.push((Arc::clone(&script.bytecode), function.clone()));
        function.deep_clone()
    }

    fn run(&self, script: &Function, limits: Limits) -> Result<LuaValue> {
        // What is around the script gives it as a function that takes nothing (`rewrite.rs`).
        let script: Function = script.call((&self.furniture.iterated, &self.furniture.key))?;
        self.lua.set_memory_limit(limits.memory)?;
        let returned = script.call::<MultiValue>(());
        self.lua.set_memory_limit(0)?;
        // A script may have caught the error, which does not give it more.
        match (returned, self.host.fuel.verdict()) {
            (Err(error), None) => Err(error),
            (Err(error), Some(_)) if trouble::is_spent(&error) => Err(error),
            (_, Some(spent)) => Err(spent.into_lua_err()),
            (Ok(mut values), None) => Ok(values.pop_back().unwrap_or(LuaValue::Nil)),
        }
    }
}
