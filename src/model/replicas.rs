//! How many pods of the new version a step wants: a number, or a share of the workload's replicas.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A positive number of pods, or a percentage from 1 to 100 of the workload's replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replicas {
    /// So many pods; more than the workload has means all of them.
    Count(u32),
    /// This percentage of the workload's replicas, rounded up.
    Percent(u8),
}

impl Replicas {
    /// The number of pods out of `total`: rounded up, never more than `total`.
    pub fn of(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count.min(total),
            Self::Percent(percent) => {
                let pods = (u64::from(percent) * u64::from(total)).div_ceil(100);
                u32::try_from(pods).unwrap_or(total).min(total)
            }
        }
    }

    /// The same where `total` may be unknown: then only a number is known.
    pub fn of_known(self, total: Option<u32>) -> Option<u32> {
        match (self, total) {
            (replicas, Some(total)) => Some(replicas.of(total)),
            (Self::Count(count), None) => Some(count),
            (Self::Percent(_), None) => None,
        }
    }
}

impl TryFrom<&serde_json::Value> for Replicas {
    type Error = String;

    fn try_from(value: &serde_json::Value) -> Result<Self, String> {
        let refused = || format!("replicas are a number of at least 1 or a percentage from 1% to 100%, not {value}");
        if let Some(count) = value.as_i64() {
            return u32::try_from(count).ok().filter(|count| *count > 0).map(Self::Count).ok_or_else(refused);
        }
        let percent = value.as_str().and_then(|text| text.strip_suffix('%')).ok_or_else(refused)?;
        let percent: u8 = percent.strip_prefix('+').unwrap_or(percent).parse().map_err(|_| refused())?;
        if (1..=100).contains(&percent) { Ok(Self::Percent(percent)) } else { Err(refused()) }
    }
}

impl fmt::Display for Replicas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(formatter, "{count}"),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}

/// Written as users write it: `3` or `20%`.
impl Serialize for Replicas {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Replicas {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::try_from(&value).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Replicas {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Replicas".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of pods, or a percentage of the workload's replicas, rounded up.",
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^(100|[1-9][0-9]?)%$"}],
            "x-kubernetes-int-or-string": true
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Replicas;

    #[track_caller]
    fn case(written: &serde_json::Value, total: u32, expected: u32) {
        assert_eq!(Replicas::try_from(written).map(|replicas| replicas.of(total)), Ok(expected));
    }

    #[test]
    fn percentages_round_up_and_counts_stop_at_the_total() {
        case(&json!("20%"), 10, 2);
        case(&json!("33%"), 3, 1);
        case(&json!("90%"), 3, 3);
        case(&json!("1%"), 1, 1);
        case(&json!("1%"), 0, 0);
        case(&json!(5), 10, 5);
        case(&json!(200), 10, 10);
    }

    #[test]
    fn of_an_unknown_total_a_number_is_known_and_a_share_is_not() {
        assert_eq!(Replicas::Count(3).of_known(None), Some(3));
        assert_eq!(Replicas::Percent(30).of_known(None), None);
        assert_eq!(Replicas::Count(3).of_known(Some(2)), Some(2));
        assert_eq!(Replicas::Percent(30).of_known(Some(4)), Some(2));
    }

    #[test]
    fn nonsense_is_refused_with_what_was_written() {
        for written in [json!(0), json!(-1), json!("0%"), json!("101%"), json!("20"), json!("2.5%"), json!(2.5), json!(null)] {
            let error = Replicas::try_from(&written).expect_err("not replicas");
            assert!(error.contains(&written.to_string()), "{error}");
        }
    }
}
