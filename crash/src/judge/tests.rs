//! Every fault is shown to the judge once, and once the case beside it that is none.

use std::collections::BTreeMap;

use super::{Fault, judge};
use crate::evidence::{Account, Evidence, Intent, Mail, Policy, State, recipient};

/// One intent, accepted and sent with one copy; each test spoils one thing.
fn well(policy: Policy) -> Evidence {
    let intent = Intent { ids: ["msg_7".to_owned()].into(), queued: 1, astray: Vec::new() };
    let account = Account { state: State::Sent, maybe_sent: false, answered: 1, doubtful: 0 };
    Evidence {
        policy,
        intents: BTreeMap::from([(7, intent)]),
        accounts: BTreeMap::from([("msg_7".to_owned(), account)]),
        mails: vec![mail("<a@example.org>", 7)],
    }
}

fn mail(message_id: &str, number: u64) -> Mail {
    Mail {
        message_id: message_id.to_owned(),
        recipient: recipient(number),
        subject: format!("Intent {number}"),
    }
}

fn say(evidence: &mut Evidence, state: State, answered: usize, doubtful: usize) {
    let account = Account { state, maybe_sent: doubtful > 0, answered, doubtful };
    evidence.accounts.insert("msg_7".to_owned(), account);
}

#[track_caller]
fn assert_faults(evidence: &Evidence, expected: &[Fault]) {
    let found: Vec<Fault> = judge(evidence).findings.iter().map(|finding| finding.fault).collect();
    assert_eq!(found, expected, "{:?}", judge(evidence).findings);
}

#[test]
fn one_intent_one_message_one_copy_is_well() {
    for policy in [Policy::AtLeastOnce, Policy::AtMostOnce] {
        assert_faults(&well(policy), &[]);
        assert_eq!(judge(&well(policy)).wire_repeats, 0);
    }
}

#[test]
fn sent_without_a_copy_is_lost() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.clear();
    assert_faults(&evidence, &[Fault::Lost]);
}

#[test]
fn accepted_and_unheard_of_is_lost() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.clear();
    say(&mut evidence, State::Gone, 0, 0);
    assert_faults(&evidence, &[Fault::Lost]);
}

#[test]
fn another_message_id_is_a_duplicate_even_after_an_ambiguous_attempt() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.push(mail("<b@example.org>", 7));
    say(&mut evidence, State::Sent, 1, 1);
    assert_faults(&evidence, &[Fault::Duplicate]);
}

#[test]
fn two_messages_for_one_key_are_a_duplicate() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.intents.get_mut(&7).unwrap().ids.insert("msg_8".to_owned());
    evidence.accounts.insert("msg_8".to_owned(), evidence.accounts["msg_7"].clone());
    assert_faults(&evidence, &[Fault::Duplicate]);
}

#[test]
fn a_repeat_is_allowed_only_after_an_ambiguous_attempt_and_only_at_least_once() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.push(mail("<a@example.org>", 7));
    say(&mut evidence, State::Sent, 1, 1);
    assert_faults(&evidence, &[]);
    assert_eq!(judge(&evidence).wire_repeats, 1);

    evidence.policy = Policy::AtMostOnce;
    assert_faults(&evidence, &[Fault::Duplicate]);

    evidence.policy = Policy::AtLeastOnce;
    say(&mut evidence, State::Sent, 1, 0);
    assert_faults(&evidence, &[Fault::Duplicate]);
    assert_eq!(judge(&evidence).wire_repeats, 0);
}

#[test]
fn a_copy_from_no_attempt_that_may_have_arrived_is_divergent() {
    for state in [State::Sent, State::GivenUp] {
        let mut evidence = well(Policy::AtLeastOnce);
        say(&mut evidence, state, 0, 0);
        let copy_unexplained = judge(&evidence).findings.remove(0);
        assert!(copy_unexplained.what.contains("1 copies, but 0 attempts"), "{copy_unexplained:?}");
    }
}

