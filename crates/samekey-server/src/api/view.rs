//! A message as it is shown.

use std::time::{Duration, SystemTime};

use samekey_core::UnixMs;
use samekey_core::delivery::DeliveryState;
use samekey_core::message::{AttemptView, MessageView};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::fields::MessageFields;

/// The answer of `GET /v1/messages/{id}`.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: String,
    status: &'static str,
    channel: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    maybe_sent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(flatten)]
    content: Content,
    attempts: Vec<ShownAttempt>,
}

/// What the caller sent, as far as it tells messages apart. Bodies are not shown back.
#[derive(Debug, Default, Serialize)]
struct Content {
    to: String,
    from: Option<String>,
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize)]
struct ShownAttempt {
    number: usize,
    started_at: String,
    ended_at: Option<String>,
    outcome: Option<&'static str>,
    detail: Option<String>,
}

impl Shown {
    pub(super) fn of(message: &MessageView) -> Self {
        let content = MessageFields::read(&message.payload)
            .map(|fields| Content {
                to: fields.email.to().to_owned(),
                from: fields.email.from().map(str::to_owned).or_else(|| message.sender.clone()),
                subject: fields.email.subject().to_owned(),
                metadata: fields.metadata.map(ToOwned::to_owned),
            })
            .unwrap_or_default();
        Self {
            id: message.id.to_string(),
            status: status(message),
            channel: message.channel.word(),
            idempotency_key: message.key.as_ref().map(|key| key.as_str().to_owned()),
            created_at: rfc3339(message.created_at),
            next_attempt_at: message.wake_at.filter(|_| message.state == DeliveryState::Waiting).map(rfc3339),
            expires_at: message.expires_at.map(rfc3339),
            maybe_sent: message.maybe_sent,
            provider_id: message.provider_id.clone(),
            content,
            attempts: message
                .attempts
                .iter()
                .enumerate()
                .map(|(index, attempt)| shown(index + 1, attempt))
                .collect(),
        }
    }
}

/// The contract's word: scheduled means never tried and not yet due.
fn status(message: &MessageView) -> &'static str {
    match message.state {
        DeliveryState::Waiting
            if message.attempts_begun == 0 && message.wake_at > Some(message.created_at) =>
        {
            "scheduled"
        }
        DeliveryState::Waiting => "queued",
        DeliveryState::Sending => "sending",
        DeliveryState::Sent => "sent",
        DeliveryState::Failed => "failed",
        DeliveryState::Unknown => "unknown",
        DeliveryState::Cancelled => "cancelled",
        DeliveryState::Expired => "expired",
    }
}

fn shown(number: usize, attempt: &AttemptView) -> ShownAttempt {
    ShownAttempt {
        number,
        started_at: rfc3339(attempt.started_at),
        ended_at: attempt.ended_at.map(rfc3339),
        outcome: attempt.outcome.map(samekey_core::delivery::OutcomeCode::word),
        detail: attempt.detail.clone(),
    }
}

/// RFC 3339 with milliseconds, in UTC.
fn rfc3339(at: UnixMs) -> String {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or_default());
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}
