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
    let filter = EnvFilter::builder().parse(filter).map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_env_filter(filter).with_writer(std::io::stderr);
    subscriber.try_init().map_err(|_| LogError::Again)
}
