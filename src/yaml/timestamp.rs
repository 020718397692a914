//! Which texts Go's YAML takes for a date or a time.

/// Whether the text is `2024-1-2`, or that with a time after `T`, `t` or a space. After a space there is no zone.
pub(super) fn is_timestamp(text: &str) -> bool {
    timestamp(text).is_some()
}

fn timestamp(text: &str) -> Option<()> {
    let (year, rest) = text.split_once('-')?;
    let (month, rest) = rest.split_once('-')?;
    let (day, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
    let year = (year.len() == 4).then(|| number(year, 4))??;
    let month = number(month, 2).filter(|month| (1..=12).contains(month))?;
    number(day, 2).filter(|day| (1..=days(year, month)).contains(day))?;
    match rest.as_bytes().first() {
        None => Some(()),
        Some(b'T' | b't') => zone(time(&rest[1..])?),
        Some(b' ') => time(&rest[1..])?.is_empty().then_some(()),
        Some(_) => None,
    }
}

/// Takes `15:4:5.999` off the front.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, rest) = rest.split_once(':')?;
    let (second, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
    number(hour, 2).filter(|hour| *hour < 24)?;
    number(minute, 2).filter(|minute| *minute < 60)?;
    number(second, 2).filter(|second| *second < 60)?;
    match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then(|| &fraction[digits..])
        }
        None => Some(rest),
    }
}

fn zone(text: &str) -> Option<()> {
    if text == "Z" {
        return Some(());
    }
    let (hour, minute) = text.strip_prefix(['+', '-'])?.split_once(':')?;
    let is_zone = hour.len() == 2 && minute.len() == 2 && number(hour, 2)? <= 24 && number(minute, 2)? < 60;
    is_zone.then_some(())
}

fn number(digits: &str, longest: usize) -> Option<u32> {
    let is_number = (1..=longest).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
