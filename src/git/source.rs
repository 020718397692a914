//! The commit that is checked out, as those want to know it who come after.

use git2::Time;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::error::GitError;
use super::repository::Repository;

/// The commit at HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The full id.
    pub commit: String,
    /// Who wrote it: `Jane <jane@example.org>`.
    pub author: String,
    /// When it was committed: `2025-01-31T09:00:00+01:00`.
    pub date: String,
    pub(super) time: Time,
    /// The first paragraph of its message, on one line.
    pub subject: String,
    /// The rest of its message; often empty.
    pub body: String,
    /// Where the repository came from, without credentials; none without such a remote.
    pub url: Option<String>,
}

impl Repository {
    /// Returns the commit at HEAD.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn source(&self, remote: &str) -> Result<Source, GitError> {
        let Some(id) = self.head()? else { return Err(GitError::Unborn { root: self.root.clone() }) };
        let commit = self.git.find_commit(id).map_err(|source| self.unreadable("HEAD", source))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let message = text(commit.message_bytes());
        let (subject, body) = message.trim().split_once("\n\n").unwrap_or((message.trim(), ""));
        let url = self.git.find_remote(remote).ok().and_then(|remote| Some(super::without_credentials(remote.url().ok()?)));
        let (author, time) = (commit.author(), commit.committer().when());
        Ok(Source {
            commit: id.to_string(),
            author: format!("{} <{}>", text(author.name_bytes()), text(author.email_bytes())),
            date: date(time),
            time,
            subject: subject.split_whitespace().collect::<Vec<_>>().join(" "),
            body: body.trim().to_owned(),
            url,
        })
    }
}

/// The time as the committer's clock showed it; a time out of all calendars is the first one.
fn date(time: Time) -> String {
    let zone = TimeZone::fixed(Offset::from_seconds(time.offset_minutes().saturating_mul(60)).unwrap_or(Offset::UTC));
    let moment = Timestamp::from_second(time.seconds()).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone);
    moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use git2::Time;

    use super::date;

    #[test]
    fn a_date_is_told_by_the_clock_of_its_place() {
        assert_eq!(date(Time::new(0, 0)), "1970-01-01T00:00:00+00:00");
        assert_eq!(date(Time::new(1_700_000_000, 330)), "2023-11-15T03:43:20+05:30");
        assert_eq!(date(Time::new(1_700_000_000, -60)), "2023-11-14T21:13:20-01:00");
        assert_eq!(date(Time::new(i64::MAX, i32::MAX)), "1970-01-01T00:00:00+00:00");
    }
}
