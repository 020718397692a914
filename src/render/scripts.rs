//! Compiled scripts, shared by all Rollouts of a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::lua::{Budget, Script, ScriptError};
use crate::model::{Finding, ScriptSource};

/// Compiles each script once, and counts what all of them use. Shared between threads.
#[derive(Default)]
pub struct Scripts {
    compiled: Mutex<BTreeMap<String, Arc<Script>>>,
    budget: Arc<Budget>,
}

impl Scripts {
    /// Why no plan of this run counts, if its scripts used more than they may together: which of them still ran depends on the
    /// order of the threads.
    pub fn exceeded(&self) -> Option<Finding> {
        let finding = |message| Finding::error("scripts-exceed", message);
        self.budget.exceeded().map(|message| finding(message).help("render fewer Rollouts at once: name their folder, or use `--changed`"))
    }

    /// The compiled form of a script.
    pub(super) fn compiled(&self, source: &ScriptSource) -> Result<Arc<Script>, ScriptError> {
        let mut known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = known.get(&source.text) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(Script::compile(&source.name, &source.text)?.within(&self.budget));
        known.insert(source.text.clone(), Arc::clone(&script));
        Ok(script)
    }
}
