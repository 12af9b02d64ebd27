//! What must not be left behind: unfinished code, tests that do not run, tests that guess how long something takes.

use super::Finding;
use super::source::Source;
use super::tree::Tree;

/// The bar keeps this file from being found itself.
const UNFINISHED: &str = "FIX|ME";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let unfinished = UNFINISHED.replace('|', "");
    for file in tree.texts() {
        for (index, line) in file.text.lines().enumerate() {
            if line.contains(&unfinished) {
                let text = format!("{unfinished}: do it now, or say in a sentence what holds instead");
                findings.push(Finding::new(&file.path, index + 1, text));
            }
        }
    }
    for (file, source) in tree.rust() {
        let lines =
            (0..source.code.len()).flat_map(|index| in_line(&source, index).map(move |text| (index, text)));
        findings.extend(lines.map(|(index, text)| Finding::new(&file.path, index + 1, text)));
    }
    findings
}

fn in_line(source: &Source<'_>, index: usize) -> impl Iterator<Item = &'static str> {
    let (line, code) = (source.lines[index], source.code[index].as_str());
    let unfinished = ["todo!", "unimplemented!"].iter().any(|call| has_word(code, call));
    let ignored = code.contains("#[ignore") || code.contains(", ignore") && code.contains("cfg_attr");
    let silent = is_doc(line) && line.contains("```ignore");
    let guess = source.is_test(index) && has_word(code, "sleep(") && !says_why(source, index);
    [
        unfinished.then_some("unfinished code: finish it, or leave the branch out"),
        ignored.then_some("an ignored test proves nothing: make it run, or remove it"),
        silent.then_some("an ignored example proves nothing: let it compile (`no_run`), or mark it `text`"),
        guess.then_some(
            "a sleep in a test guesses: wait for a signal, or say above it after `// waits:` why it is a bound and no \
             guess",
        ),
    ]
    .into_iter()
    .flatten()
}

fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// Whether `word` stands in `code`, not as the end of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    let boundary = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| boundary(at))
}

/// The reason stands in the line itself or in the comment right above it.
fn says_why(source: &Source<'_>, index: usize) -> bool {
    let above = source.lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
    above.chain([&source.lines[index]]).any(|line| line.contains("// waits:"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::{UNFINISHED, check};

    const NONE: [usize; 0] = [];

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unfinished_code_is_found_outside_strings() {
        assert_eq!(
            lines_found("src/a.rs", "todo!();\nlet x = \"todo!\";\n// unimplemented!\nunimplemented!()"),
            [1, 4]
        );
        assert_eq!(lines_found("docs/a.md", &format!("a\n{}: b", UNFINISHED.replace('|', ""))), [2]);
    }

    #[test]
    fn ignored_tests_and_examples_are_found() {
        let text =
            "#[test]\n#[ignore = \"slow\"]\nfn t() {}\n/// ```ignore\n/// x\n/// ```\nfn ignore() {}\n";
        assert_eq!(lines_found("src/a.rs", text), [2, 4]);
    }

    #[test]
    fn a_sleep_in_a_test_needs_its_reason() {
        let bare = "std::thread::sleep(x);";
        let above =
            "// waits: the lease must run out,\n// and only time makes it.\ntokio::time::sleep(x).await;";
        assert_eq!(lines_found("tests/a.rs", bare), [1]);
        assert_eq!(lines_found("tests/a.rs", above), NONE);
        assert_eq!(lines_found("tests/a.rs", "sleep(x); // waits: for the wall clock itself"), NONE);
        assert_eq!(
            lines_found("tests/a.rs", "// waits: why\n\nsleep(x);"),
            [3],
            "a reason stands right above"
        );
        assert_eq!(lines_found("tests/a.rs", "no_sleep(x);"), NONE);
        assert_eq!(lines_found("src/a.rs", bare), NONE, "the dispatcher may pause");
        assert_eq!(lines_found("src/a.rs", "#[cfg(test)]\nmod tests {\n sleep(x);\n}"), [3]);
    }
}
