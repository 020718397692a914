//! Where kustomize and Flux (Go's yaml.v3) read a scalar otherwise than kubectl does.

use super::scalar::{self, Meaning};

/// What kustomize says to what it cannot read.
const REFUSED: &str = "an error";

/// What kustomize makes of a value that kubectl reads otherwise, as JSON; none where they agree.
pub(super) fn value(text: &str, tag: Option<&str>, is_plain: bool, meaning: &Meaning) -> Option<String> {
    match (tag, meaning) {
        // A lone `!` means a string to kubectl, and nothing to kustomize.
        (Some("!"), _) => {
            let meaning = scalar::plain(text);
            let bare = meaning.clone().value(|| text.to_owned()).filter(|bare| !bare.is_string()).map(|bare| bare.to_string());
            value(text, None, true, &meaning).or(bare)
        }
        // Only `true` and `false` are booleans to it.
        (_, Meaning::Boolean(_)) if is_word_of_old(text) => Some(if tag.is_some() { REFUSED.into() } else { format!("\"{text}\"") }),
        (_, Meaning::Timestamp) if is_plain || tag.is_some() => written(text).filter(|time| time != text).map(|time| format!("\"{time}\"")),
        (
            _,
            Meaning::Null
            | Meaning::Boolean(_)
            | Meaning::Number(_)
            | Meaning::NotFinite(_)
            | Meaning::Timestamp
            | Meaning::Text
            | Meaning::Decoded(_),
        ) => None,
    }
}

/// The same for a key. A key that is not a string to kustomize is an error to it, a quoted `<<` is dropped.
pub(super) fn key(text: &str, tag: Option<&str>, is_plain: bool, meaning: &Meaning) -> Option<String> {
    match meaning {
        Meaning::Boolean(_) if is_word_of_old(text) && tag.is_none() => Some(format!("\"{text}\"")),
        Meaning::Boolean(_) | Meaning::Number(_) | Meaning::NotFinite(_) | Meaning::Timestamp | Meaning::Null => Some(REFUSED.into()),
        Meaning::Text if text == "<<" && !is_plain => Some("nothing".into()),
        Meaning::Text | Meaning::Decoded(_) => None,
    }
}

fn is_word_of_old(text: &str) -> bool {
    !text.eq_ignore_ascii_case("true") && !text.eq_ignore_ascii_case("false")
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
