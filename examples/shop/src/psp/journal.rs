//! The ledger file: a line of JSON for each call that ended, on disk before its answer leaves.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use super::book::Book;
use super::entry::Entry;

/// The end of the file.
#[derive(Debug)]
pub(super) struct Journal(File);

impl Journal {
    pub(super) fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        // A line that is cut here by a full disk would make the next one unreadable.
        let end = self.0.metadata()?.len();
        let written = self.0.write_all(&line).and_then(|()| self.0.sync_data());
        if written.is_err() {
            self.0.set_len(end)?;
        }
        written
    }
}

/// Opens the file, or makes it, and reads the books from it. What follows its last whole line is cut off: nobody was told
/// of it.
pub(super) fn open(path: &Path) -> anyhow::Result<Book> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    let text = std::fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    file.set_len(u64::try_from(whole)?)?;
    let lines = text[..whole].split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let entries = lines.map(|(at, line)| {
        serde_json::from_slice(line).with_context(|| format!("line {} is not a call", at + 1))
    });
    Ok(Book::read(entries.collect::<anyhow::Result<Vec<Entry>>>()?, Journal(file)))
}
