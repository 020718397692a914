//! Numbers: Lua's doubles as JSON, and as the text that Go writes for them.

use serde_json::Number;

/// Returns the JSON number, an integer where the double is a whole one; nothing for what is not finite.
pub(super) fn of_double(double: f64) -> Option<Number> {
    // Two to the power of 63: beyond it a whole double is no `i64`.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if double.fract() == 0.0 && (-LIMIT..LIMIT).contains(&double) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
        return Some(Number::from(double as i64));
    }
    Number::from_f64(double)
}

/// Returns the text of a finite double as Go's `encoding/json` writes it.
pub(super) fn go_text(double: f64) -> String {
    let magnitude = double.abs();
    if double == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&magnitude) {
        return format!("{double}");
    }
    let text = format!("{double:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_go_writes() {
        for (double, text) in [
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1e-7, "1e-7"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "0"),
            (-5.0, "-5"),
        ] {
            assert_eq!(go_text(double), text);
        }
    }
}
