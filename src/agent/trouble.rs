//! What can go wrong between us and the API server, by what to do about it.

use std::time::Duration;

/// Why the API server did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// There is no such object, namespace or resource.
    #[error("{0}")]
    NotFound(String),
    /// The object has changed since it was read, or is being deleted.
    #[error("{0}")]
    Conflict(String),
    /// An object of this name exists already.
    #[error("{0}")]
    Exists(String),
    /// What we watched or listed is too old by now.
    #[error("{0}")]
    Expired(String),
    /// We may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The namespace is being deleted, or does not exist: nothing new is taken.
    #[error("{0}")]
    NamespaceGone(String),
    /// The API server, or something that it asks, refuses the content.
    #[error("{0}")]
    Refused(String),
    /// Too many requests.
    #[error("{message}")]
    Busy {
        /// What the API server says.
        message: String,
        /// When to come back.
        after: Option<Duration>,
    },
    /// No answer, a broken one, or an error inside the API server.
    #[error("{0}")]
    Unreachable(String),
    /// We are not the leader any more, so nothing was sent.
    #[error("this agent is not the leader")]
    NotLeader,
}

impl Trouble {
    /// The trouble that an HTTP status stands for, with what the `Status` object says about it.
    pub(super) fn of(status: u16, reason: &str, message: String, after: Option<Duration>) -> Self {
        match status {
            404 => Self::NotFound(message),
            409 if reason == "AlreadyExists" => Self::Exists(message),
            409 => Self::Conflict(message),
            410 => Self::Expired(message),
            401 | 403 => Self::Forbidden(message),
            429 => Self::Busy { message, after },
            400..=499 => Self::Refused(message),
            _ => Self::Unreachable(message),
        }
    }

    /// The same that may pass by itself, in other words.
    pub(super) fn worded(self, words: String) -> Self {
        if let Self::Busy { after, .. } = self {
            return Self::Busy { message: words, after };
        }
        if self.is_passing() { Self::Unreachable(words) } else { self }
    }

    /// Whether the same request may succeed in a moment, with nobody doing anything.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Unreachable(_) => true,
            Self::NotFound(_)
            | Self::Conflict(_)
            | Self::Exists(_)
            | Self::Expired(_)
            | Self::Forbidden(_)
            | Self::NamespaceGone(_)
            | Self::Refused(_)
            | Self::NotLeader => false,
        }
    }

    /// Whether somebody has to do something first.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Forbidden(_) | Self::NamespaceGone(_) | Self::Refused(_) => true,
            Self::NotFound(_)
            | Self::Conflict(_)
            | Self::Exists(_)
            | Self::Expired(_)
            | Self::Busy { .. }
            | Self::Unreachable(_)
            | Self::NotLeader => false,
        }
    }
}
