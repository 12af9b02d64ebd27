//! Names are the contract's words. A module called "helpers" says nothing of what is in it, so everything ends up in it.

use super::Finding;
use super::tree::Tree;

const EMPTY_WORDS: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "manager", "misc"];

/// Source of any language.
const SOURCES: [&str; 6] = [".rs", ".ts", ".tsx", ".js", ".py", ".sql"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.texts().filter(|file| SOURCES.iter().any(|end| file.path.ends_with(end)));
    let by_path = sources.filter_map(|file| {
        let word = file.path.split(['/', '.', '_', '-']).find(|part| EMPTY_WORDS.contains(part))?;
        Some(Finding::new(&file.path, 1, advice(word)))
    });
    let by_module = tree.rust().flat_map(|(file, source)| {
        let lines = source.code.iter().enumerate();
        let found = lines.filter_map(|(index, line)| {
            let word = module_name(line)?.split('_').find(|part| EMPTY_WORDS.contains(part))?;
            Some(Finding::new(&file.path, index + 1, advice(word)))
        });
        found.collect::<Vec<_>>()
    });
    by_path.chain(by_module).collect()
}

fn advice(word: &str) -> String {
    format!("`{word}` says nothing of what is in it: name it by its subject")
}

fn module_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || word.ends_with(')'));
    (words.next()? == "mod").then_some(())?;
    Some(words.next()?.trim_end_matches([';', '{']))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::check;

    #[test]
    fn empty_words_are_found_in_paths_and_modules() {
        for (path, text) in [
            ("src/utils.rs", ""),
            ("src/common/mod.rs", ""),
            ("clients/a/src/string-helpers.ts", ""),
            ("src/lib.rs", "pub(crate) mod lease_manager;"),
            ("src/lib.rs", "mod util {"),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), 1, "{path}: {text}");
        }
        let fine =
            [("src/lease.rs", "mod communal;\n// mod utils;\nlet manager = 1;"), ("docs/common.md", "")];
        assert_eq!(check(&Tree::of(&fine)), []);
    }
}
