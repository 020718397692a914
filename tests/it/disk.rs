//! Folders read and trees written, on the real file system.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use rollout::disk::{self, Difference, DiskError, Former, Stale, Unread};
use rollout::files::Files;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    fn write(&self, path: &str, text: &str) -> Utf8PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Every file below the root, hidden ones too.
    fn paths(&self) -> Vec<String> {
        let entries = walkdir::WalkDir::new(self.root()).sort_by_file_name().into_iter().map(Result::unwrap);
        let all = entries.filter(|entry| entry.depth() > 0).map(|entry| Utf8PathBuf::from_path_buf(entry.into_path()).unwrap());
        all.map(|path| path.strip_prefix(self.root()).unwrap().to_string()).collect()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

fn files(entries: &[(&str, &str)]) -> Files {
    entries.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().into())).collect()
}

const PLAN: &str = "kind: RolloutPlan\n";

fn all_of_ours(former: &Former) -> bool {
    former.is_ours()
}

#[test]
fn only_files_that_can_matter_are_read() {
    let folder = Folder::new();
    for path in [
        "a.yaml",
        "b/c.yml",
        "b/lua_configuration/g/K/trafficRouting.lua",
        "b/other.lua",
        "b/main.go",
        ".rollout.yaml",
        ".github/ci.yaml",
        ".hidden.yaml",
        "node_modules/x/a.yaml",
    ] {
        folder.write(path, "a: 1\n");
    }
    let reading = disk::read(folder.root()).unwrap();
    let paths: Vec<_> = reading.files.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [".rollout.yaml", "a.yaml", "b/c.yml", "b/lua_configuration/g/K/trafficRouting.lua"]);
    assert_eq!(reading.unread, [("node_modules".to_owned(), Unread::Vendored)].into());
}

#[test]
fn git_ignored_files_are_not_read_wherever_the_walk_begins() {
    let folder = Folder::new();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(folder.root()).status().unwrap().success());
    folder.write(".gitignore", "out/\n*.gen.yaml\n");
    for path in ["sub/a.yaml", "sub/a.gen.yaml", "sub/out/a.yaml"] {
        folder.write(path, "a: 1\n");
    }
    let reading = disk::read(&folder.root().join("sub")).unwrap();
    let paths: Vec<_> = reading.files.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["a.yaml"]);
}

#[test]
fn a_huge_file_is_recorded_by_its_size() {
    let folder = Folder::new();
    fs::File::create(folder.root().join("a.yaml")).unwrap().set_len(50 << 20).unwrap();
    folder.write("b.yaml", "a: 1\n");
    let reading = disk::read(folder.root()).unwrap();
    assert_eq!(reading.unread, [("a.yaml".to_owned(), Unread::TooLarge { bytes: 50 << 20 })].into());
    assert_eq!(reading.files.len(), 1);
}

#[test]
fn links_and_pipes_are_told_and_not_followed() {
    let folder = Folder::new();
    let target = Folder::new();
    target.write("x.yaml", "a: 1\n");
    symlink(target.root(), folder.root().join("linked")).unwrap();
    symlink(target.root().join("x.yaml"), folder.root().join("y.yaml")).unwrap();
    symlink("/nowhere", folder.root().join("notes")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.root().join("pipe.yaml")).status().unwrap().success());
    let reading = disk::read(folder.root()).unwrap();
    assert!(reading.files.is_empty());
    let told: Vec<_> = reading.unread.into_iter().collect();
    assert_eq!(told[..1], [("linked".to_owned(), Unread::Link)]);
    assert!(matches!(&told[1], (path, Unread::Failed { .. }) if path == "pipe.yaml"));
    assert_eq!(told[2..], [("y.yaml".to_owned(), Unread::Link)]);
}

#[test]
fn a_single_file_is_read_whatever_its_name() {
    let folder = Folder::new();
    let path = folder.write("notes.txt", "a: 1\n");
    let reading = disk::read(&path).unwrap();
    assert_eq!(reading.files, files(&[("notes.txt", "a: 1\n")]));
}

#[test]
fn a_folder_that_is_not_there_is_an_error_with_its_name() {
    let error = disk::read(Utf8Path::new("/no/such/folder")).unwrap_err();
    assert!(error.to_string().starts_with("`/no/such/folder` does not exist\nhelp: "), "{error}");
}

#[test]
fn a_stream_is_one_file() {
    let reading = disk::read_stream("a: 1\n".as_bytes()).unwrap();
    assert_eq!(reading.files, files(&[(disk::STREAM, "a: 1\n")]));
}

#[test]
fn an_endless_stream_is_cut_off() {
    assert!(matches!(disk::read_stream(std::io::repeat(b'a')), Err(DiskError::LongStream { .. })));
}

