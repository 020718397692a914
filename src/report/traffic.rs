//! Which requests get the new version in a step, in words.

use crate::model::{Match, MatchKind, NamedMatch, PathKind};

/// `path ^= /cart and header version=canary`; `every request` where nothing is asked of it.
pub(super) fn said(conditions: &Match) -> String {
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
    if words.is_empty() {
        return "every request".into();
    }
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
    use crate::model::PathMatch;

    #[test]
    fn conditions_are_said_as_people_say_them() {
        let named = |kind, value: &str| NamedMatch { kind, name: "version".into(), value: value.into() };
        let both = Match {
            path: Some(PathMatch { kind: PathKind::PathPrefix, value: "/cart".into() }),
            headers: vec![named(MatchKind::Exact, "canary")],
            query_params: vec![named(MatchKind::RegularExpression, "b.*")],
        };
        assert_eq!(said(&both), "path ^= /cart and header version=canary and query version~b.*");
        assert_eq!(said(&Match::default()), "every request");
    }
}
