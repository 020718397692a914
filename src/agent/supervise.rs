//! Which plans are attended to, and when each is woken. A plan at rest costs nothing but its key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Semaphore, watch as values};
use tokio::task::{AbortHandle, JoinSet};

use super::attend::plans;
use super::claims::PlanKey;
use super::listing::{Listing, Place};
use super::served::Resource;
use super::shared::Shared;
use super::tend::{Bell, First, tend};
use super::watch::{Seen, watch};

/// How many plans are worked on at the same time. Others wait for their turn, not for an answer.
const AT_ONCE: usize = 16;
/// How many plans that were there from the beginning are looked at for the first time at the same time: as many are held at
/// once when the agent starts. Those in mid-release wait for nobody.
const FIRST_AT_ONCE: usize = 2;

/// The Rollouts of OpenKruise, by which people give commands.
pub(super) fn rollouts() -> Resource {
    Resource::known("rollouts.kruise.io/v1beta1", "Rollout", "rollouts")
}

/// What a watch has told.
enum News {
    Plan(Place, Seen),
    Rollout(Seen),
    Object(String, Seen),
}

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
        watches.spawn(watch(client, rollouts(), place.clone(), News::Rollout, sender.clone()));
    }
    let (examined, _) = values::channel(false);
    let supervisor = Supervisor {
        shared,
        sender,
        watches,
        informers: BTreeMap::new(),
        tasks: JoinSet::new(),
        bells: BTreeMap::new(),
        listing: Listing::of(&places),
        unexamined: BTreeSet::new(),
        examined: Arc::new(examined),
        turns: Arc::new(Semaphore::new(AT_ONCE)),
        first_turns: Arc::new(Semaphore::new(FIRST_AT_ONCE)),
    };
    supervisor.run(receiver).await;
}

struct Supervisor {
    shared: Arc<Shared>,
    sender: Sender<News>,
    watches: JoinSet<()>,
    informers: BTreeMap<(String, Resource), AbortHandle>,
    tasks: JoinSet<(PlanKey, Report)>,
    bells: BTreeMap<PlanKey, Arc<Bell>>,
    listing: Listing,
    /// Plans that were there from the beginning and whose claims are not known yet.
    unexamined: BTreeSet<PlanKey>,
    examined: Arc<values::Sender<bool>>,
    turns: Arc<Semaphore>,
    first_turns: Arc<Semaphore>,
}

/// How a task ended.
enum Report {
    /// Its claims are entered, and it goes on by itself: told by a task of its own that only waits for that.
    Examined,
    /// There is nothing more to do.
    Over,
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
            // A plan has its Rollout's name.
            News::Rollout(Seen::There(rollout) | Seen::Gone(rollout)) => {
                let key = PlanKey { namespace: rollout.namespace.clone(), name: rollout.name };
                if self.listing.knows(&key) {
                    self.wake(&key);
                }
                for key in self.shared.interests.concerned(&rollout.namespace, &rollout.names) {
                    self.wake(&key);
                }
            }
            News::Object(namespace, Seen::There(object) | Seen::Gone(object)) => {
                for key in self.shared.interests.concerned(&namespace, &object.names) {
                    self.ring(&key, false, true);
                }
            }
            News::Rollout(Seen::Begins | Seen::All | Seen::Refused) | News::Object(_, Seen::Begins | Seen::All | Seen::Refused) => {}
        }
    }

    fn hear_of_plan(&mut self, place: &Place, seen: Seen) {
        match seen {
            Seen::Begins => self.listing.begins(place),
            Seen::There(plan) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                let is_first = self.listing.is_first(place);
                if self.listing.there(place, &key, plan.mark) {
                    if is_first && !self.bells.contains_key(&key) {
                        self.unexamined.insert(key.clone());
                        self.examine();
                    }
                    self.ring(&key, true, plan.is_running);
                }
            }
            Seen::Gone(plan) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                self.listing.gone(&key);
                self.wake(&key);
            }
            Seen::All => {
                let vanished = self.listing.all(place);
                self.examine();
                for key in vanished {
                    self.wake(&key);
                }
            }
            Seen::Refused => {
                self.listing.refused(place);
                self.examine();
            }
        }
    }

    fn wake(&mut self, key: &PlanKey) {
        self.ring(key, true, false);
    }

    fn ring(&mut self, key: &PlanKey, loud: bool, is_running: bool) {
        if let Some(bell) = self.bells.get(key) {
            bell.ring(loud);
            return;
        }
        let bell = Arc::new(Bell::default());
        self.bells.insert(key.clone(), Arc::clone(&bell));
        let first = self
            .unexamined
            .contains(key)
            .then(|| First { turns: (!is_running).then(|| Arc::clone(&self.first_turns)), looked: Arc::default() });
        if let Some(first) = &first {
            let (key, looked) = (key.clone(), Arc::clone(&first.looked));
            self.tasks.spawn(async move {
                looked.notified().await;
                (key, Report::Examined)
            });
        }
        let task = tend(Arc::clone(&self.shared), key.clone(), bell, Arc::clone(&self.turns), self.examined.subscribe(), first);
        let key = key.clone();
        self.tasks.spawn(async move {
            task.await;
            (key, Report::Over)
        });
    }

    fn ended(&mut self, key: &PlanKey, report: &Report) {
        match report {
            Report::Examined => {
                self.unexamined.remove(key);
                self.examine();
            }
            Report::Over => {
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
        self.informers.retain(|key, handle| {
            let is_wanted = wanted.contains(key);
            if !is_wanted {
                handle.abort();
            }
            is_wanted
        });
        while self.watches.try_join_next().is_some() {}
        for (namespace, resource) in wanted {
            let key = (namespace.clone(), resource.clone());
            if self.informers.contains_key(&key) {
                continue;
            }
            let of = namespace.clone();
            let tell = move |seen| News::Object(of.clone(), seen);
            let handle = self.watches.spawn(watch(self.shared.api.client(), resource, Some(namespace), tell, self.sender.clone()));
            self.informers.insert(key, handle);
        }
    }
}
