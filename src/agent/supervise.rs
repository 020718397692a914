//! Which plans are attended to, and when each is woken. A plan at rest costs nothing but its key.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Semaphore, watch as values};
use tokio::task::{AbortHandle, JoinSet};

use super::attend::plans;
use super::bell::{Bell, Ring};
use super::claims::PlanKey;
use super::listing::{Listing, Place};
use super::reads::Change;
use super::served::Resource;
use super::shared::Shared;
use super::tend::{First, tend};
use super::turns::Turns;
use super::watch::{Seen, Sighting, watch};

/// How many plans that were there from the beginning are looked at for the first time at the same time: as many are held at
/// once when the agent starts. Those in mid-release wait for nobody.
const FIRST_AT_ONCE: usize = 4;

/// How long a plan's task that panicked is left alone: so long at first, then twice as long each time.
const PANICKED: Duration = Duration::from_secs(1);

/// The Rollouts of OpenKruise, by which people give commands.
pub(super) fn rollouts() -> Resource {
    Resource::known("rollouts.kruise.io/v1beta1", "Rollout", "rollouts")
}

/// What a watch has told.
enum News {
    Plan(Place, Seen),
    Rollout(Place, Seen),
    Object(Informer, Seen),
}

/// What is watched for plans in mid-release: a resource in a namespace.
type Informer = (String, Resource);

/// Attends to all plans until it is dropped, with everything that it has begun.
pub(super) async fn supervise(shared: Arc<Shared>, namespaces: Vec<String>) {
    let (sender, receiver) = mpsc::channel(256);
    let mut watches = JoinSet::new();
    let places = if namespaces.is_empty() { vec![None] } else { namespaces.into_iter().map(Some).collect() };
    for place in &places {
        let client = shared.api.client();
        let of = place.clone();
        let tell = move |seen| News::Plan(of.clone(), seen);
        watches.spawn(watch(client.clone(), plans(), place.clone(), tell, sender.clone()));
        let of = place.clone();
        let tell = move |seen| News::Rollout(of.clone(), seen);
        watches.spawn(watch(client, rollouts(), place.clone(), tell, sender.clone()));
    }
    let (examined, _) = values::channel(false);
    let supervisor = Supervisor {
        shared,
        sender,
        watches,
        informers: BTreeMap::new(),
        tasks: JoinSet::new(),
        bells: BTreeMap::new(),
        watched: BTreeSet::new(),
        listing: Listing::of(&places),
        unexamined: BTreeSet::new(),
        examined: Arc::new(examined),
        panicked: BTreeMap::new(),
        turns: Turns::default(),
        first_turns: Arc::new(Semaphore::new(FIRST_AT_ONCE)),
    };
    supervisor.run(receiver).await;
}

struct Supervisor {
    shared: Arc<Shared>,
    sender: Sender<News>,
    watches: JoinSet<()>,
    informers: BTreeMap<Informer, AbortHandle>,
    tasks: JoinSet<(PlanKey, Report)>,
    bells: BTreeMap<PlanKey, Arc<Bell>>,
    /// The collections of which a watch tells every change.
    watched: BTreeSet<String>,
    listing: Listing,
    /// Plans that were there from the beginning and whose claims are not known yet.
    unexamined: BTreeSet<PlanKey>,
    examined: Arc<values::Sender<bool>>,
    /// How often in a row a plan's task has panicked.
    panicked: BTreeMap<PlanKey, u32>,
    turns: Turns,
    first_turns: Arc<Semaphore>,
}

/// How a task ended.
enum Report {
    /// Its claims are entered, and it goes on by itself: told by a task of its own that only waits for that.
    Examined,
    /// There is nothing more to do.
    Over,
    /// It panicked, with these words: a defect of the agent, which must not keep the plan from going on for ever.
    Panicked(String),
    /// It panicked a while ago, and is begun again.
    Again,
}

