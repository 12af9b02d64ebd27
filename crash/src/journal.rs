//! What the clients did and were told, in the order it happened.
//!
//! A client notes before it sends and after it was answered. The text is for people who look into a fault; what the
//! judge needs is kept beside it, by intent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::evidence::Intent;

#[derive(Debug)]
pub(crate) struct Journal {
    started: Instant,
    pages: Mutex<Pages>,
}

#[derive(Debug)]
struct Pages {
    text: BufWriter<File>,
    intents: BTreeMap<u64, Intent>,
}

impl Journal {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let text = BufWriter::new(File::create(path).context("create the clients' journal")?);
        Ok(Self { started: Instant::now(), pages: Mutex::new(Pages { text, intents: BTreeMap::new() }) })
    }

    /// Before an attempt leaves. From here on the intent exists, whatever comes back.
    pub(crate) fn before(&self, number: u64, what: impl Display) {
        self.note(number, format_args!("-> {what}"), |_| ());
    }

    /// After an attempt, with what it teaches about the intent.
    pub(crate) fn after(&self, number: u64, what: impl Display, learn: impl FnOnce(&mut Intent)) {
        self.note(number, format_args!("<- {what}"), learn);
    }

    fn note(&self, number: u64, what: impl Display, learn: impl FnOnce(&mut Intent)) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let mut pages = self.pages.lock().expect("nobody panics while holding this lock");
        learn(pages.intents.entry(number).or_default());
        // The text only helps to understand; a full disk shows itself in the witness's log, which counts.
        let _ = writeln!(pages.text, "{elapsed:10.6} intent {number} {what}");
    }

    /// Every message id that any client was given.
    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let pages = self.pages.lock().expect("nobody panics while holding this lock");
        pages.intents.values().flat_map(|intent| intent.ids.iter().cloned()).collect()
    }

    /// Closes it.
    pub(crate) fn close(self) -> Result<BTreeMap<u64, Intent>> {
        let mut pages = self.pages.into_inner().expect("nobody panics while holding this lock");
        pages.text.flush().context("write the clients' journal")?;
        Ok(pages.intents)
    }
}
