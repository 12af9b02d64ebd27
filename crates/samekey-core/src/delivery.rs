//! The states of a delivery, and what follows an attempt.
//!
//! The provider at the end cannot be rolled back. An attempt ends in one of three ways: it said yes, it said no, or
//! nobody can tell. The third is where duplicates and losses come from, and it is why `unknown` is a state and
//! `maybe_sent` a mark that is never cleared: a delivery that *may* have happened is never reported as failed, however
//! often it is refused afterwards.
//!
//! ```text
//! queued ──take──▶ sending ──yes──────────────────────▶ sent
//!   ▲                 │ ├──no, for ever──────────────▶ failed   (unknown if maybe_sent)
//!   │                 │ ├──no, for now: wait or, at the end, as above
//!   ├──────wait───────┘ ├──nobody can tell: by policy, wait (maybe_sent) or unknown
//!   └──lease over───────┘ the same: nobody can tell
//! queued ──too old──▶ expired (unknown if maybe_sent)      queued ──stopped──▶ cancelled (unknown if maybe_sent)
//! ```

use std::time::Duration;

use crate::retry::Schedule;

/// A delivery's state, as the store keeps it. A waiting delivery shows as `scheduled` before its first due time and as
/// `queued` afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// Not yet due, due, or waiting to be tried again.
    Waiting = 1,
    /// An attempt is recorded and committed; the provider may be hearing it now.
    Sending = 2,
    /// The provider said yes.
    Sent = 3,
    /// A definite refusal, or retries and age used up, with no ambiguous attempt before.
    Failed = 4,
    /// The provider may have it, and nobody can tell.
    Unknown = 5,
    /// Stopped before a send.
    Cancelled = 6,
    /// Too old to send.
    Expired = 7,
}

impl DeliveryState {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Sending,
        Self::Sent,
        Self::Failed,
        Self::Unknown,
        Self::Cancelled,
        Self::Expired,
    ];

    /// The state with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }

    /// Its code in the store.
    #[must_use]
    pub fn code(self) -> i16 {
        self as i16
    }

    /// Whether nothing happens to it any more by itself.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Sending)
    }
}

/// How one attempt ended, as the channel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The provider said yes.
    Sent {
        /// The provider's own name for the message, if it gave one.
        provider_id: Option<String>,
    },
    /// A definite no that another attempt would only repeat.
    Refused {
        /// What the provider said.
        detail: String,
    },
    /// A definite no for now, or nothing left this process at all.
    Deferred {
        /// What was said, or what kept it from leaving.
        detail: String,
        /// How long the provider asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// It may have arrived: the answer was lost after the last byte, or the process died in the attempt.
    Ambiguous {
        /// What was seen.
        detail: String,
    },
    /// The call was never begun: the worker is stopping and gives the delivery back. It does not count as an attempt.
    HandedBack,
}

/// An attempt's outcome as the store keeps it; the detail beside it is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeCode {
    /// See [`Ending::Sent`].
    Sent = 1,
    /// See [`Ending::Refused`].
    Refused = 2,
    /// See [`Ending::Deferred`].
    Deferred = 3,
    /// See [`Ending::Ambiguous`].
    Ambiguous = 4,
    /// See [`Ending::HandedBack`].
    HandedBack = 5,
    /// Its worker's lease ran out and it never reported; a late report replaces this.
    Lapsed = 6,
}

impl OutcomeCode {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 6] =
        [Self::Sent, Self::Refused, Self::Deferred, Self::Ambiguous, Self::HandedBack, Self::Lapsed];

    /// The outcome with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.code() == code)
    }

    /// Its code in the store.
    #[must_use]
    pub fn code(self) -> i16 {
        self as i16
    }

    /// The word that the API uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
            Self::Ambiguous => "ambiguous",
            Self::HandedBack => "handed_back",
            Self::Lapsed => "lapsed",
        }
    }
}

/// What follows an attempt of which nobody can tell whether it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbiguityPolicy {
    /// Try again under the same outgoing id: the receiver dedupes, or a second copy is the lesser evil.
    AtLeastOnce,
    /// Stop: a second copy would be worse than none. The delivery becomes unknown.
    AtMostOnce,
}

/// What a channel promises about attempts.
#[derive(Clone, Debug)]
pub struct DeliveryPolicy {
    /// What follows an ambiguous attempt.
    pub ambiguity: AmbiguityPolicy,
    /// When to try again.
    pub schedule: Schedule,
    /// Counted from acceptance (or the scheduled time); past it a delivery fails.
    pub age_limit: Duration,
}

/// What the store is told about an attempt. The store adds what only the row knows: with an ambiguous attempt behind it,
/// `failed`, `cancelled` and `expired` are `unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The state that follows, as far as this attempt can tell.
    pub state: DeliveryState,
    /// For [`DeliveryState::Waiting`]: how long from now.
    pub wait: Option<Duration>,
    /// How the attempt ended.
    pub outcome: OutcomeCode,
    /// The provider's own id.
    pub provider_id: Option<String>,
    /// For people.
    pub detail: Option<String>,
}