impl Supervisor {
    async fn run(mut self, mut receiver: Receiver<News>) {
        let shared = Arc::clone(&self.shared);
        loop {
            tokio::select! {
                news = receiver.recv() => match news {
                    Some(news) => self.hear(news),
                    None => return,
                },
                Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => match ended {
                    Ok((key, report)) => self.ended(&key, &report),
                    Err(error) => tracing::error!(%error, "a plan's task has failed"),
                },
                () = shared.interests.changed.notified() => {
                    self.inform();
                    for key in shared.interests.after_releases() {
                        self.wake(&key);
                    }
                }
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Plan(place, seen) => self.hear_of_plan(&place, seen),
            News::Rollout(place, seen) => self.hear_of_rollout(&place, &seen),
            News::Object((namespace, resource), seen) => self.hear_of_object(&namespace, &resource, &seen),
        }
    }

    fn hear_of_rollout(&mut self, place: &Place, seen: &Seen) {
        let (rollout, version) = match seen {
            Seen::There(rollout) => (rollout, Some(rollout.version.as_str())),
            Seen::Gone(rollout) => (rollout, None),
            Seen::All => return self.set_watched(place.as_deref(), &rollouts(), true),
            Seen::Refused | Seen::Begins => return self.set_watched(place.as_deref(), &rollouts(), false),
        };
        // A plan has its Rollout's name.
        let key = PlanKey { namespace: rollout.namespace.clone(), name: rollout.name.clone() };
        let mut concerned = self.shared.interests.concerned(&rollout.namespace, &rollout.names);
        concerned.retain(|other| *other != key);
        for other in concerned {
            self.tell(&other, &rollouts(), rollout, version, Ring::Loud);
        }
        if self.listing.knows(&key) && !self.shared.echoes.is_own(&key, version) {
            self.tell(&key, &rollouts(), rollout, version, Ring::Loud);
        }
    }

    fn hear_of_object(&mut self, namespace: &str, resource: &Resource, seen: &Seen) {
        let (object, version) = match seen {
            Seen::There(object) => (object, Some(object.version.as_str())),
            Seen::Gone(object) => (object, None),
            // What was told by a watch that has ended since says nothing any more.
            Seen::All => {
                let is_watched = self.informers.contains_key(&(namespace.to_owned(), resource.clone()));
                return self.set_watched(Some(namespace), resource, is_watched);
            }
            // While all is listed again nobody tells what has gone meanwhile.
            Seen::Refused | Seen::Begins => return self.set_watched(Some(namespace), resource, false),
        };
        for key in self.shared.interests.concerned(namespace, &object.names) {
            self.tell(&key, resource, object, version, Ring::Quiet);
        }
    }

    /// Tells a plan of an object, unless it knows it as it is.
    fn tell(&mut self, key: &PlanKey, resource: &Resource, object: &Sighting, version: Option<&str>, ring: Ring) {
        if let Some(bell) = self.bells.get(key) {
            let (collection, address) = (resource.all_in(&object.namespace), resource.one(&object.namespace, &object.name));
            if !bell.reads().tell(Change { collection: &collection, address: &address, version }) {
                return;
            }
        }
        self.ring(key, ring, ring == Ring::Quiet);
    }

    /// Notes whether a watch tells every change of a resource, in a namespace or in all.
    fn set_watched(&mut self, namespace: Option<&str>, resource: &Resource, is_watched: bool) {
        let concerned = self.bells.iter().filter(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace));
        for (key, bell) in concerned {
            let collection = resource.all_in(&key.namespace);
            if is_watched { bell.reads().watched(&collection) } else { bell.reads().unwatched(&collection) }
        }
        let collection = namespace.map_or_else(|| resource.everywhere(), |namespace| resource.all_in(namespace));
        if is_watched {
            self.watched.insert(collection)
        } else {
            self.watched.remove(&collection)
        };
    }

