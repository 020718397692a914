//! Whether a gateway's script can express what a step asks for. Asked before the script runs.

use crate::model::{Finding, Gateway, GatewayRef, HeaderModifierSupport, Match, NamedMatch, Role, Step};

/// Adds a finding for everything that the step asks of the gateway and its script cannot say.
pub(super) fn check(gateway: &Gateway, reference: &GatewayRef, number: usize, step: &Step, findings: &mut Vec<Finding>) {
    match gateway.role {
        Role::Definition => return,
        Role::Route => {}
    }
    let object = format!("{}/{}", reference.kind, reference.name);
    let mut refuse = |message: String, help: &str| {
        let finding = Finding::error("step-beyond-gateway", format!("step {number}: {message}"));
        findings.push(finding.at(&step.place.path, step.place.position).about(&object).help(help));
    };
    let support = &gateway.matches;
    let traffic = &step.traffic;
    if traffic.weight.is_some() && gateway.weights.is_none() {
        refuse(format!("{object} cannot split traffic by weight"), "use `matches`, or a gateway that knows weights");
    }
    if support.max_matches.is_some_and(|most| traffic.matches.len() > most) {
        let most = support.max_matches.unwrap_or_default();
        refuse(
            format!("{object} takes at most {} of the {} matches in one step", most, traffic.matches.len()),
            "split the step, or put the conditions into one expression",
        );
    }
    for matched in &traffic.matches {
        for what in inexpressible(gateway, matched) {
            refuse(format!("{object} cannot match requests by {what}"), "`rollout gateways` lists what each gateway can match");
        }
    }
    let modifies = step.header_modifier.is_some();
    let can_modify = match gateway.header_modifier {
        HeaderModifierSupport::Never => false,
        HeaderModifierSupport::Matches => !traffic.matches.is_empty(),
        HeaderModifierSupport::Always => true,
    };
    if modifies && !can_modify {
        match gateway.header_modifier {
            HeaderModifierSupport::Matches => refuse(
                format!("{object} changes request headers only in steps with `matches`"),
                "take `requestHeaderModifier` out, or give the step `matches`",
            ),
            HeaderModifierSupport::Never | HeaderModifierSupport::Always => {
                refuse(format!("{object} cannot change request headers"), "take `requestHeaderModifier` out");
            }
        }
    }
    if !support.with_weight && traffic.weight.is_some() && !traffic.matches.is_empty() {
        findings.push(
            Finding::warning(
                "weight-beside-matches",
                format!("step {number}: {object} takes the matches and ignores the weight beside them"),
            )
            .at(&step.place.path, step.place.position)
            .about(&object)
            .help("split the step in two, or take `traffic` out of it"),
        );
    }
}

fn inexpressible(gateway: &Gateway, matched: &Match) -> Vec<String> {
    let support = &gateway.matches;
    let mut what = Vec::new();
    if let Some(path) = matched.path.as_ref().filter(|path| !support.path.contains(&path.kind)) {
        what.push(format!("path ({:?} `{}`)", path.kind, path.value));
    }
    let is_cookie = |header: &NamedMatch| support.cookie_header.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&header.name));
    for header in &matched.headers {
        let (sort, supported) = match &support.cookies {
            Some(cookies) if is_cookie(header) => ("cookie", cookies),
            Some(_) | None => ("header", &support.headers),
        };
        if !supported.contains(&header.kind) {
            what.push(format!("{sort} ({:?} `{}`)", header.kind, if sort == "cookie" { &header.value } else { &header.name }));
        }
    }
    for parameter in matched.query_params.iter().filter(|parameter| !support.query_params.contains(&parameter.kind)) {
        what.push(format!("query parameter ({:?} `{}`)", parameter.kind, parameter.name));
    }
    let conditions = matched.headers.len() + matched.query_params.len() + usize::from(matched.path.is_some());
    if let Some(most) = support.max_conditions.filter(|most| conditions > *most) {
        what.push(format!("{conditions} conditions at once, only {most}"));
    }
    what
}