impl DeliveryPolicy {
    /// What follows attempt number `attempt` (from 1) of a delivery of this `age`, which ended like this. `random` is
    /// drawn evenly from all 64-bit numbers.
    #[must_use]
    pub fn after_attempt(&self, attempt: u32, age: Duration, ending: Ending, random: u64) -> Verdict {
        let verdict =
            |state, outcome, detail| Verdict { state, wait: None, outcome, provider_id: None, detail };
        match ending {
            Ending::Sent { provider_id } => {
                Verdict { provider_id, ..verdict(DeliveryState::Sent, OutcomeCode::Sent, None) }
            }
            Ending::Refused { detail } => verdict(DeliveryState::Failed, OutcomeCode::Refused, Some(detail)),
            Ending::HandedBack => Verdict {
                wait: Some(Duration::ZERO),
                ..verdict(DeliveryState::Waiting, OutcomeCode::HandedBack, None)
            },
            Ending::Deferred { detail, retry_after } => {
                let again = self.again(attempt, age, retry_after, random);
                Verdict {
                    wait: again,
                    ..verdict(waiting_or(again, DeliveryState::Failed), OutcomeCode::Deferred, Some(detail))
                }
            }
            Ending::Ambiguous { detail } => {
                let again = match self.ambiguity {
                    AmbiguityPolicy::AtLeastOnce => self.again(attempt, age, None, random),
                    AmbiguityPolicy::AtMostOnce => None,
                };
                Verdict {
                    wait: again,
                    ..verdict(waiting_or(again, DeliveryState::Unknown), OutcomeCode::Ambiguous, Some(detail))
                }
            }
        }
    }

    /// The wait before another attempt, if there is to be one within the age limit.
    fn again(&self, attempt: u32, age: Duration, asked: Option<Duration>, random: u64) -> Option<Duration> {
        self.schedule
            .wait_after(attempt, asked, random)
            .filter(|wait| age.saturating_add(*wait) < self.age_limit)
    }
}

fn waiting_or(wait: Option<Duration>, end: DeliveryState) -> DeliveryState {
    wait.map_or(end, |_| DeliveryState::Waiting)
}

impl Verdict {
    /// Whether this attempt may have arrived: it sets `maybe_sent`.
    #[must_use]
    pub fn ambiguous(&self) -> bool {
        self.outcome == OutcomeCode::Ambiguous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn policy(ambiguity: AmbiguityPolicy) -> DeliveryPolicy {
        DeliveryPolicy { ambiguity, schedule: Schedule::default(), age_limit: 24 * HOUR }
    }

    fn after(
        ambiguity: AmbiguityPolicy,
        attempt: u32,
        age: Duration,
        ending: Ending,
    ) -> (DeliveryState, bool) {
        let verdict = policy(ambiguity).after_attempt(attempt, age, ending, u64::MAX);
        (verdict.state, verdict.wait.is_some())
    }

    fn deferred() -> Ending {
        Ending::Deferred { detail: "451".into(), retry_after: None }
    }

    fn ambiguous() -> Ending {
        Ending::Ambiguous { detail: "connection lost after the final dot".into() }
    }

    #[test]
    fn each_ending_has_one_consequence() {
        use AmbiguityPolicy::{AtLeastOnce, AtMostOnce};
        let sent = Ending::Sent { provider_id: None };
        let refused = Ending::Refused { detail: "550".into() };
        let now = Duration::ZERO;
        assert_eq!(after(AtLeastOnce, 1, now, sent), (DeliveryState::Sent, false));
        assert_eq!(after(AtLeastOnce, 1, now, refused), (DeliveryState::Failed, false));
        assert_eq!(after(AtMostOnce, 1, now, deferred()), (DeliveryState::Waiting, true));
        assert_eq!(after(AtLeastOnce, 1, now, ambiguous()), (DeliveryState::Waiting, true));
        assert_eq!(after(AtMostOnce, 1, now, ambiguous()), (DeliveryState::Unknown, false));
        assert_eq!(after(AtMostOnce, 7, now, Ending::HandedBack), (DeliveryState::Waiting, true));
    }

    #[test]
    fn retries_and_age_are_used_up() {
        let policy = AmbiguityPolicy::AtLeastOnce;
        assert_eq!(after(policy, 7, HOUR, deferred()), (DeliveryState::Failed, false));
        assert_eq!(after(policy, 7, HOUR, ambiguous()), (DeliveryState::Unknown, false));
        assert_eq!(after(policy, 1, 24 * HOUR, deferred()), (DeliveryState::Failed, false));
        assert_eq!(after(policy, 1, 24 * HOUR, ambiguous()), (DeliveryState::Unknown, false));
    }

    #[test]
    fn a_provider_that_asks_for_longer_than_the_message_may_live_ends_it() {
        let asked = Ending::Deferred { detail: "503".into(), retry_after: Some(30 * HOUR) };
        assert_eq!(after(AmbiguityPolicy::AtLeastOnce, 1, HOUR, asked), (DeliveryState::Failed, false));
    }

    #[test]
    fn codes_come_back() {
        for state in DeliveryState::ALL {
            assert_eq!(DeliveryState::from_code(state.code()), Some(state));
        }
        for outcome in OutcomeCode::ALL {
            assert_eq!(OutcomeCode::from_code(outcome.code()), Some(outcome));
        }
        assert_eq!(DeliveryState::from_code(0), None);
    }
}