    fn hear_of_plan(&mut self, place: &Place, seen: Seen) {
        match seen {
            Seen::Begins => self.listing.begins(place),
            Seen::There(plan) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                let is_first = self.listing.is_first(place);
                if self.listing.there(place, &key, plan.mark) {
                    // No other plan holds anything: what is claimed is recorded with the finalizer in place.
                    if is_first && plan.is_running && !self.bells.contains_key(&key) {
                        self.unexamined.insert(key.clone());
                        self.examine();
                    }
                    let ring = if plan.is_urgent { Ring::Urgent } else { Ring::Plan };
                    self.ring(&key, ring, plan.is_running || !is_first);
                }
            }
            Seen::Gone(plan) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                self.listing.gone(&key);
                self.wake(&key);
            }
            Seen::All => {
                self.shared.metrics.set_blind(false);
                let vanished = self.listing.all(place);
                self.examine();
                for key in vanished {
                    self.wake(&key);
                }
            }
            Seen::Refused => {
                self.shared.metrics.set_blind(true);
                self.listing.refused(place);
                self.examine();
            }
        }
    }

    fn wake(&mut self, key: &PlanKey) {
        self.ring(key, Ring::Plan, true);
    }

    /// Wakes a plan's task, or begins one. One that is not pressing waits for its turn among all that are seen for the first time.
    fn ring(&mut self, key: &PlanKey, ring: Ring, is_pressing: bool) {
        if let Some(bell) = self.bells.get(key) {
            bell.ring(ring);
            return;
        }
        let bell = Arc::new(Bell::default());
        bell.ring(ring);
        for resource in [rollouts()]
            .iter()
            .chain(self.informers.keys().filter(|(namespace, _)| *namespace == key.namespace).map(|(_, resource)| resource))
        {
            let collection = resource.all_in(&key.namespace);
            if self.watched.contains(&collection) || self.watched.contains(&resource.everywhere()) {
                bell.reads().watched(&collection);
            }
        }
        self.bells.insert(key.clone(), Arc::clone(&bell));
        let first = First { turns: (!is_pressing).then(|| Arc::clone(&self.first_turns)), looked: Arc::default() };
        if self.unexamined.contains(key) {
            let (key, looked) = (key.clone(), Arc::clone(&first.looked));
            self.tasks.spawn(async move {
                looked.notified().await;
                (key, Report::Examined)
            });
        }
        let task = tend(Arc::clone(&self.shared), key.clone(), bell, self.turns.clone(), self.examined.subscribe(), Some(first));
        let key = key.clone();
        self.tasks.spawn(async move {
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(()) => (key, Report::Over),
                Err(panic) => (key, Report::Panicked(words_of(&*panic))),
            }
        });
    }

    fn ended(&mut self, key: &PlanKey, report: &Report) {
        match report {
            Report::Examined => {
                self.unexamined.remove(key);
                self.examine();
            }
            Report::Panicked(words) => {
                let times = self.panicked.entry(key.clone()).or_default();
                *times += 1;
                let pause = PANICKED * 2_u32.pow((*times - 1).min(8));
                self.shared.metrics.panicked();
                tracing::error!(plan = %key, panic = words, seconds = pause.as_secs_f64(), "a plan's task has failed; it begins again");
                // Until then its bell rings for nobody.
                let key = key.clone();
                self.tasks.spawn(async move {
                    tokio::time::sleep(pause).await;
                    (key, Report::Again)
                });
            }
            Report::Again => {
                self.bells.remove(key);
                self.wake(key);
            }
            Report::Over => {
                self.panicked.remove(key);
                let bell = self.bells.remove(key);
                if bell.is_some_and(|bell| bell.has_rung()) {
                    self.wake(key);
                }
            }
        }
    }

    /// Lets checks begin as soon as everything that is claimed is known.
    fn examine(&mut self) {
        let is_known = self.listing.is_complete() && self.unexamined.is_empty();
        self.examined.send_if_modified(|known| std::mem::replace(known, is_known) != is_known);
    }

    /// Watches what plans in mid-release are interested in, and nothing else.
    fn inform(&mut self) {
        let wanted = self.shared.interests.wanted();
        let mut idle = Vec::new();
        self.informers.retain(|key, handle| {
            let is_wanted = wanted.contains(key);
            if !is_wanted {
                handle.abort();
                idle.push(key.clone());
            }
            is_wanted
        });
        for (namespace, resource) in idle {
            self.set_watched(Some(&namespace), &resource, false);
        }
        while self.watches.try_join_next().is_some() {}
        for (namespace, resource) in wanted {
            let key = (namespace.clone(), resource.clone());
            if self.informers.contains_key(&key) {
                continue;
            }
            let of = key.clone();
            let tell = move |seen| News::Object(of.clone(), seen);
            let handle = self.watches.spawn(watch(self.shared.api.client(), resource, Some(namespace), tell, self.sender.clone()));
            self.informers.insert(key, handle);
        }
    }
}

/// What a panic says.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
