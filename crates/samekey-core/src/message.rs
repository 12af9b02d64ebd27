//! Messages: what the sending service accepts, takes in hand and reports.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::delivery::{AmbiguityPolicy, DeliveryState, OutcomeCode, Verdict};
use crate::derived::Identity;
use crate::lease::Lease;
use crate::store::RecipeId;
use crate::tenant::ProjectId;
use crate::{FencingToken, Fingerprint, Key, UnixMs};

/// Names a message: a UUIDv7, so that ids sort by the time they were minted. Written `msg_` and 26 characters of
/// Crockford's base 32 in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub Uuid);

const PREFIX: &str = "msg_";
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 26 characters of 5 bits hold 128 bits and 2 to spare.
const CHARACTERS: usize = 26;

impl MessageId {
    /// An id minted at `now` from 10 random bytes. It is minted before the statement that stores it, so that a statement
    /// whose answer was lost can be repeated and recognised.
    #[must_use]
    pub fn mint(now: UnixMs, random: [u8; 10]) -> Self {
        let millis = u64::try_from(now.0).unwrap_or_default();
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.as_u128();
        let mut text = [0; PREFIX.len() + CHARACTERS];
        let (prefix, characters) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (place, character) in characters.iter_mut().rev().enumerate() {
            *character = ALPHABET[(bits >> (5 * place)) as usize & 31];
        }
        f.write_str(std::str::from_utf8(&text).expect("the alphabet is ASCII"))
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no message id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no message id: it is `msg_` and 26 characters of base 32 in lower case")]
pub struct InvalidMessageId;

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let characters = text.strip_prefix(PREFIX).ok_or(InvalidMessageId)?.as_bytes();
        if characters.len() != CHARACTERS || characters[0] > b'7' {
            return Err(InvalidMessageId);
        }
        let bits = characters.iter().try_fold(0u128, |bits, character| {
            let digit = ALPHABET.iter().position(|letter| letter == character).ok_or(InvalidMessageId)?;
            Ok(bits << 5 | digit as u128)
        })?;
        Ok(Self(Uuid::from_u128(bits)))
    }
}

/// How a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChannelKind {
    /// By SMTP.
    Email = 1,
}

impl ChannelKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Email];

    /// Its code in the store.
    #[must_use]
    pub fn code(self) -> i16 {
        self as i16
    }

    /// The channel with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.code() == code)
    }

    /// The word that the API uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Email => "email",
        }
    }
}

/// The key of a message, and what tells an honest repeat from another request.
#[derive(Clone, Debug)]
pub struct MessageKey {
    /// The caller's key.
    pub key: Key,
    /// Of the request.
    pub fingerprint: Fingerprint,
    /// How the fingerprint was made.
    pub recipe: RecipeId,
    /// How long a repeat is recognised, counted from the scheduled time where there is one.
    pub retention: Duration,
    /// How long after that it is refused as expired.
    pub tombstone: Duration,
}

/// A message to be accepted. It was validated before; the store asks no questions.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Minted beforehand.
    pub id: MessageId,
    /// Whose message it is.
    pub project: ProjectId,
    /// How it leaves.
    pub channel: ChannelKind,
    /// Its key; `None`: nothing is deduplicated.
    pub key: Option<MessageKey>,
    /// What the outgoing ids are made of.
    pub identity: Identity,
    /// The sender where the message names none: fixed here, so that every attempt bears the same.
    pub sender: Option<String>,
    /// The accepted JSON as it came.
    pub payload: Bytes,
    /// Not before this.
    pub send_at: Option<UnixMs>,
    /// Not after this.
    pub expires_at: Option<UnixMs>,
}

/// What became of a message that was to be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is stored and will be delivered. Also the answer to a repeat of the very same statement, by its id.
    Fresh,
    /// Its key is taken.
    Known(KnownKey),
}

