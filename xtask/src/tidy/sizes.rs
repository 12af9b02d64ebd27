//! A function fits on a screen, a file has one subject. Forty and four hundred lines are what we aim at; here is where
//! it ends.

use super::Finding;
use super::tree::Tree;

const MAX_FUNCTION_LINES: usize = 70;
const MAX_FILE_LINES: usize = 600;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let lines = source.shipped_lines();
        if lines > MAX_FILE_LINES {
            let text =
                format!("{lines} lines without tests, {MAX_FILE_LINES} are the most: split it by subject");
            findings.push(Finding::new(&file.path, 1, text));
        }
        for function in source.functions() {
            let (lines, at) = (function.lines.len(), function.lines.start);
            if lines > MAX_FUNCTION_LINES && !source.is_test(at) {
                let text = format!(
                    "`{}` has {lines} lines, {MAX_FUNCTION_LINES} are the most: name its parts",
                    function.name
                );
                findings.push(Finding::new(&file.path, at + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::check;

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "x();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_too_long_unless_it_is_a_test() {
        assert_eq!(check(&Tree::of(&[("src/a.rs", &function(70))])), []);
        let findings = check(&Tree::of(&[("src/a.rs", &function(71))]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().starts_with("src/a.rs:1: `f` has 71 lines"), "{}", findings[0]);
        assert_eq!(check(&Tree::of(&[("tests/a.rs", &function(71))])), []);
    }

    #[test]
    fn a_file_of_601_lines_is_too_long() {
        assert_eq!(check(&Tree::of(&[("src/a.rs", &"//\n".repeat(600))])), []);
        assert_eq!(check(&Tree::of(&[("src/a.rs", &"//\n".repeat(601))])).len(), 1);
    }
}
