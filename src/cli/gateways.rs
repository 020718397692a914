//! `rollout gateways`: the kinds of traffic objects that can be rewritten, and what each can do.

use serde_json::json;

use crate::discover;
use crate::model::{Gateway, HeaderModifierSupport, Role, hidden};
use crate::report;

use super::{Answer, Failure, World};

/// Lists the kinds of gateway objects that ship with the program, and what each can do
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table for people
    Text,
    /// A list for programs
    Json,
}

/// Prints the list.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let gateways = discover::shipped_gateways();
    let text = match args.format {
        Format::Text => {
            let mut rows = vec![["gateway", "role", "weights", "matches", "headers changed"].map(str::to_owned)];
            for (name, gateway) in gateways {
                rows.push([name.clone(), role(gateway).into(), weights(gateway), matches(gateway).join(", "), modifier(gateway).into()]);
            }
            report::table(&rows, world.stdout_colors)
        }
        Format::Json => {
            let list: Vec<_> = gateways
                .iter()
                .map(|(name, gateway)| {
                    json!({
                        "name": name,
                        "role": role(gateway),
                        "weights": gateway.weights.is_some(),
                        "matches": matches(gateway),
                        "headerModifier": modifier(gateway),
                    })
                })
                .collect();
            hidden::pretty_json(&json!(list))
        }
    };
    world.stdout.write_all(text.as_bytes())?;
    Ok(Answer::Yes)
}

fn role(gateway: &Gateway) -> &'static str {
    match gateway.role {
        Role::Definition => "definition",
        Role::Route => "route",
    }
}

fn weights(gateway: &Gateway) -> String {
    if gateway.weights.is_some() { "yes".into() } else { "no".into() }
}

fn matches(gateway: &Gateway) -> Vec<&'static str> {
    let support = &gateway.matches;
    let kinds = [
        (!support.headers.is_empty(), "headers"),
        (!support.query_params.is_empty(), "query"),
        (!support.path.is_empty(), "path"),
        (support.cookie_header.is_some(), "cookie"),
    ];
    kinds.into_iter().filter(|(is_there, _)| *is_there).map(|(_, kind)| kind).collect()
}

fn modifier(gateway: &Gateway) -> &'static str {
    match gateway.header_modifier {
        HeaderModifierSupport::Never => "never",
        HeaderModifierSupport::Matches => "in steps with matches",
        HeaderModifierSupport::Always => "in every step",
    }
}
