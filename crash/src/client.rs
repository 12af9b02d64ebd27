//! A client: one intent after another, each with one key and one body, tried until the answer is definite.
//!
//! It is the client the contract asks for (no answer and 5xx are retried with the same key and the same bytes), only
//! impatient: it waits milliseconds where a real one waits seconds, so that many attempts meet the instant of a kill.
//! Now and then it presses twice at once, and now and then it uses a key again for something else.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde::Deserialize;

use crate::evidence::{Intent, Subject, recipient};
use crate::http::{Answer, Connection};
use crate::journal::Journal;

/// Between two intents: enough to leave the dispatcher a chance on two cores, and to end a trial in seconds.
const PAUSE_MS: std::ops::Range<u64> = 0..100;

/// Between two attempts of one intent.
const RETRY_PAUSE_MS: std::ops::Range<u64> = 5..50;

/// What all clients of a trial share.
#[derive(Debug)]
pub(crate) struct Field {
    /// Where the service was last seen. It moves with each restart.
    address: Mutex<SocketAddr>,
    token: String,
    /// Makes the keys of one trial its own.
    seed: u64,
    next: AtomicU64,
    over: AtomicBool,
    pub(crate) journal: Journal,
    /// After this a client gives up, and its intent is stuck.
    deadline: Instant,
}

impl Field {
    pub(crate) fn new(
        address: SocketAddr,
        token: String,
        seed: u64,
        journal: Journal,
        deadline: Instant,
    ) -> Self {
        let (next, over) = (AtomicU64::new(1), AtomicBool::new(false));
        Self { address: Mutex::new(address), token, seed, next, over, journal, deadline }
    }

    pub(crate) fn move_to(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    pub(crate) fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// No new intents from here on; those begun are brought to their end.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Runs one client until the field is over.
pub(crate) fn run(field: &Field, mut choices: Rng) {
    let mut connection = Connection::default();
    while !field.over.load(Ordering::Relaxed) {
        let number = field.next.fetch_add(1, Ordering::Relaxed);
        if choices.u32(0..25) == 0 {
            let mut second = (Connection::default(), choices.fork());
            thread::scope(|scope| {
                scope.spawn(|| insist(field, &mut second.0, &mut second.1, Subject::Own(number)));
                insist(field, &mut connection, &mut choices, Subject::Own(number));
            });
        } else {
            insist(field, &mut connection, &mut choices, Subject::Own(number));
        }
        if choices.u32(0..25) == 0 {
            insist(field, &mut connection, &mut choices, Subject::Other(number));
        }
        thread::sleep(Duration::from_millis(choices.u64(PAUSE_MS)));
    }
}

/// Sends the same bytes until the answer is definite.
fn insist(field: &Field, connection: &mut Connection, choices: &mut Rng, subject: Subject) {
    let (Subject::Own(number) | Subject::Other(number)) = subject;
    let request = request(field, number, subject);
    while Instant::now() < field.deadline {
        field.journal.before(number, subject);
        match connection.exchange(field.address(), &request) {
            Err(error) => field.journal.after(number, format_args!("no answer: {error}"), |_| ()),
            Ok(answer) if is_definite(answer.status) => {
                let what = format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body));
                return field.journal.after(number, what, |intent| learn(intent, subject, &answer));
            }
            Ok(answer) => field.journal.after(number, answer.status, |_| ()),
        }
        thread::sleep(Duration::from_millis(choices.u64(RETRY_PAUSE_MS)));
    }
}

/// The contract's list of what a client with a key retries, turned round.
fn is_definite(status: u16) -> bool {
    !matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=529)
}

fn request(field: &Field, number: u64, subject: Subject) -> Vec<u8> {
    let body = serde_json::json!({
        "channel": "email", "to": recipient(number), "subject": subject.to_string(),
        "text": "Your order is on its way.",
    })
    .to_string();
    format!(
        "POST /v1/messages HTTP/1.1\r\nHost: samekey\r\nAuthorization: Bearer {}\r\n\
         Idempotency-Key: crash-{:x}-{number}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        field.token,
        field.seed,
        body.len(),
    )
    .into_bytes()
}

/// The members of the service's answers that count here.
#[derive(Debug, Default, Deserialize)]
struct Said {
    status: serde_json::Value,
    #[serde(default)]
    id: String,
    #[serde(default)]
    code: String,
}

fn learn(intent: &mut Intent, subject: Subject, answer: &Answer) {
    let said: Said = serde_json::from_slice(&answer.body).unwrap_or_default();
    let word = said.status.as_str().unwrap_or_default();
    match (subject, answer.status, word, said.code.as_str()) {
        (Subject::Own(_), 202, "queued" | "duplicate_ignored", _) if !said.id.is_empty() => {
            intent.queued += u32::from(word == "queued");
            intent.ids.insert(said.id);
        }
        (Subject::Other(_), 422, _, "idempotency_key_reused") => {}
        _ => {
            let body = String::from_utf8_lossy(&answer.body);
            intent.astray.push(format!("{subject} was answered {} {body}", answer.status));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::learn;
    use crate::evidence::{Intent, Subject};
    use crate::http::Answer;

    fn after(answers: &[(Subject, u16, &str)]) -> Intent {
        let mut intent = Intent::default();
        for &(subject, status, body) in answers {
            learn(&mut intent, subject, &Answer { status, body: body.as_bytes().to_vec() });
        }
        intent
    }

    #[test]
    fn the_first_answer_its_repeat_and_a_refusal_of_another_body() {
        let intent = after(&[
            (Subject::Own(1), 202, r#"{"status":"queued","id":"msg_1"}"#),
            (Subject::Own(1), 202, r#"{"status":"duplicate_ignored","id":"msg_1"}"#),
            (Subject::Other(1), 422, r#"{"status":422,"code":"idempotency_key_reused"}"#),
        ]);
        assert_eq!(intent, Intent { ids: ["msg_1".to_owned()].into(), queued: 1, astray: Vec::new() });
    }

    #[test]
    fn everything_else_is_astray() {
        for (subject, status, body) in [
            (Subject::Other(1), 202, r#"{"status":"duplicate_ignored","id":"msg_1"}"#),
            (Subject::Own(1), 422, r#"{"status":422,"code":"idempotency_key_reused"}"#),
            (Subject::Own(1), 202, r#"{"status":"queued"}"#),
            (Subject::Own(1), 202, "no JSON"),
            (Subject::Own(1), 401, ""),
        ] {
            assert_eq!(after(&[(subject, status, body)]).astray.len(), 1, "{subject} {status} {body}");
        }
    }
}
