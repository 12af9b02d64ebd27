//! The files of the repository, read once for all rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::source::Source;

/// Made by tools, or not part of what is published.
const PASSED_OVER: [&str; 5] = [".git", "target", "node_modules", "samekey-data", "__pycache__"];

/// Nothing written by hand is longer.
const MAX_TEXT_BYTES: u64 = 2 << 20;

/// Every text file, and the paths of everything. Paths are relative to the root, with `/` on every system.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: Vec<Text>,
    paths: BTreeSet<String>,
}

/// One text file.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(root.join(&folder)).with_context(|| format!("read {folder}/"))?;
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if PASSED_OVER.contains(&name.as_str()) {
                    continue;
                }
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let kind = entry.metadata()?;
                tree.paths.insert(path.clone());
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && kind.len() <= MAX_TEXT_BYTES {
                    tree.add(path, fs::read(entry.path())?);
                }
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// What is not UTF-8 is no text, and only its path is kept.
    fn add(&mut self, path: String, bytes: Vec<u8>) {
        if let Ok(text) = String::from_utf8(bytes) {
            self.files.push(Text { path, text });
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.files.iter()
    }

    /// The text files whose name ends so.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &Text> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// The Rust files, taken apart.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&Text, Source<'_>)> {
        self.ending(".rs").map(|file| (file, Source::new(&file.path, &file.text)))
    }

    pub(super) fn text(&self, path: &str) -> Option<&Text> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or a folder at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    /// A tree out of thin air.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
            tree.paths.extend(folders);
            tree.paths.insert((*path).to_owned());
            tree.add((*path).to_owned(), text.as_bytes().to_vec());
        }
        tree
    }
}
