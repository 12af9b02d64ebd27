//! The provider's books: keys, charges, calls.
//!
//! Nothing counts before it is written: an entry goes to the journal first, then into what is held here. So what a caller
//! hears, what `GET /charges` shows and what is found after a kill are one.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use super::answer::Answer;
use super::entry::{Charge, Entry, Stage};
use super::fault::Fault;
use super::journal::Journal;
use super::order::{Order, hex};

/// Calls that are remembered, and with them keys. More than any test makes; about 100 MB.
const MAX_CALLS: usize = 100_000;

/// Faults that wait.
const MAX_FAULTS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Book {
    journal: Option<Journal>,
    keys: HashMap<String, Kept>,
    charges: Vec<Charge>,
    calls: BTreeMap<u64, Entry>,
    faults: VecDeque<Fault>,
}

/// What a key stands for.
#[derive(Debug)]
struct Kept {
    body_sha256: String,
    /// `None`: the first call is under way.
    answer: Option<Answer>,
}

/// What a call with a key finds.
#[derive(Debug)]
pub(super) enum Found {
    /// The key is new, and this call's to work under.
    Nothing,
    /// It has an answer.
    Kept(Answer),
    /// It is another body's, or under way.
    Refused(Answer),
}

impl Book {
    /// The books as the journal tells them.
    pub(super) fn read(entries: Vec<Entry>, journal: Journal) -> Self {
        let mut book = Self::default();
        for entry in entries {
            book.enter(entry);
        }
        Self { journal: Some(journal), ..book }
    }

    /// Notes that a call came; `None` where there is no more room.
    pub(super) fn receive(&mut self, key: Option<&str>, order: Option<&Order>) -> Option<Entry> {
        if self.calls.len() >= MAX_CALLS {
            return None;
        }
        let entry = Entry {
            seq: self.calls.last_key_value().map_or(0, |(last, _)| *last) + 1,
            key: key.map(str::to_owned),
            amount_cents: order.map(|order| order.amount_cents),
            stage: Stage::InProgress,
            answered: None,
            charged: None,
            kept: None,
            body_sha256: order.map(|order| order.body_sha256.clone()),
            fault: None,
        };
        self.calls.insert(entry.seq, entry.clone());
        Some(entry)
    }

    /// Looks the key up, and takes it where it is free.
    pub(super) fn begin(&mut self, key: &str, order: &Order) -> Found {
        match self.keys.get(key) {
            None => {
                let kept = Kept { body_sha256: order.body_sha256.clone(), answer: None };
                self.keys.insert(key.to_owned(), kept);
                Found::Nothing
            }
            Some(kept) if kept.body_sha256 != order.body_sha256 => Found::Refused(Answer::key_reused()),
            Some(Kept { answer: Some(answer), .. }) => Found::Kept(answer.clone()),
            Some(_) => Found::Refused(Answer::in_progress()),
        }
    }

    /// Gives a key back under which nothing happened.
    pub(super) fn forget(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// Ends a call: on disk first, then here.
    pub(super) fn end(&mut self, entry: Entry) -> io::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&entry)?;
        }
        self.enter(entry);
        Ok(())
    }

    fn enter(&mut self, entry: Entry) {
        if let (Some(key), Some(body_sha256), Some(answer)) = (&entry.key, &entry.body_sha256, &entry.kept) {
            let kept = Kept { body_sha256: body_sha256.clone(), answer: Some(answer.clone()) };
            self.keys.insert(key.clone(), kept);
        }
        self.charges.extend(entry.charged.clone());
        self.calls.insert(entry.seq, entry);
    }

    /// Says how many wait then; an error where there are too many.
    pub(super) fn fail_next(&mut self, faults: Vec<Fault>) -> Result<usize, Answer> {
        if self.faults.len() + faults.len() > MAX_FAULTS {
            return Err(Answer::invalid("1000 faults can wait at the most"));
        }
        self.faults.extend(faults);
        Ok(self.faults.len())
    }

    pub(super) fn next_fault(&mut self) -> Option<Fault> {
        self.faults.pop_front()
    }

    pub(super) fn charges(&self) -> &[Charge] {
        &self.charges
    }

    pub(super) fn calls(&self) -> Vec<&Entry> {
        self.calls.values().collect()
    }
}

impl Charge {
    /// A new one for this order.
    pub(super) fn of(order: &Order) -> Result<Self, getrandom::Error> {
        let mut id = [0; 12];
        getrandom::fill(&mut id)?;
        Ok(Self {
            id: format!("ch_{}", hex(&id)),
            amount_cents: order.amount_cents,
            currency: order.currency.clone(),
            account: order.account.clone(),
        })
    }
}
