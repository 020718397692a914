//! Who gets the new version in a step, in words.

use crate::model::{Match, MatchKind, NamedMatch, PathKind, StepTraffic};

/// `20%`, `header version=canary`, `20%, and header version=canary`; alternatives with `or`.
pub(super) fn said(traffic: &StepTraffic) -> String {
    let matches = traffic.matches.iter().map(one_match).collect::<Vec<_>>().join(" or ");
    match (traffic.weight, matches.is_empty()) {
        (None, true) => "unchanged".into(),
        (None, false) => matches,
        (Some(weight), true) => format!("{weight}%"),
        (Some(weight), false) => format!("{weight}%, and {matches}"),
    }
}

fn one_match(conditions: &Match) -> String {
    let mut words = Vec::new();
    if let Some(path) = &conditions.path {
        let operator = match path.kind {
            PathKind::Exact => "=",
            PathKind::PathPrefix => "^=",
            PathKind::RegularExpression => "~",
        };
        words.push(format!("path {operator} {}", path.value));
    }
    words.extend(conditions.headers.iter().map(|header| named("header", header)));
    words.extend(conditions.query_params.iter().map(|parameter| named("query", parameter)));
    words.join(" and ")
}

fn named(noun: &str, condition: &NamedMatch) -> String {
    let operator = match condition.kind {
        MatchKind::Exact => "=",
        MatchKind::RegularExpression => "~",
    };
    format!("{noun} {}{operator}{}", condition.name, condition.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_said_as_people_say_it() {
        let header = |kind, value: &str| NamedMatch { kind, name: "version".into(), value: value.into() };
        let canary = Match { headers: vec![header(MatchKind::Exact, "canary")], ..Match::default() };
        let beta = Match { query_params: vec![header(MatchKind::RegularExpression, "b.*")], ..Match::default() };
        assert_eq!(said(&StepTraffic { weight: Some(20), matches: vec![] }), "20%");
        assert_eq!(said(&StepTraffic { weight: None, matches: vec![canary.clone(), beta] }), "header version=canary or query version~b.*");
        assert_eq!(said(&StepTraffic { weight: Some(0), matches: vec![canary] }), "0%, and header version=canary");
    }
}
