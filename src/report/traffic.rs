//! Which requests get the new version in a step, in words.

use crate::model::{Match, MatchKind, NamedMatch, PathKind, ScriptUse};

/// What scripts for Ingresses are called.
const INGRESS: &str = "trafficrouting_ingress/";

/// The header that names a cookie in matches of an Ingress.
const COOKIE: &str = "canary-by-cookie";

/// `path ^= /cart and header version=canary`, `cookie demo`; `every request` where nothing is asked of it. The scripts are those
/// that split the traffic.
pub(super) fn said(conditions: &Match, scripts: &[ScriptUse]) -> String {
    let has_cookies = !scripts.is_empty() && scripts.iter().all(|script| script.script.starts_with(INGRESS));
    let mut words = Vec::new();
    if let Some(path) = &conditions.path {
        let operator = match path.kind {
            PathKind::Exact => "=",
            PathKind::PathPrefix => "^=",
            PathKind::RegularExpression => "~",
        };
        words.push(format!("path {operator} {}", path.value));
    }
    words.extend(conditions.headers.iter().map(|header| {
        let is_cookie = has_cookies && header.name.eq_ignore_ascii_case(COOKIE);
        if is_cookie { format!("cookie {}", header.value) } else { named("header", header) }
    }));
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
    use crate::model::{ObjectKey, PathMatch};

    #[test]
    fn conditions_are_said_as_people_say_them() {
        let named = |kind, value: &str| NamedMatch { kind, name: "version".into(), value: value.into() };
        let both = Match {
            path: Some(PathMatch { kind: PathKind::PathPrefix, value: "/cart".into() }),
            headers: vec![named(MatchKind::Exact, "canary")],
            query_params: vec![named(MatchKind::RegularExpression, "b.*")],
        };
        assert_eq!(said(&both, &[]), "path ^= /cart and header version=canary and query version~b.*");
        assert_eq!(said(&Match::default(), &[]), "every request");
    }

    #[test]
    fn a_header_of_an_ingress_may_mean_a_cookie() {
        let header = NamedMatch { kind: MatchKind::Exact, name: "Canary-By-Cookie".into(), value: "demo".into() };
        let wanted = Match { headers: vec![header], ..Match::default() };
        let script = |name: &str| ScriptUse { object: ObjectKey::new("Any", "shop"), script: name.into(), sha256: String::new() };
        assert_eq!(said(&wanted, &[script("trafficrouting_ingress/nginx")]), "cookie demo");
        assert_eq!(said(&wanted, &[script("networking.istio.io/VirtualService")]), "header Canary-By-Cookie=demo");
    }
}
