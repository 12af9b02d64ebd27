//! Everything the store holds, and the turn in which a verb works on it.
//!
//! A verb has the whole store to itself for its turn, so each is one transaction by construction. What a user's
//! transaction has done so far lies apart ([`Open`]) until it commits.

use std::collections::{BTreeMap, VecDeque};

use samekey_core::store::Held;
use samekey_core::{FencingToken, Recipe};

use crate::fault::{Call, Fault};
use crate::row::{Name, Row, name};
use crate::transaction::Open;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last one that was given out.
    token: i64,
    /// A recipe's id is its place here, counted from one.
    pub(crate) recipes: Vec<Recipe>,
    pub(crate) rows: BTreeMap<Name, Row>,
    /// Effects of users, by table, in the order of their commits.
    pub(crate) tables: BTreeMap<String, Vec<String>>,
    /// Transactions under way.
    pub(crate) open: BTreeMap<u64, Open>,
    /// The number of the last transaction that was begun.
    pub(crate) begun: u64,
    faults: VecDeque<Fault>,
    pub(crate) reach: Reach,
}

/// Whether the store can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    #[default]
    There,
    Away,
}

impl State {
    pub(crate) fn fail_next(&mut self, fault: Fault) {
        self.faults.push_back(fault);
    }

    /// The fault that strikes this call, if any; each strikes once.
    pub(crate) fn fault(&mut self, call: Call) -> Option<Fault> {
        if self.reach == Reach::Away {
            return Some(Fault::Away);
        }
        let at = self.faults.iter().position(|fault| fault.strikes(call))?;
        self.faults.remove(at)
    }
}

/// One verb's time with the store.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) now: i64,
}

impl Turn<'_> {
    /// Tokens only grow, also over claims that were rolled back.
    pub(crate) fn token(&mut self) -> FencingToken {
        self.state.token += 1;
        FencingToken(self.state.token)
    }

    /// The row that is in progress under this token.
    pub(crate) fn running(&mut self, held: &Held) -> Option<&mut Row> {
        self.state.rows.get_mut(&name(held)).filter(|row| row.is_run_by(held.token))
    }
}
