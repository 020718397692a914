//! A script as Lua 5.1 runs it: what the machine does otherwise, and differently from run to run, goes through a function of ours.
//!
//! The machine goes through a bare table in `for k, v in t do`, where Lua 5.1 raises; and a key that is a table or a function
//! is placed by its address, which decides the order of that loop, when a table grows, and with it what `#` says of a list with
//! holes. So loops ask `iterated` for what they call, and each assignment to `t[k]` shows its key to `key` (`prelude.luau`).

use std::collections::BTreeSet;

use super::tokens::{Token, tokens};

/// A source made of another one, for a function that takes `iterated` and `key` and gives the script as a function. Each line
/// keeps its number.
///
/// The source has to compile as it is: then what is put around it cannot be closed from inside. `loops_by_ipairs` says that
/// `ipairs` is the library's wherever a loop calls it, so that the machine may run such loops by itself.
pub(super) fn rewritten(source: &str, loops_by_ipairs: bool) -> Result<String, Unreadable> {
    let tokens = tokens(source);
    if let Some(token) = tokens.iter().find(|token| token.is("`")) {
        return Err(Unreadable { position: token.start, message: "Lua 5.1 has no strings in backticks" });
    }
    let taken: BTreeSet<&str> = tokens.iter().map(|token| token.text).collect();
    let names = ["_iterated", "_key"].map(|name| free(name, &taken));
    let [iterated, key] = &names;
    let mut edits: Vec<(usize, String)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let (end, called) = if token.is("in") {
            (end_of_expressions(&tokens, index), iterated)
        } else if token.is("[") {
            (end_of_key(&tokens, index), key)
        } else {
            continue;
        };
        let Some(end) = end else {
            if token.is("in") {
                return Err(Unreadable { position: token.start, message: "a loop over what Lua 5.1 does not read" });
            }
            continue;
        };
        if token.is("in") && loops_by_ipairs && is_ipairs(&tokens[index + 1..end]) {
            continue;
        }
        edits.push((token.end(), format!(" {called}(")));
        edits.push((tokens[end].start, ")".to_owned()));
    }
    // Stable: of two at one place, the one of the outer brackets was found first, and closes last.
    edits.sort_by_key(|(place, _)| *place);
    let mut text = format!("local {iterated}, {key} = ... return function(...) ");
    let mut last = 0;
    for (place, inserted) in edits {
        text.push_str(&source[last..place]);
        text.push_str(&inserted);
        last = place;
    }
    text.push_str(&source[last..]);
    text.push_str("\nend");
    Ok(text)
}

/// What the machine reads and Lua 5.1 does not, where a rewrite could go wrong: strings in backticks hold expressions, and an
/// `if` may be one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Where it begins.
    pub(super) position: usize,
    pub(super) message: &'static str,
}

/// Whether a script calls `ipairs` in loops and nowhere else, and makes nothing else of the name.
pub(super) fn uses_ipairs_for_loops_only(source: &str) -> bool {
    let tokens = tokens(source);
    let is_loop = |index: usize| index > 0 && tokens[index - 1].is("in") && tokens.get(index + 1).is_some_and(|next| next.is("("));
    tokens.iter().enumerate().all(|(index, token)| !token.is("ipairs") || is_loop(index))
}

fn free(name: &str, taken: &BTreeSet<&str>) -> String {
    let mut name = name.to_owned();
    while taken.contains(name.as_str()) {
        name.push('_');
    }
    name
}

/// Returns the `do` that ends what stands after `in`. What is wrongly matched no longer compiles: a bracket stays open.
fn end_of_expressions(tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start + 1) {
        if depth == 0 && token.is("do") {
            return Some(index);
        }
        if ["function", "if", "do", "repeat"].iter().any(|word| token.is(word)) {
            depth += 1;
        } else if token.is("end") || token.is("until") {
            depth = depth.saturating_sub(1);
        }
    }
    None
}

