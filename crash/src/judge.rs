//! The judge: from the evidence to a verdict, without asking anybody.
//!
//! A pure function, so that every fault it must see can be shown to it in a test. It counts per intent:
//!
//! - **lost**: accepted, and either said to be sent without a copy at the witness, or no longer known;
//! - **duplicate**: two message ids for one key, two `Message-ID`s for one intent, or more copies than the policy and the
//!   attempts explain;
//! - **divergent**: two accounts of one thing that cannot both be true;
//! - **stuck**: no definite answer or no final state, although everything had healed.
//!
//! A copy beyond the first that the policy allows is a *wire repeat*: counted apart, no fault.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use crate::evidence::{Account, Evidence, Intent, Mail, Policy, State, Subject, recipient};

/// The four things that must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Lost,
    Duplicate,
    Divergent,
    Stuck,
}

impl Fault {
    pub(crate) const ALL: [Self; 4] = [Self::Lost, Self::Duplicate, Self::Divergent, Self::Stuck];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicate => "duplicate",
            Self::Divergent => "divergent",
            Self::Stuck => "stuck",
        }
    }
}

/// One fault, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) fault: Fault,
    /// None where not even the intent is known.
    pub(crate) intent: Option<u64>,
    pub(crate) what: String,
}

/// What became of all intents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) intents: usize,
    pub(crate) mails: usize,
    pub(crate) wire_repeats: usize,
    pub(crate) unknown: usize,
    pub(crate) findings: Vec<Finding>,
}

impl Verdict {
    /// How many intents show `fault`, however many things show it.
    pub(crate) fn count(&self, fault: Fault) -> usize {
        let of_that_kind = self.findings.iter().filter(|finding| finding.fault == fault);
        let nobodys = of_that_kind.clone().filter(|finding| finding.intent.is_none()).count();
        nobodys + of_that_kind.filter_map(|finding| finding.intent).collect::<BTreeSet<_>>().len()
    }

    fn find(&mut self, fault: Fault, number: u64, what: impl Display) {
        self.findings.push(Finding { fault, intent: Some(number), what: format!("intent {number}: {what}") });
    }
}

/// Judges one trial.
pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict =
        Verdict { intents: evidence.intents.len(), mails: evidence.mails.len(), ..Verdict::default() };
    let copies = sort_mails(evidence, &mut verdict);
    for (&number, intent) in &evidence.intents {
        let copies = copies.get(&number).map_or(&[][..], Vec::as_slice);
        judge_answers(number, intent, &mut verdict);
        judge_message_ids(number, copies, &mut verdict);
        for id in &intent.ids {
            match evidence.accounts.get(id) {
                Some(account) => judge_account(evidence.policy, number, account, copies.len(), &mut verdict),
                None => verdict.find(Fault::Stuck, number, format_args!("nobody could ask for {id}")),
            }
        }
    }
    verdict
}

/// The mails by intent; those that belong to none, or to a body that was refused, are findings at once.
fn sort_mails<'a>(evidence: &'a Evidence, verdict: &mut Verdict) -> BTreeMap<u64, Vec<&'a Mail>> {
    let mut copies: BTreeMap<u64, Vec<&Mail>> = BTreeMap::new();
    for mail in &evidence.mails {
        match Subject::parse(&mail.subject) {
            Some(Subject::Own(number)) if evidence.intents.contains_key(&number) => {
                if mail.recipient != recipient(number) {
                    verdict.find(Fault::Divergent, number, format_args!("went to {}", mail.recipient));
                }
                copies.entry(number).or_default().push(mail);
            }
            Some(Subject::Own(number)) => {
                verdict.find(Fault::Divergent, number, "a mail, but no such intent");
            }
            Some(Subject::Other(number)) => {
                verdict.find(Fault::Divergent, number, "the body that was refused was delivered");
            }
            None => {
                let what = format!("a mail of no intent: {:?}", mail.subject);
                verdict.findings.push(Finding { fault: Fault::Divergent, intent: None, what });
            }
        }
    }
    copies
}

fn judge_answers(number: u64, intent: &Intent, verdict: &mut Verdict) {
    if intent.ids.is_empty() {
        verdict.find(Fault::Stuck, number, "never got a definite answer");
    }
    if intent.ids.len() > 1 {
        verdict.find(Fault::Duplicate, number, format_args!("one key, several messages: {:?}", intent.ids));
    }
    if intent.queued > 1 {
        verdict.find(
            Fault::Divergent,
            number,
            format_args!("{} answers said to be the first", intent.queued),
        );
    }
    for answer in &intent.astray {
        verdict.find(Fault::Divergent, number, answer);
    }
}

fn judge_message_ids(number: u64, copies: &[&Mail], verdict: &mut Verdict) {
    let distinct: BTreeSet<_> = copies.iter().map(|mail| mail.message_id.as_str()).collect();
    if distinct.len() > 1 {
        verdict.find(Fault::Duplicate, number, format_args!("several Message-IDs: {distinct:?}"));
    }
}

/// Compares what the service says with what the witness has.
fn judge_account(policy: Policy, number: u64, account: &Account, copies: usize, verdict: &mut Verdict) {
    judge_copies(policy, number, account, copies, verdict);
    match (account.state, copies, account.maybe_sent, policy) {
        (State::Gone, ..) => verdict.find(Fault::Lost, number, "accepted, and now unheard of"),
        (State::Open, ..) => verdict.find(Fault::Stuck, number, "not final after healing"),
        (State::Sent, 0, ..) => verdict.find(Fault::Lost, number, "said to be sent, and no copy came"),
        (State::GivenUp, ..) => verdict.find(
            Fault::Divergent,
            number,
            format_args!("given up, though nothing was refused for good; copies: {copies}"),
        ),
        (State::Unknown, _, false, _) => {
            verdict.find(Fault::Divergent, number, "unknown, yet no attempt was ambiguous");
        }
        (State::Unknown, _, true, Policy::AtLeastOnce) => {
            verdict.find(Fault::Divergent, number, "left unknown, though retries were left");
        }
        (State::Unknown, _, true, Policy::AtMostOnce) => verdict.unknown += 1,
        (State::Sent, ..) => {}
    }
}

/// Every copy needs an attempt that may have arrived, and every second one the policy's leave.
fn judge_copies(policy: Policy, number: u64, account: &Account, copies: usize, verdict: &mut Verdict) {
    let fault = if copies > 1 { Fault::Duplicate } else { Fault::Divergent };
    if account.doubtful > 0 && !account.maybe_sent {
        verdict.find(Fault::Divergent, number, "an attempt was ambiguous, yet it is not marked maybe sent");
    }
    if policy == Policy::AtMostOnce && account.arrivals() > 1 {
        verdict.find(fault, number, "tried again after an ambiguous attempt, under at-most-once");
    } else if copies > account.arrivals() && account.state != State::Gone {
        let what = format_args!("{copies} copies, but {} attempts that may have arrived", account.arrivals());
        verdict.find(fault, number, what);
    } else {
        verdict.wire_repeats += copies.saturating_sub(1);
    }
}
