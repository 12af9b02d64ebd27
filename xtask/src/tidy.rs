//! A test of the tree itself.
//!
//! Some promises of this project are about what is absent: no runtime in the core, no store in the client, no ignored
//! test, no function that does not fit a screen. Nothing fails when such a promise is broken, so it is broken sooner or
//! later, by somebody in a hurry. Each rule here reads the tree as text, takes milliseconds, and says for each finding
//! what to do.

mod crates;
mod guarantees;
mod links;
mod locks;
mod manifest;
mod markers;
mod names;
mod purity;
mod sizes;
mod source;
mod tree;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use tree::Tree;

/// One thing that is wrong in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    /// What is wrong, and what to do.
    text: String,
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// Looks at the whole tree and reports what it does not like.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 9] = [
    crates::check,
    guarantees::check,
    links::check,
    locks::check,
    markers::check,
    names::check,
    purity::check,
    sizes::check,
    words::check,
];

/// Applies every rule to the tree under `root`.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing to say", tree.texts().count());
            Ok(())
        }
        count => bail!("tidy found {count} thing(s) to put right, listed above"),
    }
}
