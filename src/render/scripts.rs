//! Compiled scripts, shared by all Rollouts of a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::lua::{Script, ScriptError};
use crate::model::ScriptSource;

/// Compiles each script once. Shared between threads.
#[derive(Default)]
pub struct Scripts(Mutex<BTreeMap<String, Arc<Script>>>);

impl Scripts {
    /// The compiled form of a script.
    pub(super) fn compiled(&self, source: &ScriptSource) -> Result<Arc<Script>, ScriptError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = known.get(&source.text) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(Script::compile(&source.name, &source.text)?);
        known.insert(source.text.clone(), Arc::clone(&script));
        Ok(script)
    }
}
