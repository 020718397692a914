//! Where kustomize and Flux (Go's yaml.v3) read a plain scalar otherwise than kubectl does.

use super::scalar::Meaning;

/// What kustomize makes of a plain scalar that kubectl reads otherwise, as JSON; none where they agree.
pub(super) fn reading(text: &str, meaning: &Meaning) -> Option<String> {
    match meaning {
        // Only `true` and `false` are booleans to it.
        Meaning::Boolean(_) if !text.eq_ignore_ascii_case("true") && !text.eq_ignore_ascii_case("false") => Some(format!("\"{text}\"")),
        Meaning::Timestamp => written(text).filter(|time| time != text).map(|time| format!("\"{time}\"")),
        Meaning::Null | Meaning::Boolean(_) | Meaning::Number(_) | Meaning::NotFinite(_) | Meaning::Text | Meaning::Decoded(_) => None,
    }
}

/// A date as kustomize writes it again: always with a time and a zone.
fn written(text: &str) -> Option<String> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let clock_end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(clock_end);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut parts = clock.split(':');
    let mut part = || parts.next().filter(|part| !part.is_empty()).unwrap_or("0");
    let (hour, minute, second) = (part(), part(), part());
    let point = if fraction.is_empty() { "" } else { "." };
    let zone = if matches!(zone, "" | "+00:00" | "-00:00") { "Z" } else { zone };
    Some(format!("{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute:0>2}:{second:0>2}{point}{fraction}{zone}"))
}
