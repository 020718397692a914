//! Where a gateway sends a request: shares of Services, or of subsets of them.

/// A part of the traffic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backend {
    /// The Service's name.
    pub(crate) service: String,
    /// The subset that a DestinationRule defines.
    pub(crate) subset: Option<String>,
    /// From 0 to 1.
    pub(crate) share: f64,
}

/// Turns weights into shares; what has no weight gets nothing. No backend is left where all weights are zero.
pub(crate) fn shares(weighted: Vec<(String, Option<String>, f64)>) -> Vec<Backend> {
    let sum: f64 = weighted.iter().map(|(.., weight)| weight).sum();
    let share = |weight: f64| if sum > 0.0 { weight / sum } else { 0.0 };
    let backends = weighted.into_iter().map(|(service, subset, weight)| Backend { service, subset, share: share(weight) });
    backends.filter(|backend| backend.share > 0.0).collect()
}
