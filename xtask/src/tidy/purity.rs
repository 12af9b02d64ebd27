//! The core reads no clock, no randomness, no file and no socket, not even from the standard library: time and random
//! bits come in as arguments, so that a test can play every order of events.

use super::Finding;
use super::tree::Tree;

const CORE: &str = "crates/samekey-core/src/";

const READS: [&str; 9] = [
    "SystemTime::now",
    "Instant::now",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "now_v7",
    "new_v4",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let core = tree.rust().filter(|(file, _)| file.path.starts_with(CORE));
    let found = core.flat_map(|(file, source)| {
        let shipped = source.code.iter().enumerate().filter(|&(index, _)| !source.is_test(index));
        let reads = shipped.filter_map(|(index, line)| {
            let read = READS.iter().find(|read| line.contains(*read))?;
            let text = format!("`{read}` in the core: let the caller hand in what it gives");
            Some(Finding::new(&file.path, index + 1, text))
        });
        reads.collect::<Vec<_>>()
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::check;

    #[test]
    fn a_clock_in_the_core_is_found() {
        let text =
            "fn f() { Instant::now(); }\n// Instant::now\n#[cfg(test)]\nmod tests {\n  use std::fs;\n}\n";
        let lines: Vec<_> = check(&Tree::of(&[("crates/samekey-core/src/a.rs", text)]))
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(lines, [1]);
        assert_eq!(check(&Tree::of(&[("crates/samekey-server/src/a.rs", text)])), []);
    }
}
