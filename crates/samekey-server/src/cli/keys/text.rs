//! Records as people and scripts read them.

use samekey_core::Scope;
use samekey_core::record::{Age, RecordState};
use samekey_core::scope::MAX_SCOPE_BYTES;
use samekey_core::store::{Listed, Outcome, Shown, ShownStep, StepKind, StepState};
use serde_json::{Value, json};

use super::super::date;

const HEX: &str = "hex:";

/// A scope as it is written in an argument. What follows `hex:` is taken as the store keeps it: a scope that is kept as a
/// hash can only be named so.
pub(super) fn read_scope(text: &str) -> Result<Scope, String> {
    let Some(digits) = text.strip_prefix(HEX) else {
        return Scope::new(text).ok_or_else(|| "a scope is not empty".to_owned());
    };
    let pairs: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    pairs.filter(|bytes| (1..=MAX_SCOPE_BYTES).contains(&bytes.len())).map_or_else(
        || Err(format!("`{HEX}` is followed by 1 to {MAX_SCOPE_BYTES} bytes, two hexadecimal digits each")),
        |bytes| Ok(Scope::from_stored(&bytes)),
    )
}

fn byte(pair: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    }
}

/// The inverse of [`read_scope`].
pub(super) fn scope(scope: &Scope) -> String {
    let bytes = scope.as_bytes();
    let plain = bytes.iter().all(u8::is_ascii_graphic) && !bytes.starts_with(HEX.as_bytes());
    if plain {
        return bytes.iter().copied().map(char::from).collect();
    }
    bytes.iter().fold(HEX.to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// The state in one word.
fn state(record: &Listed) -> &'static str {
    match (record.state, record.age) {
        (RecordState::InProgress, _) if record.lease_left.is_zero() => "lease-over",
        (RecordState::InProgress, _) => "in-progress",
        (RecordState::Unknown, _) => "unknown",
        (RecordState::Completed, Age::Current) => "completed",
        (RecordState::Completed, _) => "expired",
    }
}

/// A table: a line of headings, then a line for each record. The key comes last, since it may hold spaces.
pub(super) fn table(records: &[Listed]) -> Vec<String> {
    let mut rows = vec![["STATE", "STATUS", "STEPS", "FREED", "EXPIRES", "SCOPE", "KEY"].map(str::to_owned)];
    rows.extend(records.iter().map(|record| {
        [
            state(record).to_owned(),
            record.status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
            record.steps_begun.to_string(),
            record.generation.to_string(),
            date(record.expires_at),
            scope(&record.scope),
            record.key.as_str().to_owned(),
        ]
    }));
    lines(&rows)
}

/// Columns as wide as their widest cell, the last one as it is.
fn lines<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let (last, others) = row.split_last().expect("a table has columns");
        let padded = others.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        padded.collect::<String>() + last
    };
    rows.iter().map(line).collect()
}

/// One record: what is known of it, its steps, how it was settled.
pub(super) fn sheet(shown: &Shown) -> Vec<String> {
    let record = &shown.record;
    let mut facts = vec![
        ["scope", &scope(&record.scope)].map(str::to_owned),
        ["key", record.key.as_str()].map(str::to_owned),
        ["state", state(record)].map(str::to_owned),
    ];
    facts.extend(record.status.map(|status| ["status".to_owned(), status.to_string()]));
    facts.push(["freed".to_owned(), format!("{} times", record.generation)]);
    facts.push(["expires".to_owned(), date(record.expires_at)]);
    facts.push(["forgotten".to_owned(), date(record.purge_at)]);
    facts.extend(
        shown.steps.iter().map(|step| ["step".to_owned(), format!("{}: {}", step.name, standing(step))]),
    );
    facts.extend(shown.resolutions.iter().map(|resolved| {
        let (at, outcome, by) = (date(resolved.at), outcome(resolved.outcome), &resolved.by);
        ["settled".to_owned(), format!("{at} as {outcome} by {}: {}", by.who, by.why)]
    }));
    lines(&facts)
}

/// What a person has to find out about a step.
fn standing(step: &ShownStep) -> String {
    match (step.state, step.kind, step.result_bytes) {
        (StepState::Ended, _, Some(bytes)) => format!("ended, its result is kept ({bytes} bytes)"),
        (StepState::Ended, _, None) => "ended".to_owned(),
        (StepState::Begun, StepKind::Keyed, _) => "begun, may have been called; takes a key".to_owned(),
        (StepState::Begun, StepKind::Unkeyed, _) => {
            "begun, may have been called; takes no key, so ask the other side".to_owned()
        }
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
    }
}

/// A record for a program.
pub(super) fn listed_json(record: &Listed) -> Value {
    json!({
        "scope": scope(&record.scope),
        "key": record.key.as_str(),
        "state": state(record),
        "status": record.status,
        "token": record.token.0,
        "generation": record.generation,
        "steps_begun": record.steps_begun,
        "expires_at": date(record.expires_at),
        "purge_at": date(record.purge_at),
    })
}

/// The same with steps and resolutions.
pub(super) fn shown_json(shown: &Shown) -> Value {
    let steps = shown.steps.iter().map(|step| {
        json!({
            "name": step.name,
            "takes_key": step.kind == StepKind::Keyed,
            "ended": step.state == StepState::Ended,
            "result_bytes": step.result_bytes,
        })
    });
    let resolutions = shown.resolutions.iter().map(|resolved| {
        json!({
            "at": date(resolved.at),
            "outcome": outcome(resolved.outcome),
            "who": resolved.by.who,
            "why": resolved.by.why,
        })
    });
    let mut record = listed_json(&shown.record);
    record["steps"] = steps.collect();
    record["resolutions"] = resolutions.collect();
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_as_it_is_shown() {
        for bytes in [&b"shop"[..], b"hex:00", b"a b", b"\xff\x00", &[7; 64]] {
            let stored = Scope::from_stored(bytes);
            assert_eq!(read_scope(&scope(&stored)), Ok(stored));
        }
        let hashed = Scope::new([b'x'; 65]).unwrap();
        assert_eq!(read_scope(&scope(&hashed)), Ok(hashed.clone()));
        assert_eq!(read_scope(&"x".repeat(65)), Ok(hashed));
        for bad in ["", "hex:", "hex:0", "hex:0g", "hex:+1", &format!("hex:{}", "00".repeat(65))] {
            assert!(read_scope(bad).is_err(), "{bad}");
        }
    }
}
