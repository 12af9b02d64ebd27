//! The repository stands alone: it names no folder of the machine it was written on, and tells nothing of how the work
//! on it is organised. Both mean nothing to a reader, and the first breaks everywhere else.

use super::Finding;
use super::tree::Tree;

/// Where absolute paths of somebody's machine begin. The bars keep this file from being found itself.
const MACHINE_PATHS: [&str; 4] = ["/wo|rk/", "/ro|ot/", "/ho|me/", "/Us|ers/"];

/// Words that describe how the work is organised; lower case.
const PRIVATE_WORDS: [&str; 10] = [
    "iss|ue #",
    "this ses|sion",
    "last ses|sion",
    "next ses|sion",
    "helper age|nt",
    "helper ses|sion",
    "sub|agent",
    "language mo|del",
    "context win|dow",
    "../sha|red/",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let paths = MACHINE_PATHS.map(|path| path.replace('|', ""));
    let words = PRIVATE_WORDS.map(|word| word.replace('|', ""));
    let mut findings = Vec::new();
    for file in tree.texts() {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(path) = paths.iter().find(|path| is_absolute_in(line, path)) {
                let text =
                    format!("`{path}…` exists on one machine only: use a relative path, or `/path/to/…`");
                findings.push(Finding::new(&file.path, index + 1, text));
            }
            let lower = line.to_lowercase();
            if let Some(word) = words.iter().find(|word| stands_in(&lower, word)) {
                let text = format!(
                    "`{word}` speaks of how the work is organised: say what holds (others' reports are owner/repository#N)"
                );
                findings.push(Finding::new(&file.path, index + 1, text));
            }
        }
    }
    findings
}

/// `https://host/…/` and `a/…/b` hold the same letters, but there they continue something.
fn is_absolute_in(line: &str, path: &str) -> bool {
    let continues =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | ')' | '*' | '~' | '/');
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(continues))
}

fn stands_in(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::{MACHINE_PATHS, PRIVATE_WORDS, check};

    #[test]
    fn every_machine_path_is_found_where_it_begins() {
        for path in MACHINE_PATHS.map(|path| path.replace('|', "")) {
            for line in [format!("cd {path}main"), format!("(`{path}a`)"), format!("x={path}")] {
                assert_eq!(check(&Tree::of(&[("a.md", &line)])).len(), 1, "{line}");
            }
            for line in
                [format!("https://example.org{path}"), format!("src{path}lease.rs"), format!("${{x}}{path}")]
            {
                assert_eq!(check(&Tree::of(&[("a.md", &line)])), [], "{line}");
            }
        }
    }

    #[test]
    fn every_private_word_is_found_in_any_case() {
        for word in PRIVATE_WORDS.map(|word| word.replace('|', "")) {
            let line = format!("As {}2 says", word.to_uppercase());
            assert_eq!(check(&Tree::of(&[("src/a.rs", &line)])).len(), 1, "{line}");
        }
        assert_eq!(check(&Tree::of(&[("a.md", "an SMTP session; rust-lang/rust#100013; a tissue #2")])), []);
    }
}
