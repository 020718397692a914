//! Where a tree may be written: in a repository, only to folders of its own.

use std::fs;

use camino::Utf8Path;

use super::error::DiskError;

/// Checks that plans may be written to `folder`, which lies in the repository at `top` or elsewhere. In the repository no part of
/// the path is a link, which may lead anywhere, nor a folder that git or a forge reads its own files from. Elsewhere is where the
/// user says.
///
/// # Errors
/// [`DiskError::Link`] or [`DiskError::Reserved`].
pub fn ensure_own(folder: &Utf8Path, top: &Utf8Path) -> Result<(), DiskError> {
    let real = top.canonicalize_utf8().ok();
    let is_top = |path: &Utf8Path| path == top || (real.is_some() && path.canonicalize_utf8().ok() == real);
    let Some(depth) = folder.ancestors().position(is_top) else { return Ok(()) };
    let inside: Vec<&Utf8Path> = folder.ancestors().take(depth).collect();
    for path in inside.into_iter().rev() {
        if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(DiskError::Link { path: path.to_owned() });
        }
        if path.file_name().is_some_and(is_reserved) {
            return Err(DiskError::Reserved { path: path.to_owned() });
        }
    }
    Ok(())
}

/// `.git`, and the folders of forges: `.github`, `.gitlab`, `.gitea`. Some file systems do not tell the cases apart.
fn is_reserved(name: &str) -> bool {
    name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(".git")) || name.eq_ignore_ascii_case("git~1")
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use camino::{Utf8Path, Utf8PathBuf};

    use super::ensure_own;
    use crate::disk::DiskError;

    #[test]
    fn in_a_repository_plans_go_to_folders_of_its_own() {
        let ground = tempfile::tempdir().unwrap();
        let ground = Utf8Path::from_path(ground.path()).unwrap();
        let top = ground.join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(ground.join("elsewhere")).unwrap();
        symlink("../elsewhere", top.join("out")).unwrap();
        symlink("a", top.join("inside")).unwrap();
        symlink("top", ground.join("other-name")).unwrap();
        let own = |path: Utf8PathBuf| match ensure_own(&path, &top) {
            Ok(()) => "own",
            Err(DiskError::Link { .. }) => "link",
            Err(DiskError::Reserved { .. }) => "reserved",
            Err(other) => panic!("{other}"),
        };
        for (path, expected) in [
            ("top/a/b", "own"),
            ("top/new/folder", "own"),
            ("elsewhere", "own"),
            ("elsewhere/.git", "own"),
            ("other-name/a", "own"),
            ("top/out", "link"),
            ("top/out/plans", "link"),
            ("top/inside/b", "link"),
            ("other-name/out", "link"),
            ("top/.git/hooks", "reserved"),
            ("top/a/.GitHub/workflows", "reserved"),
        ] {
            assert_eq!(own(ground.join(path)), expected, "{path}");
        }
    }
}
