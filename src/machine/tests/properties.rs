//! What holds for every plan and every order of events.

use std::fmt;

use proptest::prelude::*;

use super::plans::{bindings, key, objects, plan};
use super::world::{Done, Live, World};
use crate::machine::{Event, duty, next, wake_at};
use crate::model::{
    Bindings, Cursor, Ending, Gate, Hold, HoldCause, Last, Outcome, Part, Phase, Plan, PlanStatus, Purpose, Request, Suspended, Verb,
};
use crate::plan::fixture;

/// Something that can happen.
#[derive(Debug, Clone)]
enum Op {
    Work(Done),
    Wait(u8),
    Approve,
    ApproveAnother,
    Jump(u32),
    Pause,
    Resume,
    Switch(bool),
    Abort,
    Retry,
    Same,
    Refresh(u8),
    Other,
    Back,
    Forth,
    Unmet,
    Fail(bool),
    Held,
    Vanish,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        48 => Just(Op::Work(Done::Recorded)),
        2 => Just(Op::Work(Done::Unrecorded)),
        2 => Just(Op::Work(Done::Half)),
        12 => (0..12_u8).prop_map(Op::Wait),
        12 => Just(Op::Approve),
        1 => Just(Op::ApproveAnother),
        5 => (0..6_u32).prop_map(Op::Jump),
        1 => Just(Op::Pause),
        1 => Just(Op::Resume),
        1 => any::<bool>().prop_map(Op::Switch),
        1 => Just(Op::Abort),
        1 => Just(Op::Retry),
        1 => Just(Op::Same),
        1 => (0..4_u8).prop_map(Op::Refresh),
        1 => Just(Op::Other),
        1 => Just(Op::Back),
        1 => Just(Op::Forth),
        1 => Just(Op::Unmet),
        1 => any::<bool>().prop_map(Op::Fail),
        1 => Just(Op::Held),
        1 => Just(Op::Vanish),
    ]
}

/// Two releases, the way back from the first, and everything that can happen.
#[derive(Clone)]
struct Script {
    first: Plan,
    other: Plan,
    ops: Vec<Op>,
}

/// Without the objects, which say nothing.
impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for plan in [&self.first, &self.other] {
            for step in &plan.spec.steps {
                let stages: Vec<String> = step.stages.iter().map(|stage| format!("{} {:?}", stage.write.len(), stage.awaits)).collect();
                writeln!(formatter, "{:?} {:?} {stages:?}", step.gate, step.deadline)?;
            }
        }
        write!(formatter, "{:?}", self.ops)
    }
}

fn script() -> impl Strategy<Value = Script> {
    let ops = prop::collection::vec(op(), 0..120);
    (plan("first"), plan("other"), ops).prop_map(|(first, other, ops)| Script { first, other, ops })
}

fn back(first: &Plan) -> Plan {
    let mut back = first.clone();
    back.spec.release = Some("back".to_owned());
    let original = first.spec.objects[&key(0).version(1)].clone();
    back.spec.objects.insert(key(0).version(2), original);
    back
}

fn play(script: &Script, mut check: impl FnMut(&World, &World, &Op)) -> World {
    let mut world = World::new(script.first.clone());
    for op in &script.ops {
        let before = world.clone();
        let turn = world.status.turn;
        let step = world.status.cursor.as_ref().map_or(0, |cursor| cursor.step);
        match op {
            Op::Work(done) => {
                world.work(*done);
            }
            Op::Wait(seconds) => world.wait(*seconds),
            Op::Approve => world.ask(Verb::Approve, step),
            Op::ApproveAnother => {
                world.ask(Verb::Approve, step + 1);
                let request = Request { verb: Verb::Approve, digest: "another".into(), step, id: "another".into() };
                world.tell(&Event::Asked(request));
            }
            Op::Jump(to) => world.ask(Verb::Jump, *to),
            Op::Pause => world.ask(Verb::Pause, 0),
            Op::Resume => world.ask(Verb::Resume, 0),
            Op::Switch(paused) => world.tell(&Event::Suspended { paused: *paused, disabled: false }),
            Op::Abort => world.ask(Verb::Abort, 0),
            Op::Retry => world.ask(Verb::Retry, 0),
            Op::Same => world.offer(),
            Op::Refresh(rendering) => {
                let mut plan = (*world.object).clone();
                let release = plan.spec.release.clone().unwrap_or_default();
                plan.spec.inputs = rendering.to_string();
                plan.spec.bindings = bindings(*rendering > 0);
                plan.spec.objects = objects(&release, &rendering.to_string());
                // The same release has the same templates.
                for version in 1..=2 {
                    let key = key(0).version(version);
                    let workload = world.object.spec.objects[&key].clone();
                    plan.spec.objects.insert(key, workload);
                }
                world.object = plan.into();
                world.offer();
            }
            Op::Other => {
                world.object = script.other.clone().into();
                world.offer();
            }
            Op::Back => {
                world.object = back(&script.first).into();
                world.offer();
            }
            Op::Forth => {
                world.object = script.first.clone().into();
                world.offer();
            }
            Op::Unmet => world.tell(&Event::Awaited { turn, unmet: vec!["pods".to_owned()] }),
            Op::Fail(permanent) => world.tell(&Event::Failed { reason: "no".to_owned(), permanent: *permanent }),
            // In mid-release it is waited for, or made again, which is the writes' own affair.
            Op::Vanish if world.status.is_at_rest() => {
                world.live.remove(&key(0));
                world.offer();
            }
            Op::Vanish => {}
            Op::Held => {
                let hold = Hold { cause: HoldCause::Differs, message: "it differs".to_owned() };
                world.tell(&Event::Checked { turn, result: Err(hold) });
            }
        }
        check(&before, &world, op);
    }
    world
}

