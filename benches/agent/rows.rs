//! What was measured, beside what it may be.

use std::fs;

/// All rows that were measured.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    missed: usize,
}

impl Rows {
    /// Tells something that has no budget.
    #[expect(clippy::unused_self, reason = "all that is told goes the same way")]
    pub(crate) fn say(&self, text: &str) {
        println!("{text}");
    }

    /// Tells a value that may be at most so much.
    pub(crate) fn at_most(&mut self, name: &str, value: f64, most: f64, unit: &str) {
        let is_met = value <= most;
        self.missed += usize::from(!is_met);
        let verdict = if is_met { "met" } else { "NOT MET" };
        println!("{name:<64} {value:>9.2} {unit:<8} budget {most:>6.2}  {verdict}");
    }

    /// Tells a value without a budget.
    #[expect(clippy::unused_self, reason = "all that is told goes the same way")]
    pub(crate) fn value(&self, name: &str, value: f64, unit: &str) {
        println!("{name:<64} {value:>9.2} {unit}");
    }

    /// Whether no budget was missed.
    pub(crate) fn are_met(&self) -> bool {
        if self.missed > 0 {
            println!("{} not met", self.missed);
        }
        self.missed == 0
    }
}

/// How many processes wanted a processor in the last minute, on average.
pub(crate) fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

/// The middle one.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The least one.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The greatest one.
pub(crate) fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}
