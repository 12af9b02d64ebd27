//! After the last kill: wait until every accepted message is final, by asking the service as a client would.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::client::Field;
use crate::evidence::{Account, State};
use crate::http::{Answer, Connection};

/// Between two rounds of questions.
const ROUND: Duration = Duration::from_millis(50);

/// Asks for each of `ids` until it is final or the field's deadline is past; gives the last account of each. One that
/// nobody could ask for has none.
pub(crate) fn accounts_of(field: &Field, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Account>> {
    let mut accounts = BTreeMap::new();
    let mut open: Vec<&String> = ids.iter().collect();
    let mut connection = Connection::default();
    while !open.is_empty() && Instant::now() < field.deadline() {
        let mut still_open = Vec::new();
        for id in open {
            let request = request(field, id);
            // No answer: asked again in the next round, like a message that is not final.
            let account = match connection.exchange(field.address(), &request) {
                Ok(answer) => read_account(&answer).with_context(|| format!("the account of {id}"))?,
                Err(_) => None,
            };
            if account.as_ref().is_none_or(|account| account.state == State::Open) {
                still_open.push(id);
            }
            if let Some(account) = account {
                accounts.insert(id.clone(), account);
            }
        }
        open = still_open;
        thread::sleep(ROUND);
    }
    Ok(accounts)
}

fn request(field: &Field, id: &str) -> Vec<u8> {
    let token = field.token();
    format!("GET /v1/messages/{id} HTTP/1.1\r\nHost: samekey\r\nAuthorization: Bearer {token}\r\n\r\n")
        .into_bytes()
}

/// What `GET /v1/messages/{id}` says, as far as it is judged.
#[derive(Debug, Deserialize)]
struct Said {
    status: String,
    maybe_sent: bool,
    attempts: Vec<SaidAttempt>,
}

#[derive(Debug, Deserialize)]
struct SaidAttempt {
    outcome: Option<String>,
}

fn read_account(answer: &Answer) -> Result<Option<Account>> {
    match answer.status {
        200 => {
            let said: Said = serde_json::from_slice(&answer.body)?;
            let state = State::from_status(&said.status);
            let state = state.with_context(|| format!("{:?} is no state of the contract", said.status))?;
            let count = |words: &[&str]| {
                let outcomes = said.attempts.iter().filter_map(|attempt| attempt.outcome.as_deref());
                outcomes.filter(|outcome| words.contains(outcome)).count()
            };
            let (answered, doubtful) = (count(&["sent"]), count(&["ambiguous", "lapsed"]));
            Ok(Some(Account { state, maybe_sent: said.maybe_sent, answered, doubtful }))
        }
        404 => Ok(Some(Account { state: State::Gone, maybe_sent: false, answered: 0, doubtful: 0 })),
        500..=599 => Ok(None),
        status => bail!("answered {status}: {}", String::from_utf8_lossy(&answer.body)),
    }
}

#[cfg(test)]
mod tests {
    use super::read_account;
    use crate::evidence::{Account, State};
    use crate::http::Answer;

    fn read(status: u16, body: &str) -> anyhow::Result<Option<Account>> {
        read_account(&Answer { status, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn an_account_counts_the_attempts_that_may_have_arrived() {
        let body = r#"{"id":"msg_1","status":"sent","maybe_sent":true,"attempts":[{"outcome":"deferred"},
            {"outcome":"lapsed"},{"outcome":"ambiguous"},{"outcome":"handed_back"},{"outcome":"sent"}]}"#;
        let account = Account { state: State::Sent, maybe_sent: true, answered: 1, doubtful: 2 };
        assert_eq!(read(200, body).unwrap(), Some(account));
    }

    #[test]
    fn gone_away_and_nonsense_are_told_apart() {
        assert_eq!(read(404, "").unwrap().unwrap().state, State::Gone);
        assert_eq!(read(503, "").unwrap(), None);
        assert!(read(401, "").is_err());
        assert!(read(200, r#"{"status":"asleep","maybe_sent":false,"attempts":[]}"#).is_err());
    }
}