/// Whether a gate was allowed to open.
fn may_open(before: &World, now: jiff::Timestamp, op: &Op) -> bool {
    let Some(cursor) = &before.status.cursor else { return false };
    let step = &before.plan().spec.steps[cursor.step as usize - 1];
    let is_over = match step.gate {
        Gate::Approval {} => false,
        Gate::Seconds(seconds) => now >= cursor.since + jiff::SignedDuration::from_secs(i64::from(seconds)),
        Gate::None {} => true,
    };
    let asked = matches!(op, Op::Approve | Op::Jump(_));
    is_over || asked || cursor.approved || cursor.goal.is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn at_each_gate_and_at_each_end_the_cluster_is_exactly_the_state_that_is_named(script in script()) {
        play(&script, |before, after, op| {
            let state = after.status.cursor.as_ref();
            match state.map(|cursor| (cursor.part, cursor.step)) {
                Some((Part::Gate, step)) => {
                    let versions = &after.plan().spec.steps[step as usize - 1].state;
                    assert_eq!(after.live, after.expected(versions, true), "{op:?} {:?}", after.status);
                }
                Some((Part::HandBack, _)) => {
                    let cursor = state.expect("a cursor");
                    match (after.originals(), cursor.ending.as_ref().map(|ending| ending.outcome)) {
                        (Some(_), Some(Outcome::Succeeded)) => {
                            assert_eq!(after.live, after.expected(&after.plan().spec.target, false));
                        }
                        (Some(originals), Some(Outcome::Aborted | Outcome::Superseded)) => {
                            assert_eq!(after.live, *originals);
                        }
                        (Some(_), None) => panic!("a release without an end {:?}", after.status),
                        (None, _) => {}
                    }
                }
                _ => {}
            }
            assert!(before.status.turn <= after.status.turn);
        });
    }

    #[test]
    fn no_gate_opens_by_itself(script in script()) {
        play(&script, |before, after, op| {
            let gate = before.status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate);
            let went_on = after.passed[before.passed.len()..].iter().any(|(part, _)| matches!(part, Part::Stages | Part::Finish));
            if gate.is_some() && went_on {
                assert!(may_open(before, after.now, op), "{op:?} {:?} {:?}", before.status, after.status);
                assert!(!before.status.suspended.is_paused() || matches!(op, Op::Resume | Op::Switch(false)), "paused: {op:?}");
            }
        });
    }

    #[test]
    fn while_paused_nothing_is_written_but_what_was_written_already(script in script()) {
        play(&script, |before, after, op| {
            let goes_back = |world: &World| world.status.cursor.as_ref().is_some_and(|cursor| matches!(cursor.part, Part::Abort | Part::AbortFinish));
            if matches!(op, Op::Work(_)) && before.status.suspended.is_paused() && !goes_back(before) {
                assert_eq!(before.live, after.live, "{op:?} {:?}", before.status);
            }
        });
    }

    #[test]
    fn what_only_the_cluster_knows_is_known_before_anything_needs_it(script in script()) {
        play(&script, |before, after, op| {
            let is_told = |world: &World| world.status.failure.as_ref().is_some_and(|failure| failure.reason.ends_with("is not known"));
            assert!(is_told(before) || !is_told(after), "{op:?} {:?}", after.status);
        });
    }

    #[test]
    fn an_aborted_release_begins_again_only_when_somebody_asks_for_it(script in script()) {
        play(&script, |before, after, op| {
            let is_same = before.status.release == after.status.release;
            if before.status.phase == Phase::Aborted && before.status.is_at_rest() && is_same && !matches!(op, Op::Retry) {
                assert_eq!(after.status.cursor, None, "{op:?} {:?}", before.status);
            }
        });
    }

    #[test]
    fn no_step_is_skipped(script in script()) {
        let world = play(&script, |_, _, _| {});
        for pair in world.passed.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if to.0 == Part::Stages {
                // A gate without a wait is passed within one move; the step itself is not.
                let is_next = matches!(from.0, Part::Gate | Part::Stages | Part::EnterFromAbove | Part::Reassert) && to.1 == from.1 + 1;
                assert!(is_next || (from.0 == Part::Capture && to.1 == 1), "{from:?} then {to:?}");
            }
            if to.0 == Part::Finish {
                assert!(matches!(from.0, Part::Gate | Part::Stages | Part::EnterFromAbove | Part::Reassert), "{from:?} then {to:?}");
            }
        }
    }

    #[test]
    fn a_finished_release_does_nothing(script in script()) {
        let mut world = play(&script, |_, _, _| {});
        world.ask(Verb::Resume, 0);
        world.tell(&Event::Suspended { paused: false, disabled: false });
        world.run_to_the_end();
        world.offer();
        let before = (world.live.clone(), world.status.clone());
        for _ in 0..3 {
            world.offer();
            world.wait(200);
            assert!(!world.work(Done::Recorded), "{:?}", world.status);
        }
        assert_eq!(before, (world.live, world.status));
    }

    #[test]
    fn abort_is_reachable_within_every_jump(first in plan("first"), up in 1..6_u32, down in 1..5_u32, done in 0..24_usize) {
        let mut world = World::new(first);
        for (to, actions) in [(up, 200), (down, done)] {
            for _ in 0..actions {
                world.work(Done::Recorded);
                world.wait(1);
                if world.status.cursor.as_ref().is_some_and(|cursor| cursor.part == Part::Gate && cursor.step < to) {
                    world.ask(Verb::Approve, world.status.cursor.as_ref().map_or(0, |cursor| cursor.step));
                }
            }
            world.ask(Verb::Jump, down);
        }
        let originals = world.originals().cloned().unwrap_or_else(|| world.live.clone());
        world.ask(Verb::Abort, 0);
        world.run_to_the_end();
        prop_assert!(matches!(world.status.phase, Phase::Aborted | Phase::Succeeded));
        prop_assert!(world.status.phase == Phase::Succeeded || world.live == originals);
        let is_aborted = world.passed.iter().any(|(part, _)| matches!(part, Part::Abort | Part::AbortFinish));
        prop_assert_eq!(is_aborted, world.status.phase == Phase::Aborted);
        prop_assert!(is_aborted || world.status.refused_request.is_some(), "{:?}", world.status);
    }

    #[test]
    fn abort_is_reachable_from_everywhere(script in script()) {
        let mut world = play(&script, |_, _, _| {});
        let was_writing_the_target = world.status.cursor.as_ref().is_none_or(|cursor| {
            matches!(cursor.purpose, Purpose::Create | Purpose::Settle) || cursor.ending.as_ref().is_some_and(|ending| ending.outcome == Outcome::Succeeded)
        });
        if !was_writing_the_target {
            let originals = world.originals().cloned().unwrap_or_else(|| world.live.clone());
            // Whatever git says now: this release ends first.
            world.object = world.plan();
            world.ask(Verb::Abort, 0);
            for _ in 0..200 {
                if world.status.is_at_rest() || world.status.cursor.as_ref().is_some_and(|cursor| cursor.part == Part::HandBack) {
                    break;
                }
                world.work(Done::Recorded);
                world.wait(10);
            }
            assert_eq!(world.live, originals, "{:?}", world.status);
        }
    }

    #[test]
    fn an_agent_killed_between_any_two_actions_ends_where_it_would_have_ended(
        first in plan("first"), ops in prop::collection::vec((op(), 0..3_u8), 0..40)
    ) {
        let quiet: Vec<Op> = ops.iter().map(|(op, _)| op.clone()).filter(|op| !matches!(op, Op::Work(_) | Op::Wait(_))).collect();
        let ends = |kills: &dyn Fn(usize, &mut World)| {
            let script = Script { first: first.clone(), other: first.clone(), ops: Vec::new() };
            let mut world = play(&script, |_, _, _| {});
            for (index, op) in quiet.iter().enumerate() {
                kills(index, &mut world);
                world.work(Done::Recorded);
                kills(index, &mut world);
                if let Op::Approve = op {
                    world.ask(Verb::Approve, world.status.cursor.as_ref().map_or(0, |cursor| cursor.step));
                } else if let Op::Abort = op {
                    world.ask(Verb::Abort, 0);
                } else if let Op::Jump(to) = op {
                    world.ask(Verb::Jump, *to);
                }
            }
            world.run_to_the_end();
            (world.live, world.passed, world.status.phase)
        };
        let undisturbed = ends(&|_, _| {});
        let killed = ends(&|index, world| match ops.get(index).map(|(_, kill)| kill) {
            Some(0) => { world.work(Done::Half); }
            Some(1) => { world.work(Done::Unrecorded); }
            _ => { world.work(Done::Half); world.work(Done::Half); world.work(Done::Unrecorded); }
        });
        prop_assert_eq!(undisturbed, killed);
    }

    #[test]
    fn nothing_panics_in_any_state_whatever_happens(status in any_status(), event in any_event(), second in any_event(), now in time(), plan in plan("first")) {
        let after = next(&plan, &status, &event, now);
        let after = next(&plan, &after, &second, now);
        let _ = duty(&plan, &after);
        let _ = wake_at(&plan, &after);
        let _ = duty(&plan, &status);
        let text = serde_json::to_string(&after).expect("text");
        prop_assert_eq!(serde_json::from_str::<PlanStatus>(&text).expect("a status"), after);
    }

    #[test]
    fn a_moment_to_wake_up_at_is_never_one_that_changes_nothing(script in script()) {
        play(&script, |_, after, _| {
            let mut world = after.clone();
            if let Some(at) = wake_at(&world.plan(), &world.status) {
                world.now = world.now.max(at);
                world.tell(&Event::Tick);
                assert_ne!(world.status.cursor, after.status.cursor, "{:?}", after.status);
            }
        });
    }
}

