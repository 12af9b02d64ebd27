//! Who may depend on whom.
//!
//! The rules in the core are functions that a test calls with any input in any order; that ends with the first socket
//! in it. A store that knew another crate of ours than the core, or a client that knew a store, could not be replaced.

use super::Finding;
use super::manifest::{Dependency, Manifest, Presence};
use super::tree::Tree;

/// What the core must not be built on: runtimes, networks, databases. Each stands for its whole family.
const CORE_NEVER: [&str; 11] =
    ["axum", "deadpool", "http", "hyper", "mio", "reqwest", "rusqlite", "sqlx", "tokio", "tower", "lettre"];

const STORES: [&str; 3] = ["samekey-memory", "samekey-postgres", "samekey-sqlite"];

/// These choose a store, or measure one; everybody else takes any.
const CHOOSERS: [&str; 4] = ["samekey-server", "bench", "crash", "testbed"];

/// These stand before stores, each behind a feature: one re-exports them, one brings them another driver.
const BEFORE_STORES: [&str; 2] = [FACADE, "samekey-sqlx"];
const FACADE: &str = "samekey";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.ending("Cargo.toml").map(|file| Manifest::read(&file.path, &file.text));
    manifests
        .flat_map(|manifest| manifest.name().map(|name| of_crate(&manifest, name)).unwrap_or_default())
        .collect()
}

fn of_crate(manifest: &Manifest<'_>, name: &str) -> Vec<Finding> {
    let chooses = CHOOSERS.contains(&name) || manifest.path.starts_with("examples/");
    let edges = manifest.dependencies().into_iter().filter_map(|dependency| {
        let text = forbidden_edge(name, &dependency, chooses)?;
        Some(Finding::new(manifest.path, dependency.line, text))
    });
    let missing = |section, key, advice: &str| match manifest.value(section, key) {
        None | Some("\"\"") => Some(Finding::new(manifest.path, 1, format!("`{name}` {advice}"))),
        Some(_) => None,
    };
    let fields = [
        missing("lints", "workspace", "has no `[lints] workspace = true`: one table for all"),
        missing("package", "license", "has no license: `license.workspace = true`"),
        missing("package", "description", "has no description: one sentence on what it is for"),
    ];
    edges.chain(fields.into_iter().flatten()).collect()
}

/// What is wrong with `name` being built on `dependency`.
fn forbidden_edge(name: &str, dependency: &Dependency<'_>, chooses: bool) -> Option<String> {
    let other = dependency.name;
    let ours = other == FACADE || other.starts_with("samekey-");
    let optional_before = BEFORE_STORES.contains(&name) && dependency.presence == Presence::Optional;
    match name {
        "samekey-core" if ours || CORE_NEVER.iter().any(|family| is_of(other, family)) => Some(format!(
            "the core does no I/O and depends on no crate of ours: `{other}` belongs in a crate above it"
        )),
        _ if STORES.contains(&name) && ours && other != "samekey-core" => {
            Some(format!("a store depends on samekey-core only: `{other}` belongs above it"))
        }
        _ if STORES.contains(&other) && !chooses && !optional_before => Some(format!(
            "`{name}` names the store `{other}`: take any store that keeps samekey-core's traits (the facade: `optional = true`)"
        )),
        _ => None,
    }
}

/// `tokio`, `tokio-util`, `tokio_x`.
fn is_of(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::check;

    const FIELDS: &str = "license.workspace = true\ndescription = \"x\"\n[lints]\nworkspace = true\n";

    /// How many findings a crate gets for one line under `[dependencies]`.
    fn findings(name: &str, dependency: &str) -> usize {
        let text = format!("[package]\nname = \"{name}\"\n{FIELDS}[dependencies]\n{dependency}\n");
        check(&Tree::of(&[("crates/a/Cargo.toml", &text)])).len()
    }

    #[test]
    fn the_core_is_built_on_nothing_that_does_io() {
        for never in [
            "tokio.workspace = true",
            "http-body = \"1\"",
            "tokio-postgres = \"1\"",
            "samekey-sqlite = \"1\"",
        ] {
            assert_eq!(findings("samekey-core", never), 1, "{never}");
        }
        for fine in ["sha2 = \"1\"", "httpdate = \"1\"", "[dev-dependencies]\ntokio = \"1\""] {
            assert_eq!(findings("samekey-core", fine), 0, "{fine}");
        }
    }

    #[test]
    fn a_store_knows_the_core_only() {
        assert_eq!(findings("samekey-postgres", "samekey-core.workspace = true\ntokio-postgres = \"1\""), 0);
        assert_eq!(findings("samekey-postgres", "samekey-sqlite.workspace = true"), 1);
        assert_eq!(findings("samekey-sqlite", "[dev-dependencies]\nsamekey-conformance.workspace = true"), 0);
    }

    #[test]
    fn few_name_a_store() {
        let store = "samekey-sqlite.workspace = true";
        assert_eq!(findings("samekey-http", store), 1);
        assert_eq!(findings("samekey-server", store), 0);
        assert_eq!(findings("samekey", store), 1);
        assert_eq!(findings("samekey-sqlx", store), 1);
        for before in ["samekey", "samekey-sqlx"] {
            assert_eq!(findings(before, "samekey-sqlite = { workspace = true, optional = true }"), 0);
        }
        assert_eq!(findings("xtask", "testbed.workspace = true"), 0);
    }

    #[test]
    fn every_crate_has_lints_a_license_and_a_description() {
        let bare = "[package]\nname = \"a\"\ndescription = \"\"\n";
        assert_eq!(check(&Tree::of(&[("a/Cargo.toml", bare)])).len(), 3);
        assert_eq!(check(&Tree::of(&[("Cargo.toml", "[workspace]\nresolver = \"3\"\n")])), []);
    }
}
