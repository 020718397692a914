//! Findings on the page: where, what, the line of the file, and the way out. Notes are folded.

use maud::{Markup, html};

use crate::model::{Finding, Severity};

use super::super::findings::Snippet;
use super::super::words::{count, one_line, visible};
use super::Told;

/// Findings beyond these are counted only.
const MOST: usize = 300;

/// All findings; nothing where there are none.
pub(super) fn findings(told: &Told<'_>) -> Markup {
    let findings = told.findings;
    let shown = &findings[..findings.len().min(MOST)];
    let (notes, others): (Vec<_>, Vec<_>) = shown.iter().partition(|finding| finding.severity == Severity::Note);
    html! {
        @if !findings.is_empty() {
            section class="findings" id="findings" aria-labelledby="findings-title" {
                h2 id="findings-title" { "Findings" }
                @if !others.is_empty() { ul { @for finding in others { (one(finding, told)) } } }
                @if !notes.is_empty() {
                    details { summary { (count(notes.len(), "note")) } ul { @for finding in notes { (one(finding, told)) } } }
                }
                @if findings.len() > MOST { p { (count(findings.len() - MOST, "more finding")) " not shown here" } }
            }
        }
    }
}

fn one(finding: &Finding, told: &Told<'_>) -> Markup {
    let class = finding.severity.to_string();
    let object = finding.object.as_deref().filter(|object| !finding.message.contains(*object));
    html! {
        li class=(class) {
            span class="severity" { (class) } " " (prose(&finding.message))
            @if let Some(object) = object { " (" (one_line(object)) ")" }
            div class="where" {
                @if let Some(place) = &finding.place {
                    @let shown = one_line(&format!("{}:{}:{}", told.links.path(&place.path), place.position.line, place.position.column));
                    @if let Some(address) = told.links.line(place) {
                        a href=(address) rel="noreferrer" { code { (shown) } }
                    } @else {
                        code { (shown) }
                    }
                    " · "
                }
                code { (finding.code) }
            }
            @if let Some(snippet) = finding.place.as_ref().and_then(|place| Snippet::of(place, told.files)) {
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
    use crate::files::Files;
    use crate::model::Position;
    use crate::report::Links;

    fn page(found: &[Finding], files: &Files, links: &Links) -> String {
        findings(&Told { findings: found, files, links }).into_string()
    }

    #[test]
    fn a_finding_shows_its_line_and_no_markup_of_the_file() {
        let files: Files = [("a.yaml".to_owned(), b"x: <img src=x>\n".as_slice().into())].into_iter().collect();
        let finding = Finding::error("some-code", "not `<b>this</b>`").at("a.yaml", Position { line: 1, column: 4 }).help("write `y`");
        let text = page(&[finding], &files, &Links::default());
        for part in
            ["not <code>&lt;b&gt;this&lt;/b&gt;</code>", "a.yaml:1:4", "1 │ x: &lt;img", "→ write <code>y</code>", "li class=\"error\""]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_place_leads_to_its_line() {
        let links = Links::new(Some("https://example.com/a/b"), Some("0123"), "deploy", None);
        let finding = Finding::error("some-code", "no").at("a \"b\".yaml", Position { line: 3, column: 1 });
        let text = page(&[finding], &Files::default(), &links);
        let expected = "<a href=\"https://example.com/a/b/blob/0123/deploy/a%20%22b%22.yaml#L3\" rel=\"noreferrer\"><code>deploy/a &quot;b&quot;.yaml:3:1<";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_lone_backtick_stays_one() {
        assert_eq!(prose("a `b` c").into_string(), "a <code>b</code> c");
        assert_eq!(prose("a ` c").into_string(), "a ` c");
    }

    #[test]
    fn notes_are_folded_and_too_many_are_counted() {
        let notes: Vec<_> = (0..=MOST).map(|number| Finding::note("n", format!("number {number}"))).collect();
        let text = page(&notes, &Files::default(), &Links::default());
        assert!(text.contains("<summary>300 notes</summary>") && text.contains("1 more finding not shown here"), "{}", text.len());
        assert_eq!(page(&[], &Files::default(), &Links::default()), "");
    }
}