/// Returns the `]` of a key that something is assigned to, unless it is a literal.
fn end_of_key(tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let end = tokens.iter().enumerate().skip(start).find_map(|(index, token)| {
        if ["(", "[", "{"].iter().any(|symbol| token.is(symbol)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|symbol| token.is(symbol)) {
            depth = depth.saturating_sub(1);
        }
        (depth == 0).then_some(index)
    })?;
    let is_literal = end == start + 2 && tokens[start + 1].is_literal();
    (!is_literal && is_assigned(&tokens[end + 1..])).then_some(end)
}

/// Whether what follows assigns: `=`, another place before it, or an operator of the machine's own such as `+=`.
fn is_assigned(following: &[Token<'_>]) -> bool {
    let is = |index: usize, symbol: &str| following.get(index).is_some_and(|token: &Token<'_>| token.is(symbol));
    match following.first() {
        Some(first) if first.is("=") => !is(1, "=") || following[1].start > first.end(),
        Some(first) if first.is(",") => true,
        Some(first) if ["+", "-", "*", "%", "^"].iter().any(|symbol| first.is(symbol)) => is(1, "="),
        Some(first) if first.is("/") => is(1, "=") || (is(1, "/") && is(2, "=")),
        Some(first) if first.is(".") => is(1, ".") && is(2, "="),
        Some(_) | None => false,
    }
}

/// Whether this is one call of `ipairs` and nothing else.
fn is_ipairs(expressions: &[Token<'_>]) -> bool {
    let [name, open, inner @ .., close] = expressions else { return false };
    let mut depth = 1_usize;
    for token in inner {
        depth += usize::from(token.is("("));
        depth -= usize::from(token.is(")"));
        if depth == 0 {
            return false;
        }
    }
    name.is("ipairs") && open.is("(") && close.is(")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(source: &str, expected: &str) {
        let around = format!("local _iterated, _key = ... return function(...) {expected}\nend");
        assert_eq!(rewritten(source, true), Ok(around), "{source}");
    }

    #[test]
    fn loops_ask_what_they_call() {
        case("for k in t do end", "for k in _iterated( t )do end");
        case("for k, v in next, t, nil do end", "for k, v in _iterated( next, t, nil )do end");
        case(
            "for k in (function() for x in y do end while a do end if b then end repeat until c return t end)() do end",
            "for k in _iterated( (function() for x in _iterated( y )do end while a do end if b then end repeat until c return t end)() )do end",
        );
        case("for _, v in ipairs(f(x)) do end", "for _, v in ipairs(f(x)) do end");
        case("for _, v in ipairs(a) and (t) do end", "for _, v in _iterated( ipairs(a) and (t) )do end");
        case("for i = 1, 2 do end", "for i = 1, 2 do end");
    }

    #[test]
    fn what_is_assigned_to_shows_its_key() {
        case("t[k] = v", "t[ _key(k)] = v");
        case("t[a][b] = v", "t[a][ _key(b)] = v");
        case("t[u[k]], x = 1, 2", "t[ _key(u[k])], x = 1, 2");
        case("t = {[f(a, b)] = 1, ['x'] = 2}", "t = {[ _key(f(a, b))] = 1, ['x'] = 2}");
        case("t[k] += 1 t[k] //= 1 t[k] ..= 'x'", "t[ _key(k)] += 1 t[ _key(k)] //= 1 t[ _key(k)] ..= 'x'");
        case("return t[k] == v, t[k] + 1, t[k].x, t[1]", "return t[k] == v, t[k] + 1, t[k].x, t[1]");
        case("t[function() t[k] = 1 end] = 2", "t[ _key(function() t[ _key(k)] = 1 end)] = 2");
        case("t[ [[x]] ] = 1", "t[ [[x]] ] = 1");
    }

    #[test]
    fn names_of_the_script_are_left_alone() {
        let text = rewritten("_key = 1 t[_key_] = 2", true);
        assert_eq!(text.as_deref(), Ok("local _iterated, _key__ = ... return function(...) _key = 1 t[ _key__(_key_)] = 2\nend"));
    }

    #[test]
    fn what_could_hide_a_loop_is_refused() {
        let position = |source| rewritten(source, true).map_err(|unreadable| unreadable.position);
        assert_eq!(position("return `{x}`"), Err(7));
        assert_eq!(position("for k in if a then b else c do end"), Err(6));
    }
}
