//! A table for people, and a last line for scripts.

use std::process::ExitCode;

use crate::judge::{Fault, Verdict};
use crate::trial::Outcome;

/// More findings of one kind than this say nothing new.
const SHOWN: usize = 5;

pub(crate) fn print_heading() {
    println!(
        "{:<9} {:<14} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6} {:>10} {:>10} {:>6} {:>8}",
        "store",
        "policy",
        "kills",
        "intents",
        "mails",
        "repeats",
        "unknown",
        "lost",
        "duplicate",
        "divergent",
        "stuck",
        "seconds"
    );
}

/// One trial, and under it what was found.
pub(crate) fn print_line(outcome: &Outcome) {
    let verdict = &outcome.verdict;
    let [lost, duplicate, divergent, stuck] = Fault::ALL.map(|fault| verdict.count(fault));
    println!(
        "{:<9} {:<14} {:>6} {:>8} {:>8} {:>8} {:>8} {lost:>6} {duplicate:>10} {divergent:>10} {stuck:>6} {:>8.1}",
        outcome.store.name(),
        outcome.policy.name(),
        outcome.kills,
        verdict.intents,
        verdict.mails,
        verdict.wire_repeats,
        verdict.unknown,
        outcome.elapsed.as_secs_f64(),
    );
    print_findings(verdict);
    if let Some(folder) = &outcome.kept {
        println!("  the evidence is kept in {}", folder.display());
    }
}

pub(crate) fn print_findings(verdict: &Verdict) {
    for fault in Fault::ALL {
        let of_that_kind = verdict.findings.iter().filter(|finding| finding.fault == fault);
        let count = of_that_kind.clone().count();
        for finding in of_that_kind.take(SHOWN) {
            println!("  {}: {}", fault.name(), finding.what);
        }
        if count > SHOWN {
            println!("  {}: {} findings more", fault.name(), count - SHOWN);
        }
    }
}

/// The sum of all trials. A wire repeat is what the policy allows and no fault.
pub(crate) fn close(verdicts: &[Verdict]) -> ExitCode {
    let sum = |fault| verdicts.iter().map(|verdict| verdict.count(fault)).sum::<usize>();
    let counts = Fault::ALL.map(|fault| format!("{} {}", sum(fault), fault.name()));
    println!("{}", counts.join(", "));
    if Fault::ALL.into_iter().all(|fault| sum(fault) == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
