//! What must never come out, whatever went in.

use std::process::Output;

use pulldown_cmark::{Event, Options, Parser};

use super::payload::Payload;
use super::scene::SECRET;

/// The formats of a report.
pub(super) const FORMATS: [&str; 6] = ["text", "html", "markdown", "github", "json", "yaml"];

/// What is wrong with the output of one run.
pub(super) fn at(format: &str, output: &Output, payload: &Payload) -> Vec<String> {
    let mut wrong = Vec::new();
    match output.status.code() {
        Some(0..=2) => {}
        Some(other) => wrong.push(format!("exit status {other}")),
        None => wrong.push("ended by a signal".to_owned()),
    }
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let shown = if stream == "stderr" { "text" } else { format };
        match std::str::from_utf8(bytes) {
            Ok(text) => wrong.extend(text_of(shown, text, payload).into_iter().map(|what| format!("{stream}: {what}"))),
            Err(error) => wrong.push(format!("{stream}: no UTF-8: {error}")),
        }
    }
    wrong
}

/// What is wrong with a file that was written, which no log shows.
pub(super) fn file(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.contains(SECRET) {
        wrong.push(format!("the secret is shown: {}", around(text, SECRET)));
    }
    if let Some(control) = text.chars().find(|character| is_unseen(*character)) {
        wrong.push(format!("a character that is not seen: {control:?}: {}", around(text, &control.to_string())));
    }
    wrong
}

/// Whether a character moves a cursor, or turns the text around it.
fn is_unseen(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t');
    is_control || matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// What is wrong with a text in a format.
fn text_of(format: &str, text: &str, payload: &Payload) -> Vec<String> {
    let mut wrong = file(text);
    for never in payload.never.iter().filter(|never| text.contains(never.as_str())) {
        wrong.push(format!("{never:?} is shown: {}", around(text, never)));
    }
    let tags = match format {
        "html" => text.to_owned(),
        "markdown" => tags(text),
        _ => String::new(),
    };
    for markup in payload.markup.iter().filter(|markup| tags.contains(markup.as_str())) {
        wrong.push(format!("{markup:?} is markup: {}", around(&tags, markup)));
    }
    // A page and a report for programs are files, and no log.
    if !["html", "json"].contains(&format) {
        wrong.extend(commands(format, text));
    }
    if format == "json"
        && let Err(error) = serde_json::from_str::<serde_json::Value>(text)
        && !text.is_empty()
    {
        wrong.push(format!("no JSON: {error}"));
    }
    wrong
}

/// The text before and after the first place of `what`.
fn around(text: &str, what: &str) -> String {
    let start = text.find(what).unwrap_or_default();
    let before: String = text[..start].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[start..].chars().take(100).collect();
    format!("{:?}", before + &after)
}

/// What a workflow's log would obey.
fn commands(format: &str, text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    if text.contains("##[") {
        commands.push(format!("a command of a workflow's log: {}", around(text, "##[")));
    }
    for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("::")) {
        let is_ours = format == "github" && ["::error ", "::warning ", "::notice "].iter().any(|command| line.starts_with(command));
        if !is_ours {
            commands.push(format!("a command of a workflow's log: {line}"));
        }
    }
    commands
}

/// The HTML in a comment.
fn tags(markdown: &str) -> String {
    let html = |event: Event<'_>| if let Event::Html(html) | Event::InlineHtml(html) = event { Some(html.into_string()) } else { None };
    Parser::new_ext(markdown, Options::all()).filter_map(html).collect::<Vec<_>>().join("\n")
}
