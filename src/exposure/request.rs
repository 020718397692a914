//! A request, as far as gateways look at it.

use std::collections::BTreeMap;
use std::fmt;

use super::condition::{Condition, Value, Verdict};
use crate::model::{Match, MatchKind, NamedMatch, PathKind};

/// The header that stands for a cookie in matches of an Ingress.
const COOKIE: &str = "canary-by-cookie";

/// A request. What it does not say is as unremarkable as can be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    pub(super) protocol: Protocol,
    pub(super) host: Option<Value>,
    pub(super) path: Value,
    pub(super) method: Option<Value>,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, Value>,
    pub(super) cookies: BTreeMap<String, String>,
    pub(super) query: BTreeMap<String, Value>,
    /// What else a rule asks for, as it is written there: `port: 80`.
    pub(super) facts: BTreeMap<String, String>,
}

/// What is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    /// Requests of HTTP.
    Http,
    /// Connections that say a server name.
    Tls,
    /// Connections.
    Tcp,
}

/// How matches are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// As they stand.
    Plain,
    /// One header means a cookie.
    Ingress,
}

impl Request {
    /// A request for `/` that asks for nothing special.
    pub(super) fn plain(protocol: Protocol) -> Self {
        Self {
            protocol,
            host: None,
            path: Value::Text("/".to_owned()),
            method: None,
            headers: BTreeMap::new(),
            cookies: BTreeMap::new(),
            query: BTreeMap::new(),
            facts: BTreeMap::new(),
        }
    }

    /// The same request, changed so that it satisfies a match of a step.
    pub(super) fn satisfying(&self, wanted: &Match, dialect: Dialect) -> Self {
        let mut request = self.clone();
        if let Some(path) = path_of(wanted).filter(|path| path.holds(Some(&self.path)) != Verdict::Yes) {
            request.path = path.example();
        }
        for header in &wanted.headers {
            if is_cookie(header, dialect) {
                request.cookies.insert(header.value.clone(), "always".to_owned());
            } else {
                request.headers.insert(header.name.to_lowercase(), condition_of(header).example());
            }
        }
        for parameter in &wanted.query_params {
            request.query.insert(parameter.name.clone(), condition_of(parameter).example());
        }
        request
    }

    /// Whether the request satisfies any of a step's matches.
    pub(super) fn satisfies(&self, matches: &[Match], dialect: Dialect) -> Verdict {
        if self.protocol != Protocol::Http {
            return Verdict::No;
        }
        Verdict::any(matches.iter().map(|wanted| {
            let path = path_of(wanted).map(|condition| condition.holds(Some(&self.path)));
            let headers = wanted.headers.iter().map(|header| {
                if is_cookie(header, dialect) {
                    return Verdict::from_claim(self.cookies.get(&header.value).is_some_and(|value| value == "always"));
                }
                condition_of(header).holds(self.headers.get(&header.name.to_lowercase()))
            });
            let query = wanted.query_params.iter().map(|named| condition_of(named).holds(self.query.get(&named.name)));
            Verdict::all(path.into_iter().chain(headers).chain(query))
        }))
    }
}

/// An expression names no cookie.
fn is_cookie(header: &NamedMatch, dialect: Dialect) -> bool {
    dialect == Dialect::Ingress && header.kind == MatchKind::Exact && header.name.eq_ignore_ascii_case(COOKIE)
}

fn path_of(wanted: &Match) -> Option<Condition<'_>> {
    wanted.path.as_ref().map(|path| match path.kind {
        PathKind::Exact => Condition::Exact(&path.value),
        PathKind::PathPrefix => Condition::Below(&path.value),
        PathKind::RegularExpression => Condition::Pattern(&path.value),
    })
}

fn condition_of(named: &NamedMatch) -> Condition<'_> {
    match named.kind {
        MatchKind::Exact => Condition::Exact(&named.value),
        MatchKind::RegularExpression => Condition::Pattern(&named.value),
    }
}

/// `GET /cart?beta=1 with version: canary`.
impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::Http => {
                if let Some(method) = &self.method {
                    write!(formatter, "{method} ")?;
                }
                if let Some(host) = &self.host {
                    write!(formatter, "{host}")?;
                }
                write!(formatter, "{}", self.path)?;
            }
            Protocol::Tls => formatter.write_str("a TLS connection")?,
            Protocol::Tcp => formatter.write_str("a TCP connection")?,
        }
        for (index, (name, value)) in self.query.iter().enumerate() {
            write!(formatter, "{}{name}={value}", if index == 0 { '?' } else { '&' })?;
        }
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let cookies = self.cookies.iter().map(|(name, value)| format!("cookie {name}={value}"));
        let facts = self.facts.iter().map(|(name, value)| format!("{name}: {value}"));
        let said: Vec<String> = headers.chain(cookies).chain(facts).collect();
        if said.is_empty() { Ok(()) } else { write!(formatter, " with {}", said.join(", ")) }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Fitting(pattern) => write!(formatter, "~{pattern}"),
        }
    }
}
