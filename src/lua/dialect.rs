//! What our machine accepts and Lua 5.1, which runs scripts in clusters, does not.

use std::panic::catch_unwind;
use std::thread;

use full_moon::LuaVersion;

use super::tokens::long_bracket;

/// Longer sources are not looked at: the parser's stack grows with them.
const LONGEST_SOURCE: usize = 256 << 10;
const STACK: usize = 256 << 20;

/// Returns line and reason of what in `source` is not Lua 5.1, in order; for a source that compiles.
pub fn beyond_lua51(source: &str) -> Vec<(u32, String)> {
    if source.len() > LONGEST_SOURCE {
        return vec![(1, format!("a script of {} bytes is too long to be checked against Lua 5.1", source.len()))];
    }
    let mut found = lexical(source);
    if found.is_empty() {
        found = syntactical(source);
    }
    found.sort();
    found.dedup();
    found
}

/// What the parser for 5.1 lets pass or stumbles over.
fn lexical(source: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = source;
    if let Some(after) = rest.strip_prefix('\u{feff}') {
        found.push((1, "Lua 5.1 does not read a byte order mark".to_owned()));
        rest = after;
    }
    if rest.starts_with("#!") {
        found.push((1, "Lua 5.1 in the cluster does not read a line that starts with `#!`".to_owned()));
    }
    while let Some(character) = rest.chars().next() {
        let comment = rest.strip_prefix("--");
        let long = long_bracket(comment.unwrap_or(rest)).map(|length| length + rest.len() - comment.unwrap_or(rest).len());
        let length = match (long, comment, character) {
            (Some(length), ..) => length,
            (None, Some(_), _) => rest.find('\n').unwrap_or(rest.len()),
            (None, None, '"' | '\'') => quoted(rest, line, &mut found),
            (None, None, '`') => {
                found.push((line, "Lua 5.1 has no strings in backticks".to_owned()));
                return found;
            }
            (None, None, _) => character.len_utf8(),
        };
        let (passed, ahead) = rest.split_at(length.min(rest.len()));
        line += u32::try_from(passed.matches('\n').count()).unwrap_or(u32::MAX);
        rest = ahead;
    }
    found
}

/// Returns the length of the quoted string that `text` starts with, and notes the escapes that 5.1 reads otherwise.
fn quoted(text: &str, first_line: u32, found: &mut Vec<(u32, String)>) -> usize {
    let mut characters = text.char_indices();
    let quote = characters.next().map_or('"', |(_, quote)| quote);
    let mut line = first_line;
    while let Some((index, character)) = characters.next() {
        if character == quote {
            return index + character.len_utf8();
        }
        line += u32::from(character == '\n');
        if character == '\\' {
            let Some((_, escaped)) = characters.next() else { break };
            line += u32::from(escaped == '\n');
            if matches!(escaped, 'x' | 'z' | 'u') {
                found.push((line, format!("Lua 5.1 reads the escape `\\{escaped}` as the letter `{escaped}`")));
            }
        }
    }
    text.len()
}

fn syntactical(source: &str) -> Vec<(u32, String)> {
    let owned = source.to_owned();
    // A stack of its own, since the parser recurses; a panic of the parser must not become ours.
    let parsing = thread::Builder::new().stack_size(STACK).spawn(move || catch_unwind(|| problems(&owned)));
    match parsing.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(problems))) => problems,
        _ => vec![(1, "the script could not be checked against Lua 5.1".to_owned())],
    }
}

fn problems(source: &str) -> Vec<(u32, String)> {
    let result = full_moon::parse_fallible(source, LuaVersion::lua51());
    let errors = result.errors().iter().map(|error| {
        let line = u32::try_from(error.range().0.line()).unwrap_or(u32::MAX);
        (line, format!("not Lua 5.1: {}", error.error_message()))
    });
    // What follows the first error is often only its echo.
    errors.take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(source: &str, lines: &[u32]) {
        let found = beyond_lua51(source);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), lines, "{source}: {found:?}");
    }

    #[test]
    fn lua_51_is_not_beyond_itself() {
        case("local a = {1, 2; x = 'y'} for k, v in pairs(a) do a[k] = v end return a", &[]);
        case("-- `\n--[==[ ` \\x ]==]\nreturn [[ ` \\x41 ]] .. '\\65\\n' .. \"`\"", &[]);
    }

    #[test]
    fn what_only_luau_has_is_named_with_its_line() {
        for source in
            ["a += 1", "for i = 1, 2 do continue end", "local a = 1 // 2", "local a: number = 1", "return if a then 1 else 2", "goto done"]
        {
            case(&format!("\n{source}"), &[2]);
        }
        case("local a = 1\nlocal b = `x`", &[2]);
        case("\nreturn '\\x41', '\\\\x'", &[2]);
        case("return '\\z  a\\u{41}'", &[1, 1]);
        case("\u{feff}return 1", &[1]);
        case("#!/usr/bin/lua\nreturn 1", &[1]);
    }

    #[test]
    fn hostile_sources_end_too() {
        let deep = format!("return {}1{}", "(".repeat(900), ")".repeat(900));
        let long = format!("return 1{}", " + 1".repeat(50_000));
        beyond_lua51(&deep);
        beyond_lua51(&long);
        beyond_lua51(&" ".repeat(1 << 20));
    }
}