#[test]
fn an_ambiguous_attempt_without_its_mark_is_divergent() {
    let mut evidence = well(Policy::AtLeastOnce);
    let account = Account { state: State::Sent, maybe_sent: false, answered: 1, doubtful: 1 };
    evidence.accounts.insert("msg_7".to_owned(), account);
    assert_faults(&evidence, &[Fault::Divergent]);
}

#[test]
fn trying_again_after_an_ambiguous_attempt_is_no_at_most_once_even_where_one_copy_came() {
    let mut evidence = well(Policy::AtMostOnce);
    say(&mut evidence, State::Sent, 1, 1);
    assert_faults(&evidence, &[Fault::Divergent]);
}

#[test]
fn given_up_is_divergent_since_nothing_was_refused() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.clear();
    say(&mut evidence, State::GivenUp, 0, 0);
    assert_faults(&evidence, &[Fault::Divergent]);
}

#[test]
fn still_queued_is_stuck_and_with_an_unexplained_copy_divergent_too() {
    let mut evidence = well(Policy::AtLeastOnce);
    say(&mut evidence, State::Open, 0, 1);
    assert_faults(&evidence, &[Fault::Stuck]);
    say(&mut evidence, State::Open, 0, 0);
    assert_faults(&evidence, &[Fault::Divergent, Fault::Stuck]);
}

#[test]
fn unknown_needs_an_ambiguous_attempt_and_at_most_once() {
    let mut evidence = well(Policy::AtMostOnce);
    say(&mut evidence, State::Unknown, 0, 1);
    assert_faults(&evidence, &[]);
    assert_eq!(judge(&evidence).unknown, 1);

    evidence.policy = Policy::AtLeastOnce;
    assert_faults(&evidence, &[Fault::Divergent]);

    evidence.policy = Policy::AtMostOnce;
    evidence.mails.clear();
    say(&mut evidence, State::Unknown, 0, 0);
    assert_faults(&evidence, &[Fault::Divergent]);
}

#[test]
fn no_answer_and_no_account_are_stuck() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.accounts.clear();
    assert_faults(&evidence, &[Fault::Stuck]);

    evidence.intents.insert(7, Intent::default());
    evidence.mails.clear();
    assert_faults(&evidence, &[Fault::Stuck]);
}

#[test]
fn a_refused_body_that_was_delivered_is_divergent() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.push(Mail { subject: "Other 7".to_owned(), ..mail("<b@example.org>", 7) });
    assert_faults(&evidence, &[Fault::Divergent]);
}

#[test]
fn mails_of_nobody_and_to_somebody_else_are_divergent() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.push(mail("<b@example.org>", 8));
    evidence.mails.push(Mail { subject: "Lottery".to_owned(), ..mail("<c@example.org>", 7) });
    evidence.mails[0].recipient = recipient(9);
    assert_faults(&evidence, &[Fault::Divergent; 3]);
}

#[test]
fn answers_that_contradict_each_other_are_divergent() {
    let mut evidence = well(Policy::AtLeastOnce);
    let intent = evidence.intents.get_mut(&7).unwrap();
    intent.queued = 2;
    intent.astray.push("answered 404".to_owned());
    assert_faults(&evidence, &[Fault::Divergent; 2]);
}

#[test]
fn an_intent_counts_once_however_much_shows_its_fault() {
    let mut evidence = well(Policy::AtLeastOnce);
    evidence.mails.push(mail("<b@example.org>", 7));
    evidence.mails.push(Mail { subject: "Lottery".to_owned(), ..mail("<c@example.org>", 7) });
    evidence.mails.push(Mail { subject: "Lottery".to_owned(), ..mail("<d@example.org>", 7) });
    assert_faults(&evidence, &[Fault::Divergent, Fault::Divergent, Fault::Duplicate, Fault::Duplicate]);
    let verdict = judge(&evidence);
    assert_eq!((verdict.count(Fault::Duplicate), verdict.count(Fault::Divergent)), (1, 2));
}