fn time() -> impl Strategy<Value = jiff::Timestamp> {
    prop_oneof![
        Just(jiff::Timestamp::UNIX_EPOCH),
        Just(jiff::Timestamp::MAX),
        Just(jiff::Timestamp::MIN),
        (0..2_000_i64).prop_map(|second| jiff::Timestamp::from_second(second).expect("a time")),
    ]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..7_u32, 1 => Just(u32::MAX)]
}

fn part() -> impl Strategy<Value = Part> {
    prop::sample::select(vec![
        Part::Check,
        Part::Capture,
        Part::Stages,
        Part::EnterFromAbove,
        Part::Reassert,
        Part::Gate,
        Part::Finish,
        Part::Settle,
        Part::Abort,
        Part::AbortFinish,
        Part::HandBack,
    ])
}

fn any_cursor() -> impl Strategy<Value = Cursor> {
    let purpose = prop::sample::select(vec![Purpose::Release, Purpose::Refresh, Purpose::Create, Purpose::Settle]);
    let outcome = prop::sample::select(vec![Outcome::Succeeded, Outcome::Aborted, Outcome::Superseded]);
    let ending = prop::option::of(outcome.prop_map(|outcome| Ending { outcome, reason: "x".into(), returns_to: None }));
    let flags = any::<(bool, bool, bool)>();
    ((part(), purpose, number(), number(), flags), (time(), time(), prop::option::of(time())), prop::option::of(number()), ending).prop_map(
        |((part, purpose, step, stage, (written, approved, late)), (since, entered, holding), goal, ending)| Cursor {
            purpose,
            step,
            stage,
            since,
            entered,
            written,
            holding,
            goal,
            approved,
            late,
            ending,
            ..super::cursor(part, 0, 0)
        },
    )
}