#[test]
fn a_tree_is_written_compared_and_written_again_without_a_touch() {
    let folder = Folder::new();
    let root = folder.root().join("out/rollouts");
    let tree = files(&[("prod/shop/plan.yaml", PLAN), ("prod/shop/1.diff", "-a\n")]);
    assert_eq!(disk::compare_tree(&root, &tree, &all_of_ours).unwrap().len(), 2);
    let written = disk::write_tree(&root, &tree, &all_of_ours).unwrap();
    assert_eq!((written.written.len(), written.unchanged), (2, 0));
    let before = fs::metadata(root.join("prod/shop/plan.yaml")).unwrap();
    assert_eq!(disk::compare_tree(&root, &tree, &all_of_ours).unwrap(), []);
    let again = disk::write_tree(&root, &tree, &all_of_ours).unwrap();
    assert_eq!((again.written.len(), again.unchanged), (0, 2));
    assert_eq!(before.ino(), fs::metadata(root.join("prod/shop/plan.yaml")).unwrap().ino());
    assert_eq!(
        folder.paths(),
        [
            "out",
            "out/rollouts",
            "out/rollouts/prod",
            "out/rollouts/prod/shop",
            "out/rollouts/prod/shop/1.diff",
            "out/rollouts/prod/shop/plan.yaml"
        ]
    );
}

#[test]
fn what_belongs_to_no_plan_any_more_goes_and_nothing_else() {
    let folder = Folder::new();
    for (path, text) in [
        ("prod/shop/plan.yaml", PLAN),
        ("prod/shop/5.diff", ""),
        ("prod/shop/NOTES.md", "mine"),
        ("prod/gone/plan.yaml", PLAN),
        ("prod/gone/README.md", ""),
        ("old/gone/plan.yaml", PLAN),
        ("prod/other/plan.yaml", "kind: Plan\n"),
        ("prod/none/README.md", "mine"),
    ] {
        folder.write(path, text);
    }
    let tree = files(&[("prod/shop/plan.yaml", "kind: RolloutPlan\nspec: 2\n")]);
    let stale = disk::compare_tree(folder.root(), &tree, &all_of_ours).unwrap();
    let expected = [
        ("old/gone/plan.yaml", Difference::Extra),
        ("prod/gone/README.md", Difference::Extra),
        ("prod/gone/plan.yaml", Difference::Extra),
        ("prod/shop/5.diff", Difference::Extra),
        ("prod/shop/plan.yaml", Difference::Different),
    ];
    assert_eq!(stale, expected.map(|(path, difference)| Stale { path: path.to_owned(), difference }));
    disk::write_tree(folder.root(), &tree, &all_of_ours).unwrap();
    assert_eq!(
        folder.paths(),
        [
            "prod",
            "prod/none",
            "prod/none/README.md",
            "prod/other",
            "prod/other/plan.yaml",
            "prod/shop",
            "prod/shop/NOTES.md",
            "prod/shop/plan.yaml"
        ]
    );
    assert_eq!(folder.text("prod/shop/plan.yaml"), "kind: RolloutPlan\nspec: 2\n");
}

#[test]
fn plans_that_were_not_rendered_now_stay() {
    let folder = Folder::new();
    folder.write("staging/shop/plan.yaml", PLAN);
    let is_stale = |former: &Former| former.is_ours() && former.folder.starts_with("prod/");
    disk::write_tree(folder.root(), &files(&[("prod/shop/plan.yaml", PLAN)]), &is_stale).unwrap();
    assert_eq!(folder.text("staging/shop/plan.yaml"), PLAN);
}

#[test]
fn a_link_in_the_way_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let elsewhere = Folder::new();
    symlink(elsewhere.root(), folder.root().join("prod")).unwrap();
    let tree = files(&[("a/plan.yaml", PLAN), ("prod/shop/plan.yaml", PLAN)]);
    let error = disk::write_tree(folder.root(), &tree, &all_of_ours).unwrap_err();
    assert!(matches!(error, DiskError::Link { .. }), "{error}");
    assert_eq!(folder.paths(), ["prod"]);
    assert!(elsewhere.paths().is_empty());
}

#[test]
fn a_folder_or_file_in_the_way_is_named() {
    let folder = Folder::new();
    folder.write("prod", "a file");
    let error = disk::write_tree(folder.root(), &files(&[("prod/shop/plan.yaml", PLAN)]), &all_of_ours).unwrap_err();
    assert!(error.to_string().contains("prod`: a file is in the way"), "{error}");
    folder.write("staging/plan.yaml/x", "");
    let error = disk::write_tree(folder.root(), &files(&[("staging/plan.yaml", PLAN)]), &all_of_ours).unwrap_err();
    assert!(error.to_string().contains("staging/plan.yaml`: a folder is in the way"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write("shop/plan.yaml", PLAN);
    // The root user may write to read-only folders, but nobody may write to /proc.
    let error = disk::write_tree(Utf8Path::new("/proc/rollouts"), &files(&[("shop/plan.yaml", PLAN)]), &all_of_ours).unwrap_err();
    assert!(error.to_string().starts_with("cannot write `/proc/rollouts`; nothing was changed\nhelp: "), "{error}");
}

#[test]
fn a_path_out_of_the_tree_is_refused() {
    let folder = Folder::new();
    let root = folder.root().join("out");
    let error = disk::write_tree(&root, &files(&[("../escaped", "x")]), &all_of_ours).unwrap_err();
    assert!(matches!(error, DiskError::Outside { .. }), "{error}");
    assert!(folder.paths().is_empty());
}
