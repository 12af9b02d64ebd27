//! Tries the judge on a real trial with two faults that we make ourselves.
//!
//! Unit tests show that the judge sees what it is shown. This shows that it is shown what happens: a second mail goes to
//! the real witness over the wire, and a line is struck from the real log.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::evidence::{Mail, Policy};
use crate::installation::Store;
use crate::judge::{Fault, judge};
use crate::report;
use crate::trial::{Plan, Trial};
use crate::witness;

/// Succeeds if the judge finds exactly one lost and one duplicate.
pub(crate) fn try_the_judge(binary: &Path, plan: &Plan) -> Result<ExitCode> {
    let plan = Plan { kills: plan.kills.min(2), ..plan.clone() };
    let trial = Trial::set_up(binary, Store::Sqlite, Policy::AtLeastOnce, &plan, plan.seed())?;
    let (evidence, _folder) = trial.gather(spoil)?;
    let verdict = judge(&evidence);
    report::print_findings(&verdict);
    let [lost, duplicate, divergent, stuck] = Fault::ALL.map(|fault| verdict.count(fault));
    println!("{lost} lost, {duplicate} duplicate, {divergent} divergent, {stuck} stuck");
    let seen = [lost, duplicate, divergent, stuck] == [1, 1, 0, 0];
    println!("{}", if seen { "the judge saw both faults" } else { "the judge did not see what was done" });
    Ok(if seen { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Strikes out one intent's only copy and hands in another intent's mail again, under another `Message-ID`.
fn spoil(trial: &Trial) -> Result<()> {
    let mails = witness::read_log(&trial.witness_log())?;
    let single = |mail: &&Mail| mails.iter().filter(|other| other.subject == mail.subject).count() == 1;
    let mut singles = mails.iter().filter(single);
    let (lost, repeated) = singles.next().zip(singles.next()).context("too few mails to spoil")?;
    let again = Mail { message_id: "<sabotage@example.org>".to_owned(), ..repeated.clone() };
    witness::deliver(trial.witness.addr(), &again)?;

    let log = fs::read_to_string(trial.witness_log())?;
    let line = serde_json::to_string(lost)? + "\n";
    Ok(fs::write(trial.witness_log(), log.replacen(&line, "", 1))?)
}
