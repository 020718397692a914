//! Findings on the page: where, what, the line of the file, and the way out. Notes are folded.

use maud::{Markup, html};

use crate::files::Files;
use crate::model::{Finding, Severity};

use super::super::findings::Snippet;
use super::super::words::{count, one_line, visible};

/// Findings beyond these are counted only.
const MOST: usize = 300;

/// All findings; nothing where there are none.
pub(super) fn findings(findings: &[Finding], files: &Files) -> Markup {
    let shown = &findings[..findings.len().min(MOST)];
    let (notes, others): (Vec<_>, Vec<_>) = shown.iter().partition(|finding| finding.severity == Severity::Note);
    html! {
        @if !findings.is_empty() {
            section class="findings" id="findings" aria-labelledby="findings-title" {
                h2 id="findings-title" { "Findings" }
                @if !others.is_empty() { ul { @for finding in others { (one(finding, files)) } } }
                @if !notes.is_empty() {
                    details { summary { (count(notes.len(), "note")) } ul { @for finding in notes { (one(finding, files)) } } }
                }
                @if findings.len() > MOST { p { (count(findings.len() - MOST, "more finding")) " not shown here" } }
            }
        }
    }
}

fn one(finding: &Finding, files: &Files) -> Markup {
    let class = finding.severity.to_string();
    let object = finding.object.as_deref().filter(|object| !finding.message.contains(*object));
    html! {
        li class=(class) {
            span class="severity" { (class) } " " (prose(&finding.message))
            @if let Some(object) = object { " (" (one_line(object)) ")" }
            div class="where" {
                @if let Some(place) = &finding.place {
                    code { (one_line(&place.path)) ":" (place.position.line) ":" (place.position.column) } " · "
                }
                code { (finding.code) }
            }
            @if let Some(snippet) = finding.place.as_ref().and_then(|place| Snippet::of(place, files)) {
                div class="snippet" { (snippet.number) " │ " (snippet.line.trim_end()) }
            }
            @if let Some(help) = &finding.help { p class="help" { "→ " (prose(help)) } }
        }
    }
}

/// The text, with what stands between backticks as code.
fn prose(text: &str) -> Markup {
    let text = visible(text);
    // A backtick without a partner is one.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (index, part) in text.split('`').enumerate() { @if index.is_multiple_of(2) { (part) } @else { code { (part) } } }
        } @else {
            (text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    #[test]
    fn a_finding_shows_its_line_and_no_markup_of_the_file() {
        let files: Files = [("a.yaml".to_owned(), b"x: <img src=x>\n".as_slice().into())].into_iter().collect();
        let finding = Finding::error("some-code", "not `<b>this</b>`").at("a.yaml", Position { line: 1, column: 4 }).help("write `y`");
        let text = findings(&[finding], &files).into_string();
        for part in
            ["not <code>&lt;b&gt;this&lt;/b&gt;</code>", "a.yaml:1:4", "1 │ x: &lt;img", "→ write <code>y</code>", "li class=\"error\""]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_lone_backtick_stays_one() {
        assert_eq!(prose("a `b` c").into_string(), "a <code>b</code> c");
        assert_eq!(prose("a ` c").into_string(), "a ` c");
    }

    #[test]
    fn notes_are_folded_and_too_many_are_counted() {
        let notes: Vec<_> = (0..=MOST).map(|number| Finding::note("n", format!("number {number}"))).collect();
        let text = findings(&notes, &Files::default()).into_string();
        assert!(text.contains("<summary>300 notes</summary>") && text.contains("1 more finding not shown here"), "{}", text.len());
        assert_eq!(findings(&[], &Files::default()).into_string(), "");
    }
}
