//! The page around the releases: what it may do, its headline, the list of releases, the findings.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::super::summary::{Release, impact};
use super::super::words::one_line;
use super::{Told, csp, findings, release};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// A browser asks the server for an icon unless the page brings one.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%231f5fbf' d='M1 15V11h4v4zM6 15V7h4v8zM11 15V1h4v14z'/%3E%3C/svg%3E";

/// The whole page. `articles` are the releases' parts, in their order.
pub(super) fn page(releases: &[Release], articles: Vec<String>, told: &Told<'_>) -> Markup {
    let impact = impact(releases, told.findings);
    let headline = sentence(&impact.said());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(csp::policy(STYLE, SCRIPT));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (headline) " – rollout" }
                link rel="icon" href=(ICON);
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                (patterns())
                div class="frame" {
                    header class="top" {
                        div {
                            p class="eyebrow" { "Rollout plan" (commit(told)) }
                            h1 { (headline) }
                            @let tally = super::super::sum(told.findings);
                            @if !tally.is_empty() { p class="tally" { a href="#findings" { (tally) } } }
                        }
                        button class="theme" type="button" hidden {}
                    }
                    div class={ "columns" @if releases.len() > 1 { " several" } } {
                        @if releases.len() > 1 { (list(releases)) }
                        main id="content" tabindex="-1" {
                            (findings::findings(told))
                            @for article in articles { (PreEscaped(article)) }
                        }
                    }
                    footer { "Written by rollout " (env!("CARGO_PKG_VERSION")) " from the files of the repository. No cluster was asked." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The commit that was rendered, where it is known.
fn commit(told: &Told<'_>) -> Markup {
    let short = told.links.revision.as_ref().map(|revision| revision.chars().take(12).collect::<String>());
    html! {
        @if let Some(short) = short {
            " of "
            @if let Some(address) = told.links.commit() { a href=(address) rel="noreferrer" { code { (short) } } } @else { code { (short) } }
        }
    }
}

/// The releases to go to.
fn list(releases: &[Release]) -> Markup {
    html! {
        nav aria-labelledby="list" {
            h2 id="list" { "Rollouts" }
            ul {
                @for release in releases {
                    li {
                        a href={ "#" (release::id(release)) } {
                            (one_line(&release.title()))
                            small { @if release.is_preview { "preview" } @else { (super::super::count(release.steps(), "step")) } }
                        }
                    }
                }
            }
        }
    }
}

/// How requests that match are drawn: one definition for all charts.
fn patterns() -> Markup {
    html! {
        svg class="defs" aria-hidden="true" focusable="false" {
            defs {
                pattern id="matching" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line class="stripe" x1="0" y1="0" x2="0" y2="7" {}
                }
            }
        }
    }
}

/// With a capital at the start.
fn sentence(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::report::Links;

    fn with(links: &Links) -> String {
        page(&[], Vec::new(), &Told { findings: &[], files: &Files::default(), links }).into_string()
    }

    fn empty() -> String {
        with(&Links::default())
    }

    #[test]
    fn the_commit_is_named_and_leads_to_it_where_the_repository_is_known() {
        let known = Links::new(Some("https://example.com/a/b"), Some("0123456789abcdef"), "", None);
        assert!(
            with(&known)
                .contains(r#"<a href="https://example.com/a/b/commit/0123456789abcdef" rel="noreferrer"><code>0123456789ab</code></a>"#)
        );
        assert!(with(&Links::new(None, Some("0123"), "", None)).contains("Rollout plan of <code>0123</code>"));
        assert!(empty().contains(">Rollout plan<"));
    }

    #[test]
    fn nothing_in_the_page_comes_from_elsewhere() {
        let page = empty();
        for word in ["src=", "url(http", "@import", "<iframe", "<form", " on", "style=\""] {
            let found = page.match_indices(word).filter(|(at, _)| word != " on" || page[at + 3..].starts_with(['c', 'l']));
            let found: Vec<_> = found.map(|(at, _)| &page[at..(at + 30).min(page.len())]).filter(|it| it.contains('=')).collect();
            assert!(found.is_empty(), "{word}: {found:?}");
        }
        assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"), "{page}");
    }

    #[test]
    fn style_and_script_are_one_element_each_whatever_they_say() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains('\r') && !SCRIPT.contains('\r'), "a browser reads other line ends, and the digest fails");
    }

    #[test]
    fn without_a_release_the_page_says_so() {
        let page = empty();
        assert!(page.contains("<h1>No rollout changes</h1>"), "{page}");
        assert!(!page.contains("<nav"), "{page}");
    }
}
