//! How each kind of workload brings in its new version.

pub(super) mod deployment;
