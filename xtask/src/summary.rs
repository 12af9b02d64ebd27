//! The summary lines of many test programs, kept to be said again at the end.
//!
//! `cargo test` runs one program per crate and test file; the lines that count lie pages apart, and a later phase
//! pushes them all off the screen.

/// What the lines that begin with `test result:` said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    lines: Vec<String>,
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Summary {
    /// Takes note of a line of output, where it is one of these.
    pub(crate) fn look(&mut self, line: &str) {
        if !line.starts_with("test result:") {
            return;
        }
        self.passed += count(line, "passed");
        self.failed += count(line, "failed");
        self.ignored += count(line, "ignored");
        self.lines.push(line.to_owned());
    }

    /// All lines again, except those of programs without a test, and their sum in the same form.
    pub(crate) fn print(&self) {
        println!();
        for line in self.lines.iter().filter(|line| count(line, "passed") + count(line, "failed") > 0) {
            println!("{line}");
        }
        let Self { lines, passed, failed, ignored } = self;
        println!("all {} test programs: {passed} passed; {failed} failed; {ignored} ignored", lines.len());
    }
}

/// The number before `word`.
fn count(line: &str, word: &str) -> usize {
    let before = line.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
    before.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn results_are_added_up() {
        let mut summary = Summary::default();
        summary.look("running 3 tests");
        summary.look(
            "test result: ok. 16 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.16s",
        );
        summary.look("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        assert_eq!((summary.lines.len(), summary.passed, summary.failed, summary.ignored), (2, 18, 1, 1));
    }
}