/// A key that was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// The message that it stands for.
    pub first: MessageId,
    /// Of the first request.
    pub fingerprint: Fingerprint,
    /// How that fingerprint was made.
    pub recipe: RecipeId,
    /// Whether its retention is over: it is refused now, not recognised.
    pub tombstone: bool,
}

/// A wish to take due deliveries in hand.
#[derive(Clone, Copy, Debug)]
pub struct Take {
    /// Of this channel.
    pub channel: ChannelKind,
    /// At most so many: never more than there are free call slots, so that a kill leaves no untried message in doubt.
    pub slots: usize,
    /// How long they are held without a heartbeat.
    pub lease: Lease,
    /// What follows a lease that ran out: its attempt may have been heard.
    pub ambiguity: AmbiguityPolicy,
}

/// A delivery in hand. Its attempt is recorded and committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The message.
    pub id: MessageId,
    /// Names this attempt in every later write.
    pub token: FencingToken,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Counts retries by hand.
    pub nonce: u32,
    /// Whether an earlier attempt may have arrived.
    pub maybe_sent: bool,
    /// Whose message it is.
    pub project: ProjectId,
    /// When it was accepted.
    pub created_at: UnixMs,
    /// How old it is by the database's clock, counted from its scheduled time where it has one.
    pub age: Duration,
    /// What the outgoing ids are made of.
    pub identity: Identity,
    /// The sender where the message names none.
    pub sender: Option<String>,
    /// The accepted JSON as it came.
    pub payload: Bytes,
}

/// An attempt that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The message.
    pub id: MessageId,
    /// The attempt.
    pub token: FencingToken,
    /// What follows.
    pub verdict: Verdict,
}

/// A delivery as it stands after its attempt was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The message.
    pub id: MessageId,
    /// Its state, with all earlier attempts considered.
    pub state: DeliveryState,
}

/// One ended or running attempt, as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    /// Names it.
    pub token: FencingToken,
    /// When it was recorded, before the provider was called.
    pub started_at: UnixMs,
    /// When it ended; `None` while it runs.
    pub ended_at: Option<UnixMs>,
    /// How it ended; `None` while it runs.
    pub outcome: Option<OutcomeCode>,
    /// For people.
    pub detail: Option<String>,
}

/// A message as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageView {
    /// Its id.
    pub id: MessageId,
    /// How it leaves.
    pub channel: ChannelKind,
    /// Its key, if it has one.
    pub key: Option<Key>,
    /// When it was accepted.
    pub created_at: UnixMs,
    /// Its state.
    pub state: DeliveryState,
    /// When somebody looks at it next; `None` when it is final.
    pub wake_at: Option<UnixMs>,
    /// Not after this.
    pub expires_at: Option<UnixMs>,
    /// How many attempts were begun.
    pub attempts_begun: u32,
    /// Whether an attempt may have arrived without our knowing.
    pub maybe_sent: bool,
    /// The provider's id.
    pub provider_id: Option<String>,
    /// The sender where the message names none.
    pub sender: Option<String>,
    /// The accepted JSON as it came.
    pub payload: Bytes,
    /// The attempts, oldest first, a running one last.
    pub attempts: Vec<AttemptView>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_comes_back_from_its_text(bits: u128) {
            let id = MessageId(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn ids_sort_by_the_time_they_were_minted(early in 0i64..1 << 46, step in 1i64..1 << 40, a: [u8; 10], b: [u8; 10]) {
            let first = MessageId::mint(UnixMs(early), a);
            let second = MessageId::mint(UnixMs(early + step), b);
            prop_assert!(first < second);
            prop_assert!(first.to_string() < second.to_string());
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        let id = MessageId::mint(UnixMs(1_796_083_200_000), [7; 10]).to_string();
        let upper = id.to_uppercase();
        for text in [
            "",
            "msg_",
            &id[4..],
            &id[..29],
            &upper,
            "msg_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "msg_0000000000000000000000000u",
        ] {
            assert_eq!(text.parse::<MessageId>(), Err(InvalidMessageId), "{text:?}");
        }
    }
}
