//! A Rust file, taken apart just far enough: what is code, what is test, where functions begin and end.
//!
//! A parser would be exact and heavy. What the rules need is only to be deaf to comments and strings, in which any
//! word and any brace may stand; so those are blanked, with every line and column kept.

use std::ops::Range;

/// The text, and the same text with nothing but code in it.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) code: Vec<String>,
    tests: Vec<Range<usize>>,
}

/// One function that has a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Indices of its lines, from the one that names it to its closing brace.
    pub(super) lines: Range<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &str, text: &'a str) -> Self {
        let code: Vec<String> = blanked(text).lines().map(str::to_owned).collect();
        let whole = is_test_file(path, &code).then_some(0..code.len());
        let tests = test_modules(&code).into_iter().chain(whole).collect();
        Self { lines: text.lines().collect(), code, tests }
    }

    /// Whether the line with this index belongs to a test.
    pub(super) fn is_test(&self, index: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&index))
    }

    /// The lines that are not tests.
    pub(super) fn shipped_lines(&self) -> usize {
        (0..self.code.len()).filter(|&index| !self.is_test(index)).count()
    }

    /// Every function with a body, tests included.
    pub(super) fn functions(&self) -> Vec<Function> {
        let named = self.code.iter().enumerate().filter_map(|(at, line)| Some((at, function_name(line)?)));
        named
            .filter_map(|(at, name)| {
                Some(Function { name: name.to_owned(), lines: at..body_end(&self.code, at)? })
            })
            .collect()
    }
}

/// Integration tests and benchmarks, `tests.rs` beside a module, and files that say so in their first attribute.
fn is_test_file(path: &str, code: &[String]) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"))
        || code.iter().any(|line| line.trim() == "#![cfg(test)]")
}

fn test_modules(code: &[String]) -> Vec<Range<usize>> {
    let attributes = code.iter().enumerate().filter(|(_, line)| line.trim() == "#[cfg(test)]");
    let modules = attributes.filter_map(|(at, _)| {
        let module = (at + 1..code.len()).find(|&next| !code[next].trim_start().starts_with("#["))?;
        code[module]
            .split_whitespace()
            .any(|word| word == "mod")
            .then(|| Some(at..body_end(code, module)?))?
    });
    modules.collect()
}

/// The name, where the line begins a function.
fn function_name(line: &str) -> Option<&str> {
    let before = line.find("fn ")?;
    let modifier = |word: &str| {
        matches!(word, "const" | "async" | "unsafe" | "extern" | "default" | "in") || word.starts_with("pub")
    };
    if !line[..before].split_whitespace().all(|word| modifier(word) || word.ends_with(')')) {
        return None;
    }
    let rest = line[before + 3..].trim_start();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// The index after the line that closes the first brace opened at or after `start`; nothing where a semicolon outside
/// all brackets comes first, which is a declaration.
fn body_end(code: &[String], start: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_i32);
    for (index, line) in code.iter().enumerate().skip(start) {
        for c in line.chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                ';' if braces == 0 && brackets == 0 => return None,
                _ => continue,
            }
            if c == '}' && braces == 0 {
                return Some(index + 1);
            }
        }
    }
    None
}

/// `text` with comments, strings and character literals replaced by spaces; line ends stay.
fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let in_word = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let length = match blank_length(rest, in_word) {
            Some(length) => {
                out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                length
            }
            None => {
                let c = rest.chars().next().expect("the rest is not empty");
                out.push(c);
                c.len_utf8()
            }
        };
        at += length;
    }
    out
}

/// How many bytes at the start of `rest` are no code.
fn blank_length(rest: &str, in_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if !in_word && let Some(length) = raw_string(rest) {
        return Some(length);
    }
    match rest.as_bytes()[0] {
        b'"' => Some(escaped(rest, '"')),
        b'\'' => character(rest),
        _ => None,
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let step = match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                2
            }
            Some(b"*/") => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// `r"…"`, `r#"…"#`, and the same after `b` or `c`.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let opened = rest.len() - body.len();
    Some(body.find(&close).map_or(rest.len(), |at| opened + at + close.len()))
}

/// Up to and with the closing quote.
fn escaped(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal; nothing where the quote begins a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        return Some(escaped(rest, '\''));
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::{Function, Source, blanked};

    #[test]
    fn only_code_is_left() {
        // A dot stands for a blank, so that one can count them.
        for (text, code) in [
            ("a // b {\nc", "a.......\nc"),
            ("a/*{/*}*/*/b", "a..........b"),
            (r#"f("} \" {")"#, r#"f(........)"#),
            (r###"r#"a"}"#+var"x""###, "........+var..."),
            (r"'{'+'\''+'a:b", r"...+....+'a:b"),
            ("é'é'é", "é...é"),
        ] {
            assert_eq!(blanked(text).replace(' ', "."), code.replace(' ', "."), "{text}");
        }
    }

    #[test]
    fn functions_end_at_their_brace() {
        let text = "pub(crate) const fn a(x: [u8; 2]) {\n  if x { \"}\" }\n}\ntrait T {\n  fn declared(&self);\n}\n\
                    async fn b()\nwhere\n{ }\nlet f: fn (u8) = c;\n";
        let functions = Source::new("src/x.rs", text).functions();
        let named = |name: &str, lines| Function { name: name.to_owned(), lines };
        assert_eq!(functions, [named("a", 0..3), named("b", 6..9)]);
    }

    #[test]
    fn test_modules_end_too() {
        let text =
            "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn t() {}\n}\nfn b() {}\n#[cfg(test)]\nfn c() {}\n";
        let source = Source::new("src/x.rs", text);
        let tests: Vec<usize> = (0..8).filter(|&index| source.is_test(index)).collect();
        assert_eq!(tests, [1, 2, 3, 4]);
        assert_eq!(source.shipped_lines(), 4);
        assert!(Source::new("crates/a/tests/x.rs", text).is_test(0));
        assert!(Source::new("src/x.rs", "//! Doc.\n#![cfg(test)]\n").is_test(0));
    }
}
