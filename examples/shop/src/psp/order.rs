//! What a caller wants charged.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::answer::Answer;

/// An account whose card is always declined, as the providers' test cards are.
const DECLINED_ACCOUNT: &str = "acct_declined";

/// The longest name of an account.
const MAX_ACCOUNT_BYTES: usize = 255;

/// The members that count for the charge; others may follow, and are part of what makes two bodies the same.
#[derive(Debug, Deserialize)]
struct Members {
    amount_cents: i64,
    currency: String,
    account: String,
}

/// A wish that nothing is wrong with.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) amount_cents: i64,
    pub(super) currency: String,
    pub(super) account: String,
    /// Of the whole body, its members sorted and its white space dropped.
    pub(super) body_sha256: String,
}

impl Order {
    pub(super) fn read(body: &[u8]) -> Result<Self, Answer> {
        let invalid = |error: serde_json::Error| Answer::invalid(&error.to_string());
        let body: Value = serde_json::from_slice(body).map_err(invalid)?;
        // The map behind a `Value` is sorted, so its text does not depend on the order in which the members came.
        let body_sha256 = hex(&Sha256::digest(body.to_string()));
        let Members { amount_cents, currency, account } = serde_json::from_value(body).map_err(invalid)?;
        if amount_cents <= 0 {
            return Err(Answer::invalid("amount_cents is more than nothing"));
        }
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(Answer::invalid("currency is three lower-case letters"));
        }
        if account.is_empty() || account.len() > MAX_ACCOUNT_BYTES {
            return Err(Answer::invalid("account has 1 to 255 bytes"));
        }
        Ok(Self { amount_cents, currency, account, body_sha256 })
    }

    pub(super) fn is_always_declined(&self) -> bool {
        self.account == DECLINED_ACCOUNT
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
