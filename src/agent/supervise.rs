//! Which plans are attended to, and when each is woken. A plan at rest costs nothing but its key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Notify, Semaphore, watch as values};
use tokio::task::{AbortHandle, JoinSet};

use super::attend::{Attendance, Next, plans};
use super::claims::PlanKey;
use super::served::Resource;
use super::shared::Shared;
use super::trouble::Trouble;
use super::watch::{Seen, watch};

/// How many plans are worked on at the same time. Others wait for their turn, not for an answer.
const AT_ONCE: usize = 16;

/// The Rollouts of OpenKruise, by which people give commands.
fn rollouts() -> Resource {
    Resource::known("rollouts.kruise.io/v1beta1", "Rollout", "rollouts")
}

/// What a watch has told.
enum News {
    Plan(Seen),
    Rollout(Seen),
    Object(String, Seen),
}

/// How a plan's task is woken.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    /// Whether it was the plan or its Rollout that has changed.
    loud: AtomicBool,
    notify: Notify,
}

impl Bell {
    fn ring(&self, loud: bool) {
        self.rung.store(true, Ordering::Release);
        self.loud.fetch_or(loud, Ordering::AcqRel);
        self.notify.notify_one();
    }
}

/// Attends to all plans until it is dropped, with everything that it has begun.
pub(super) async fn supervise(shared: Arc<Shared>, namespaces: Vec<String>) {
    let (sender, receiver) = mpsc::channel(256);
    let mut watches = JoinSet::new();
    let places = if namespaces.is_empty() { vec![None] } else { namespaces.into_iter().map(Some).collect() };
    for place in &places {
        let client = shared.api.client();
        watches.spawn(watch(client.clone(), plans(), place.clone(), News::Plan, sender.clone()));
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
        marks: BTreeMap::new(),
        told: BTreeSet::new(),
        unexamined: BTreeSet::new(),
        lists_left: places.len(),
        examined: Arc::new(examined),
        turns: Arc::new(Semaphore::new(AT_ONCE)),
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
    /// What was seen of each plan.
    marks: BTreeMap<PlanKey, String>,
    /// The plans of the list that is being told.
    told: BTreeSet<PlanKey>,
    /// Plans that were there from the beginning and whose claims are not known yet.
    unexamined: BTreeSet<PlanKey>,
    lists_left: usize,
    examined: Arc<values::Sender<bool>>,
    turns: Arc<Semaphore>,
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
            News::Plan(Seen::There(plan)) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                self.told.insert(key.clone());
                if self.marks.get(&key) != Some(&plan.mark) {
                    self.marks.insert(key.clone(), plan.mark);
                    if self.lists_left > 0 {
                        self.unexamined.insert(key.clone());
                    }
                    self.wake(&key);
                }
            }
            News::Plan(Seen::Gone(plan)) => {
                let key = PlanKey { namespace: plan.namespace, name: plan.name };
                self.marks.remove(&key);
                self.wake(&key);
            }
            News::Plan(Seen::All) => {
                if self.lists_left > 0 {
                    self.lists_left -= 1;
                    self.examine();
                }
                let told = std::mem::take(&mut self.told);
                // What vanished while nobody watched. Watches of single namespaces may tell of others too often: harmless.
                let vanished: Vec<PlanKey> = self.marks.keys().filter(|key| !told.contains(key)).cloned().collect();
                for key in vanished {
                    self.wake(&key);
                }
            }
            // A plan has its Rollout's name.
            News::Rollout(Seen::There(rollout) | Seen::Gone(rollout)) => {
                let key = PlanKey { namespace: rollout.namespace.clone(), name: rollout.name };
                if self.marks.contains_key(&key) {
                    self.wake(&key);
                }
                for key in self.shared.interests.concerned(&rollout.namespace, &rollout.names) {
                    self.wake(&key);
                }
            }
            News::Object(namespace, Seen::There(object) | Seen::Gone(object)) => {
                for key in self.shared.interests.concerned(&namespace, &object.names) {
                    self.ring(&key, false);
                }
            }
            News::Rollout(Seen::All) | News::Object(_, Seen::All) => {}
        }
    }

    fn wake(&mut self, key: &PlanKey) {
        self.ring(key, true);
    }

    fn ring(&mut self, key: &PlanKey, loud: bool) {
        if let Some(bell) = self.bells.get(key) {
            bell.ring(loud);
            return;
        }
        let bell = Arc::new(Bell::default());
        self.bells.insert(key.clone(), Arc::clone(&bell));
        let looked = Arc::new(Notify::new());
        let task =
            attend(Arc::clone(&self.shared), key.clone(), bell, Arc::clone(&self.turns), self.examined.subscribe(), Arc::clone(&looked));
        let key = key.clone();
        if self.unexamined.contains(&key) {
            let key = key.clone();
            self.tasks.spawn(async move {
                looked.notified().await;
                (key, Report::Examined)
            });
        }
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
                if bell.is_some_and(|bell| bell.rung.load(Ordering::Acquire)) {
                    self.wake(key);
                }
            }
        }
    }

    /// Lets checks begin as soon as everything that is claimed is known.
    fn examine(&mut self) {
        if self.lists_left == 0 && self.unexamined.is_empty() {
            self.examined.send_replace(true);
        }
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

/// Attends to one plan until it is at rest.
async fn attend(
    shared: Arc<Shared>,
    key: PlanKey,
    bell: Arc<Bell>,
    turns: Arc<Semaphore>,
    mut examined: values::Receiver<bool>,
    looked: Arc<Notify>,
) {
    let mut attendance = Attendance::new(Arc::clone(&shared), key.clone());
    let mut failed = 0;
    if !*examined.borrow() {
        loop {
            let result = match turns.acquire().await {
                Ok(_turn) => attendance.look().await,
                Err(_) => return,
            };
            match result {
                Ok(_) => break,
                Err(trouble) => pause(&shared, &key, &trouble, &mut failed).await,
            }
        }
        looked.notify_one();
        if examined.wait_for(|examined| *examined).await.is_err() {
            return;
        }
    }
    loop {
        bell.rung.store(false, Ordering::Release);
        bell.loud.store(false, Ordering::Release);
        let result = match turns.acquire().await {
            Ok(_turn) => attendance.pass(|| bell.rung.load(Ordering::Acquire)).await,
            Err(_) => return,
        };
        match result {
            Ok(Next::Rest) | Err(Trouble::NotLeader) => return,
            Ok(Next::Wait(time)) => {
                failed = 0;
                let _ = tokio::time::timeout(time, bell.notify.notified()).await;
            }
            Ok(Next::Pause(time)) => {
                failed = 0;
                let loudly = async {
                    while !bell.loud.load(Ordering::Acquire) {
                        bell.notify.notified().await;
                    }
                };
                let _ = tokio::time::timeout(time, loudly).await;
            }
            Err(trouble) => pause(&shared, &key, &trouble, &mut failed).await,
        }
    }
}

/// A moment that grows with each failure in a row. A conflict only means to look again.
async fn pause(shared: &Shared, key: &PlanKey, trouble: &Trouble, failed: &mut u32) {
    *failed += 1;
    shared.metrics.failed();
    let is_conflict = matches!(trouble, Trouble::Conflict(_)) && *failed < 5;
    let time = if is_conflict { Duration::from_millis(20) } else { Duration::from_millis(250) * 2_u32.pow((*failed).min(7)) };
    tracing::warn!(plan = %key, %trouble, seconds = time.as_secs_f64(), "tried again");
    tokio::time::sleep(time).await;
}
