//! Logs: one JSON object a line, on stderr.

use tracing_subscriber::EnvFilter;

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is none.
    #[error("`{filter}` says not how much is logged")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// Somebody logs already.
    #[error("logs are followed already")]
    Again,
}

/// Logs from now on what the filter lets through.
pub fn follow_logs(filter: &str) -> Result<(), LogError> {
    let filter = with_quiet_client(filter);
    let filter = EnvFilter::builder().parse(&filter).map_err(|source| LogError::Filter { filter: filter.clone(), source })?;
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_env_filter(filter).with_writer(std::io::stderr);
    subscriber.try_init().map_err(|_| LogError::Again)
}

/// The client logs each request that fails as an error, without its address. Who sent the request tells it too, with what
/// becomes of it. Whoever names the client in the filter gets both.
fn with_quiet_client(filter: &str) -> String {
    if filter.contains("kube") { filter.to_owned() } else { format!("{filter},kube_client::client::builder=off") }
}

#[cfg(test)]
mod tests {
    use super::with_quiet_client;

    #[test]
    fn the_client_is_heard_only_where_it_is_named() {
        assert_eq!(with_quiet_client("info"), "info,kube_client::client::builder=off");
        assert_eq!(with_quiet_client("warn,kube=debug"), "warn,kube=debug");
    }
}
