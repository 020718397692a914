//! The command line: transcripts of `tests/cmd`, run against the built program.

#[test]
fn transcripts_are_what_the_program_says() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
