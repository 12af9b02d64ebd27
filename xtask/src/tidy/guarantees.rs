//! A guarantee without a test is a hope. Every numbered claim names its tests, and every test that is named exists:
//! ``— test: `crates/samekey-core/tests/key.rs` `both_forms_name_the_same_key` ``.

use super::Finding;
use super::tree::Tree;

const PAGE: &str = "GUARANTEES.md";

/// What comes before the names.
const MARK: &str = "test:";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else { return Vec::new() };
    let mut findings = Vec::new();
    for claim in claims(&page.text) {
        let names = names(&claim.text);
        if names.is_empty() {
            findings.push(Finding::new(PAGE, claim.line, "a claim without its test: name it after `test:`"));
        }
        findings.extend(missing(tree, &names).into_iter().map(|text| Finding::new(PAGE, claim.line, text)));
    }
    findings
}

/// A numbered claim, from its number to the next number, heading or table.
struct Claim {
    line: usize,
    text: String,
}

fn claims(text: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        if is_numbered(line) || (!open && line.contains(MARK)) {
            claims.push(Claim { line: index + 1, text: String::new() });
            open = is_numbered(line);
        } else if line.starts_with('#') {
            open = false;
        }
        if let Some(claim) = claims.last_mut().filter(|claim| open || claim.line == index + 1) {
            claim.text.push_str(line);
            claim.text.push('\n');
        }
    }
    claims
}

/// `12. …`
fn is_numbered(line: &str) -> bool {
    line.split_once(". ")
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// What stands in backticks after each mark: files and tests, in their order.
fn names(claim: &str) -> Vec<&str> {
    claim.split(MARK).skip(1).flat_map(|after| after.split('`').skip(1).step_by(2)).collect()
}

/// A file that is not there, a test that is not in the file named before it (or, without a file, nowhere).
fn missing(tree: &Tree, names: &[&str]) -> Vec<String> {
    let mut file = None;
    let mut missing = Vec::new();
    for name in names {
        let path = name.replace("::", "/");
        if let Some(ending) = path.rsplit('/').next().and_then(|last| last.rsplit_once('.')) {
            file = tree.text(&path);
            if file.is_none() && !ending.1.is_empty() {
                missing.push(format!("there is no file `{path}`: correct the name"));
            }
        } else {
            let test = path.rsplit('/').next().unwrap_or(&path);
            let found = match file {
                Some(file) => holds(&file.text, test, name),
                None => tree.texts().any(|file| file.path != PAGE && holds(&file.text, test, name)),
            };
            if !found {
                missing.push(format!("there is no test `{name}`: correct the name, or write it"));
            }
        }
    }
    missing
}

/// As a function, perhaps a generic one, or as the name that a suite gives a case.
fn holds(text: &str, test: &str, name: &str) -> bool {
    let function = |next: char| text.contains(&format!("fn {test}{next}"));
    function('(') || function('<') || text.contains(&format!("\"{name}\""))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::{PAGE, check};

    const TESTS: &str = "#[test]\nfn replays() {}\nasync fn on_any<S: Store>(store: S) {}\nconst CASES: [&str; 1] = [\"claim::twice\"];\n";

    const NONE: [usize; 0] = [];

    /// Lines of the findings for this page beside one test file.
    fn findings(page: &str) -> Vec<usize> {
        let tree = Tree::of(&[(PAGE, page), ("crates/a/tests/x.rs", TESTS), ("crates/a/tests/y.rs", "")]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_named_test_must_exist_in_its_file() {
        assert_eq!(findings("1. A. — test: `crates/a/tests/x.rs` `replays`"), NONE);
        assert_eq!(findings("1. A. — test: `replays`, `claim::twice`"), NONE);
        assert_eq!(findings("1. A. — test: `crates/a/tests/x.rs` `on_any`"), NONE);
        assert_eq!(findings("1. A. — test: `crates::a::tests::x.rs` `replays`"), NONE);
        assert_eq!(findings("1. A. — test: `crates/a/tests/y.rs` `replays`"), [1]);
        assert_eq!(findings("1. A. — test: `crates/a/tests/z.rs`"), [1]);
        assert_eq!(findings("1. A. — test: `forgets`"), [1]);
        assert_eq!(findings("Prose. — test: `forgets`"), [1]);
    }

    #[test]
    fn a_claim_names_a_test_before_the_next_begins() {
        assert_eq!(findings("# G\n1. A\n   over lines.\n   — test: `replays`\n2. B.\n## Next\nprose"), [5]);
    }
}
