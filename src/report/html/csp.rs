//! What the page may do: nothing but its own style and its own script.

use crate::digest;

/// The policy for a page with this style and this script, for a `meta` element.
pub(super) fn policy(style: &str, script: &str) -> String {
    let (style, script) = (source(style), source(script));
    format!("default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'")
}

/// `'sha256-…'`: the element with exactly this text.
fn source(text: &str) -> String {
    let digest = digest::of_bytes(text.as_bytes());
    let digits = digest.trim_start_matches("sha256:").as_bytes();
    let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or_default();
    // Three bytes are six hexadecimal digits and four of base 64; the last two bytes of 32 are short of one.
    let mut encoded = String::new();
    for chunk in digits.chunks(6) {
        let value = chunk.iter().fold(0, |value, digit| value << 4 | nibble(*digit)) << (4 * (6 - chunk.len()));
        let kept = (chunk.len() * 4).div_ceil(6);
        for place in 0..4 {
            encoded.push(if place < kept { digit_64(value >> (18 - 6 * place) & 63) } else { '=' });
        }
    }
    format!("'sha256-{encoded}'")
}

fn digit_64(value: u32) -> char {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    usize::try_from(value).ok().and_then(|index| DIGITS.get(index)).map_or('=', |digit| char::from(*digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_named_by_its_digest_in_base_64() {
        assert_eq!(source("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }
}
