//! What the agent takes when there is nothing to do.

use std::thread;
use std::time::{Duration, Instant};

use crate::audit::{Asked, Audit, counted};
use crate::load::number_of;
use crate::rows::Rows;
use crate::subject::Subject;

/// How long the agent is looked at.
const WINDOW: Duration = Duration::from_mins(1);
/// How long nothing but the lease is asked for when the agent has come to rest.
const QUIET: Duration = Duration::from_secs(6);
/// How long it may take to come to rest.
const PATIENCE: Duration = Duration::from_mins(15);

/// Lets the agent see all plans for the first time, then starts it again, and measures that start and a minute of rest. It
/// runs on.
pub(crate) fn measure(agent: &mut Subject, audit: &Audit, plans: usize, is_wanted: bool, rows: &mut Rows) -> Result<(), String> {
    let start = audit.length();
    let time = settle(agent, audit, plans)?;
    if !is_wanted {
        return Ok(());
    }
    let first = agent.memory()?;
    let (most, each) = (20.0 * of(plans) / 1000.0, number_of(&audit.since(start), |asked| asked.verb != "watch") / of(plans));
    rows.at_most("new plans: start to rest", time.as_secs_f64(), most, "s");
    rows.at_most("new plans: requests of each", each, 4.0, "");
    rows.value("new plans: processor's time", agent.processor()?, "s");
    for (what, count) in counted(&audit.since(start)) {
        rows.say(&format!("    {count} × {what}"));
    }
    rows.at_most("new plans: peak", first.peak, 40.0, "MiB");
    rows.value("new plans: resident afterwards", first.resident, "MiB");
    agent.stop()?;

    let start = audit.length();
    let time = settle(agent, audit, plans)?;
    rows.value("known plans: start to rest", time.as_secs_f64(), "s");
    rows.value("known plans: processor's time", agent.processor()?, "s");
    rows.value("known plans: requests", requests(&audit.since(start), |_| true), "");
    rows.at_most("known plans: peak", agent.memory()?.peak, 40.0, "MiB");

    let (start, processor) = (audit.length(), agent.processor()?);
    thread::sleep(WINDOW);
    let (asked, processor) = (audit.since(start), agent.processor()? - processor);
    let memory = agent.memory()?;
    rows.at_most("at rest: resident", memory.resident, 25.0, "MiB");
    rows.value("at rest: of that not the program's file", memory.own, "MiB");
    rows.value("at rest: processor's time in a minute", processor, "s");
    rows.at_most("at rest: requests in a minute, watches and lease aside", requests(&asked, is_other), 0.0, "");
    rows.value("at rest: watches begun again in a minute", requests(&asked, |asked| asked.verb == "watch"), "");
    rows.value("at rest: requests for the lease in a minute", requests(&asked, |asked| asked.resource == "leases"), "");
    for (what, count) in counted(&asked) {
        rows.say(&format!("    {count} × {what}"));
    }
    Ok(())
}

/// Starts the agent and waits until it asks for nothing more. Returns how long it was at work.
pub(crate) fn settle(agent: &mut Subject, audit: &Audit, plans: usize) -> Result<Duration, String> {
    let (begin, mut seen) = (Instant::now(), audit.length());
    agent.start()?;
    let (mut count, mut last) = (0, Instant::now());
    while last.elapsed() < QUIET || count < plans.min(2) {
        thread::sleep(Duration::from_millis(200));
        let length = audit.length();
        if length > seen {
            let busy = audit.since(seen).into_iter().filter(|asked| asked.resource != "leases").count();
            if busy > 0 {
                (count, last) = (count + busy, Instant::now());
            }
            seen = length;
        }
        agent.memory()?;
        if begin.elapsed() > PATIENCE {
            return Err(format!("the agent did not come to rest within {} s", PATIENCE.as_secs()));
        }
    }
    Ok(last.duration_since(begin))
}

fn of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn is_other(asked: &Asked) -> bool {
    asked.verb != "watch" && asked.resource != "leases"
}

fn requests(all: &[Asked], is_meant: impl Fn(&Asked) -> bool) -> f64 {
    f64::from(u32::try_from(all.iter().filter(|asked| is_meant(asked)).count()).unwrap_or(u32::MAX))
}
