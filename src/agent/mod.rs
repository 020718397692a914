//! The in-cluster agent: watches plans, carries them out, records where they stand.
//!
//! What is to be done next is `machine`'s to say; here it is done. Nothing here knows a gateway.

mod agreed;
mod announce;
mod answer;
mod api;
mod attend;
mod availability;
mod capture;
mod check;
mod claims;
mod commands;
mod duty;
mod events;
mod fence;
mod fights;
mod glimpse;
mod hand_back;
mod happen;
mod health;
mod interest;
mod late;
mod lease;
mod listing;
mod logs;
mod look;
mod metrics;
mod objects;
mod observe;
mod offer;
mod other_controller;
mod publish;
mod record;
mod revisions;
mod rolled_out;
mod run;
mod served;
mod settled;
mod shared;
mod stuck;
mod supervise;
mod sweep;
mod tend;
mod tidings;
mod trouble;
mod unknown;
mod watch;
mod write;

pub use logs::{LogError, follow_logs};
pub use run::{ElectionOptions, Options, StartError, run, run_until};
