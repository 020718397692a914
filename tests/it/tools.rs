//! The programs that builds run, for tests with the real ones: those of `.ci/tools`, else those on the PATH.

use std::env;
use std::path::{Path, PathBuf};

/// A PATH on which these programs are found. None: one is missing, which fails where `CI` is set and is told elsewhere.
pub(crate) fn search_path(names: &[&str]) -> Option<String> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let mut folders = vec![ours];
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let find = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    if let Some(missing) = names.iter().find(|name| find(name).is_none()) {
        assert!(env::var_os("CI").is_none(), "{missing} is missing: run `.ci/tools`");
        eprintln!("skipped: {missing} is missing, `.ci/tools` brings it");
        return None;
    }
    let found: Vec<PathBuf> = names.iter().filter_map(find).filter_map(|path| path.parent().map(Path::to_owned)).collect();
    Some(env::join_paths(found).unwrap().into_string().unwrap())
}
