//! Who works on which object: in mid-release an object belongs to one plan.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::objects::Objects;
use crate::model::ObjectKey;

/// A plan by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlanKey {
    /// The namespace.
    pub(super) namespace: String,
    /// The name.
    pub(super) name: String,
}

impl std::fmt::Display for PlanKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// What all plans of this agent hold. What is recorded in their statuses is entered before any plan asks.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<BTreeMap<Object, PlanKey>>);

/// Namespace, group, kind, name.
type Object = (String, String, String, String);

/// The group of an object of which only the key is known: any.
const ANY: &str = "*";

impl Claims {
    /// Claims all objects for the plan, or says which one another plan holds.
    pub(super) fn claim(&self, plan: &PlanKey, objects: &Objects) -> Result<(), String> {
        let mut held = self.held();
        if let Some(holder) = holder(&held, plan, objects) {
            return Err(holder);
        }
        held.extend(objects.iter().map(|target| (object(plan, target), plan.clone())));
        Ok(())
    }

    /// Says which of the objects another plan holds, and claims nothing.
    pub(super) fn holder(&self, plan: &PlanKey, objects: &Objects) -> Option<String> {
        holder(&self.held(), plan, objects)
    }

    /// Enters what a plan holds already.
    pub(super) fn enter(&self, plan: &PlanKey, objects: &Objects) {
        let mut held = self.held();
        for target in objects.iter() {
            held.entry(object(plan, target)).or_insert_with(|| plan.clone());
        }
    }

    /// Enters what a plan holds by its recorded keys, where the plan itself cannot be read: objects of that kind and name in any
    /// group, which is rather too much than too little.
    pub(super) fn enter_keys(&self, plan: &PlanKey, keys: &[ObjectKey]) {
        let mut held = self.held();
        for key in keys {
            let kind = key.kind().split('.').next().unwrap_or_default().to_owned();
            held.entry((plan.namespace.clone(), ANY.to_owned(), kind, key.name().to_owned())).or_insert_with(|| plan.clone());
        }
    }

    /// Gives up all that the plan holds.
    pub(super) fn release(&self, plan: &PlanKey) {
        self.held().retain(|_, holder| holder != plan);
    }

    fn held(&self) -> std::sync::MutexGuard<'_, BTreeMap<Object, PlanKey>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn holder(held: &BTreeMap<Object, PlanKey>, plan: &PlanKey, objects: &Objects) -> Option<String> {
    objects.iter().find_map(|target| {
        let exact = object(plan, target);
        let of_any_group = (exact.0.clone(), ANY.to_owned(), exact.2.clone(), exact.3.clone());
        let holder = [exact, of_any_group].iter().filter_map(|object| held.get(object)).find(|holder| *holder != plan)?;
        Some(format!("{} belongs to the release of the plan `{}` until that is over", target.key, holder.name))
    })
}

fn object(plan: &PlanKey, target: &super::objects::Target) -> Object {
    (plan.namespace.clone(), target.resource.group().to_owned(), target.resource.kind.clone(), target.key.name().to_owned())
}
