//! Why there is no answer: the error, and what caused it.

use std::error::Error;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::words::uncommanding;
use super::{Colors, visible};

/// `error: …` and a line for each cause that says something new.
pub fn failure(error: &(dyn Error + 'static), colors: Colors) -> String {
    let mut said = error.to_string();
    let style = AnsiColor::Red.on_default().bold();
    let mut text = format!("{} {}\n", colors.paint(style, "error:"), visible(&said));
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !said.contains(&message) {
            let _ = writeln!(text, "  {} {}", colors.paint(Style::new().bold(), "caused by:"), visible(&message));
        }
        said = message;
        source = cause.source();
    }
    uncommanding(&text)
}
