//! Where the repository comes from.

use super::repository::Repository;

impl Repository {
    /// The URLs of all remotes, sorted; none where there is no remote, or its URL is no text.
    pub fn remote_urls(&self) -> Vec<String> {
        let names = self.git.remotes();
        let names = names.iter().flat_map(|names| names.iter().flatten().flatten());
        let mut urls: Vec<String> = names.filter_map(|name| Some(self.git.find_remote(name).ok()?.url().ok()?.to_owned())).collect();
        urls.sort();
        urls
    }
}
