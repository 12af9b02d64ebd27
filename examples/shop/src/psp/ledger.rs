//! What the provider heard, what it answered, and what it charged.

use std::collections::HashMap;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::ChargeRequest;

/// A call, as it was heard.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Call {
    key: String,
    amount_cents: u64,
    account: String,
}

/// Money that moved.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Charge {
    id: String,
    key: String,
    amount_cents: u64,
    account: String,
}

/// The key stands for another request.
pub(super) struct OtherRequest;

/// How a card behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Card {
    Good,
    Declined,
}

/// All of it, in memory.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: Vec<Call>,
    charges: Vec<Charge>,
    said: HashMap<String, (ChargeRequest, StatusCode, Value)>,
}

impl Ledger {
    pub(super) fn heard(&mut self, key: &str, request: &ChargeRequest) {
        let (amount_cents, account) = (request.amount_cents, request.account.clone());
        self.calls.push(Call { key: key.to_owned(), amount_cents, account });
    }

    /// Answers as it did before, or charges once. A refusal is kept under the key too.
    pub(super) fn settle(
        &mut self,
        key: &str,
        request: &ChargeRequest,
        card: Card,
    ) -> Result<(StatusCode, Value), OtherRequest> {
        if let Some((same, status, body)) = self.said.get(key) {
            return if same == request { Ok((*status, body.clone())) } else { Err(OtherRequest) };
        }
        let (status, body) = match card {
            Card::Good => (StatusCode::CREATED, self.charge(key, request)),
            Card::Declined => {
                let body = json!({ "code": "card_declined", "reason": "insufficient funds" });
                (StatusCode::PAYMENT_REQUIRED, body)
            }
        };
        self.said.insert(key.to_owned(), (request.clone(), status, body.clone()));
        Ok((status, body))
    }

    fn charge(&mut self, key: &str, request: &ChargeRequest) -> Value {
        let id = format!("ch_{}", self.charges.len() + 1);
        let body = json!({ "id": id, "amount_cents": request.amount_cents });
        let (amount_cents, account) = (request.amount_cents, request.account.clone());
        self.charges.push(Charge { id, key: key.to_owned(), amount_cents, account });
        body
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.clone()
    }

    pub(super) fn charges(&self) -> Vec<Charge> {
        self.charges.clone()
    }
}
