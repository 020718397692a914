//! The command line: transcripts of `tests/cmd`, run against the built program.

#[test]
fn transcripts_are_what_the_program_says() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}

#[test]
fn the_readme_shows_what_the_program_says() {
    let readme = include_str!("../../README.md");
    let shown = readme.split("examples/istio-subset/before\n").nth(1).and_then(|rest| rest.split('…').next()).expect("an example");
    let root = env!("CARGO_MANIFEST_DIR");
    let arguments = ["render", "examples/istio-subset/after", "--base-dir", "examples/istio-subset/before"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rollout")).args(arguments).current_dir(root).output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.starts_with(shown), "the README shows\n{shown}\nand the program says\n{said}");
}