fn any_status() -> impl Strategy<Value = PlanStatus> {
    let text = prop::option::of(prop::sample::select(vec!["a", "first", "other"]).prop_map(str::to_owned));
    let outcome = prop::sample::select(vec![Outcome::Succeeded, Outcome::Aborted, Outcome::Superseded]);
    let last = prop::option::of((text.clone(), outcome, time()).prop_map(|(release, outcome, at)| Last {
        release: release.unwrap_or_default(),
        outcome,
        at,
        reason: String::new(),
        returns_to: None,
    }));
    let flags = any::<(bool, bool, bool)>();
    (prop::option::of(any_cursor()), text.clone(), text.clone(), text, last, flags, 0..3_u64).prop_map(
        |(cursor, digest, release, captured, last, (paused, disabled, asked), turn)| PlanStatus {
            cursor,
            digest,
            release,
            captured,
            last,
            turn,
            suspended: Suspended { paused, disabled, asked, since: None },
            ..PlanStatus::default()
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    let verb = prop::sample::select(vec![Verb::Approve, Verb::Pause, Verb::Resume, Verb::Abort, Verb::Retry, Verb::Jump]);
    let workload = prop::sample::select(vec![
        crate::machine::Workload::Missing,
        crate::machine::Workload::Elsewhere,
        crate::machine::Workload::AtTarget(crate::model::Bypass { manager: "m".into(), at: None }),
    ]);
    let texts = prop::sample::select(vec!["a", "first", "other"]);
    let offer = (texts.clone(), prop::option::of(texts.clone()), workload, any::<bool>(), any::<bool>()).prop_map(
        |(digest, release, workload, returns, drops)| {
            let release = release.map(str::to_owned);
            Event::Offered(crate::machine::Offer { generation: 1, digest: digest.to_owned(), release, workload, returns, drops })
        },
    );
    let asked = (verb, texts, number(), any::<bool>())
        .prop_map(|(verb, digest, step, id)| Event::Asked(Request { verb, digest: digest.to_owned(), step, id: id.to_string() }));
    prop_oneof![
        offer,
        asked,
        (0..3_u64).prop_map(|turn| Event::Checked { turn, result: Ok(Bindings::default()) }),
        (0..3_u64).prop_map(|turn| Event::Captured { turn, name: "k".to_owned() }),
        (0..3_u64).prop_map(|turn| Event::Written { turn }),
        (0..3_u64).prop_map(|turn| Event::Kept { turn }),
        (0..3_u64, any::<bool>()).prop_map(|(turn, met)| Event::Awaited { turn, unmet: if met { vec![] } else { vec!["x".into()] } }),
        (0..3_u64).prop_map(|turn| Event::HandedBack { turn }),
        Just(Event::Bound(Bindings { replicas: Some(3), ..Bindings::default() })),
        Just(Event::Tick),
        any::<(bool, bool)>().prop_map(|(paused, disabled)| Event::Suspended { paused, disabled }),
        Just(Event::Deleted),
        any::<bool>().prop_map(|permanent| Event::Failed { reason: "x".into(), permanent }),
    ]
}

/// The agent does the next thing, and whoever is at a gate approves it.
fn act(world: &mut World) {
    world.work(Done::Recorded);
    world.wait(5);
    if let Some(cursor) = world.status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate) {
        world.ask(Verb::Approve, cursor.step);
    }
}

/// What a release that is over has left, and which way it went.
fn ended(world: World) -> (Live, Phase, Vec<(Part, u32)>) {
    assert!(world.status.is_at_rest(), "{:?}", world.status);
    (world.live, world.status.phase, world.passed)
}

#[test]
fn killed_at_every_single_action_the_shipped_plan_ends_as_planned() {
    for done in [Done::Half, Done::Unrecorded] {
        for abort_after in [None, Some(1), Some(5), Some(9), Some(14)] {
            let run = |kill_at: Option<usize>| {
                let mut world = World::new(fixture());
                for action in 0..45 {
                    if kill_at == Some(action) {
                        world.work(done);
                    }
                    if abort_after == Some(action) {
                        world.ask(Verb::Abort, 0);
                    }
                    if world.status.is_at_rest() {
                        break;
                    }
                    act(&mut world);
                }
                ended(world)
            };
            let undisturbed = run(None);
            assert_eq!(undisturbed.1, if abort_after.is_some() { Phase::Aborted } else { Phase::Succeeded });
            for action in 0..28 {
                assert_eq!(run(Some(action)), undisturbed, "killed at {action}, {done:?}, abort after {abort_after:?}");
            }
        }
    }
}

#[test]
fn paused_at_every_single_action_and_resumed_the_shipped_plan_ends_as_planned() {
    let run = |pause_at: Option<usize>| {
        let mut world = World::new(fixture());
        for action in 0..45 {
            if pause_at == Some(action) {
                world.tell(&Event::Suspended { paused: true, disabled: false });
                let before = world.live.clone();
                for _ in 0..3 {
                    world.work(Done::Recorded);
                }
                assert_eq!(world.live, before, "written in the pause after action {action}: {:?}", world.status);
                world.tell(&Event::Suspended { paused: false, disabled: false });
            }
            act(&mut world);
        }
        ended(world)
    };
    let undisturbed = run(None);
    for action in 0..28 {
        assert_eq!(run(Some(action)), undisturbed, "paused at {action}");
    }
}
