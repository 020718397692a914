//! A share of traffic in whole percent.

use std::fmt;

/// The new version's share of traffic, a whole percentage from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u8);

impl Weight {
    /// All traffic.
    pub const ALL: Self = Self(100);

    /// The percentage.
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// What is left for the stable version.
    pub const fn rest(self) -> u8 {
        100 - self.0
    }
}

impl TryFrom<i64> for Weight {
    type Error = String;

    fn try_from(percent: i64) -> Result<Self, String> {
        u8::try_from(percent)
            .ok()
            .filter(|percent| *percent <= 100)
            .map(Self)
            .ok_or_else(|| format!("a weight is a whole percentage from 0 to 100, not {percent}"))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.0)
    }
}
