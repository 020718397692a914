//! What every code of a finding means: the first line says it in short, the rest tells the reason and the way out.
//!
//! Sorted by code. A test fails on a code of the source that is missing here.

/// Codes and their explanations.
pub const CODES: &[(&str, &str)] = &[];

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(CODES.is_sorted_by(|(left, _), (right, _)| left < right));
    }
}
