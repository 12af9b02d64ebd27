//! A lock file that was written behind a mirror names the mirror, and then resolves nowhere else.

use super::Finding;
use super::tree::Tree;

/// The registry's name as cargo writes it, whatever mirror it was fetched through.
const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// What npm, pnpm and yarn call theirs.
const NODE_LOCKS: [&str; 3] = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let cargo = tree.ending("Cargo.lock").flat_map(|file| {
        let other = |line: &str| line.starts_with("source = ") && line != CRATES_IO;
        lines(
            &file.path,
            &file.text,
            other,
            "not from crates.io: depend on a published crate, by its registry name",
        )
    });
    let node = tree.texts().filter(|file| NODE_LOCKS.iter().any(|name| file.path.ends_with(name)));
    let node = node.flat_map(|file| {
        let host = |line: &str| {
            let line = line.trim_start().trim_start_matches('"');
            (line.starts_with("resolved") || line.starts_with("resolution")) && line.contains("://")
        };
        lines(
            &file.path,
            &file.text,
            host,
            "names a registry host: set `omit-lockfile-registry-resolved=true`",
        )
    });
    let python = tree.texts().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        name.starts_with("requirements") && name.ends_with(".txt")
    });
    let python = python.flat_map(|file| {
        lines(
            &file.path,
            &file.text,
            |line| line.contains("://"),
            "names a host: pin names and versions only",
        )
    });
    cargo.chain(node).chain(python).collect()
}

fn lines(path: &str, text: &str, wrong: impl Fn(&str) -> bool, advice: &str) -> Vec<Finding> {
    let wrong = text.lines().enumerate().filter(|(_, line)| wrong(line));
    wrong.map(|(index, _)| Finding::new(path, index + 1, advice)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::{CRATES_IO, check};

    #[test]
    fn only_the_ordinary_registries_pass() {
        for (path, text, findings) in [
            ("Cargo.lock", CRATES_IO, 0),
            ("fuzz/Cargo.lock", "source = \"registry+https://mirror.example/index\"", 1),
            ("Cargo.lock", "source = \"git+https://github.com/a/b#c\"", 1),
            ("clients/package-lock.json", "  \"resolved\": \"https://mirror.example/a.tgz\",", 1),
            ("clients/package-lock.json", "  \"resolved\": \"packages/client\",", 0),
            ("testbed/requirements.txt", "a==1\n--index-url https://mirror.example/simple", 1),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), findings, "{path}: {text}");
        }
    }
}
