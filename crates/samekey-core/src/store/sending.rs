//! The verbs of the sending service: accept, take, renew, finish, load, sweep; and the tenants.

use std::future::Future;
use std::time::Duration;

use crate::lease::Lease;
use crate::message::{
    Accepted, ChannelKind, Finished, MessageId, MessageView, NewMessage, Settled, Take, Taken,
};
use crate::store::records::{SweepCursor, Swept};
use crate::tenant::{ApiKey, ApiKeyHash, Project, ProjectId};
use crate::{FencingToken, StoreError};

/// How much work waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Deliveries due and not in hand.
    pub due: u64,
    /// Deliveries in hand.
    pub sending: u64,
    /// How long the oldest due delivery has been due.
    pub oldest_due: Duration,
}

/// The verbs over messages and deliveries. Each is one transaction.
pub trait Messages: Clone + Send + Sync + 'static {
    /// Accepts many messages in one commit; the answers come in the order of the messages.
    ///
    /// # Guarantees
    /// Key and message are stored together or not at all. Of any number of messages with one (project, key), in any
    /// processes and inside one call, one is fresh. After an unknown effect the same messages (same ids) may be handed
    /// in again: a message that had been stored is [`Accepted::Fresh`] again and is not stored twice.
    fn accept(
        &self,
        messages: Vec<NewMessage>,
    ) -> impl Future<Output = Result<Vec<Accepted>, StoreError>> + Send;

    /// Takes due deliveries in hand, oldest first, and those whose lease ran out.
    ///
    /// A lapsed delivery may have been sent: it is marked `maybe_sent`, its attempt is written down as lapsed, and under
    /// [`AtMostOnce`](crate::delivery::AmbiguityPolicy::AtMostOnce) it becomes unknown instead of being handed out. A
    /// delivery past its `expires_at` becomes expired (or unknown) and is not handed out either.
    ///
    /// # Guarantees
    /// Committed before it returns: a crash before the provider is called leaves an attempt on record. No two workers
    /// hold one delivery. After an unknown effect the deliveries come back when their lease is over.
    fn take(&self, take: Take) -> impl Future<Output = Result<Vec<Taken>, StoreError>> + Send;

    /// Heartbeat for deliveries in hand; gives those that were renewed. See [`Records::renew`](super::Records::renew).
    fn renew_deliveries(
        &self,
        held: &[(MessageId, FencingToken)],
        lease: Lease,
    ) -> impl Future<Output = Result<Vec<MessageId>, StoreError>> + Send;

    /// Writes down how attempts ended and what follows. A delivery whose token has moved on is left alone, and is missing
    /// from the result; its attempt is told truthfully all the same.
    ///
    /// `failed`, `cancelled` and `expired` become `unknown` here where any attempt may have arrived. An attempt that was
    /// handed back is not counted.
    ///
    /// # Guarantees
    /// May be repeated after any error: a second time it changes nothing.
    fn finish(&self, finished: &[Finished]) -> impl Future<Output = Result<Vec<Settled>, StoreError>> + Send;

    /// One message of a project with its attempts.
    fn message(
        &self,
        project: ProjectId,
        id: MessageId,
    ) -> impl Future<Output = Result<Option<MessageView>, StoreError>> + Send;

    /// How long until the next delivery of a channel is due (zero: now); `None` where none waits.
    fn next_due(
        &self,
        channel: ChannelKind,
    ) -> impl Future<Output = Result<Option<Duration>, StoreError>> + Send;

    /// How much work waits in a channel.
    fn backlog(&self, channel: ChannelKind) -> impl Future<Output = Result<Backlog, StoreError>> + Send;

    /// Removes one bounded batch of message keys past their tombstone. The messages stay.
    fn sweep_keys(
        &self,
        from: SweepCursor,
        limit: usize,
    ) -> impl Future<Output = Result<Swept, StoreError>> + Send;

    /// Whether the store answers: what readiness means.
    fn ping(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The verbs over projects and API keys.
pub trait Projects: Clone + Send + Sync + 'static {
    /// Creates a project; `None` where the name is taken.
    fn create_project(&self, name: &str) -> impl Future<Output = Result<Option<Project>, StoreError>> + Send;

    /// All projects, by name.
    fn projects(&self) -> impl Future<Output = Result<Vec<Project>, StoreError>> + Send;

    /// Keeps a new API key's hash.
    fn create_api_key(
        &self,
        project: ProjectId,
        hash: ApiKeyHash,
        hint: &str,
    ) -> impl Future<Output = Result<ApiKey, StoreError>> + Send;

    /// The API keys of a project, oldest first, revoked ones included.
    fn api_keys(&self, project: ProjectId) -> impl Future<Output = Result<Vec<ApiKey>, StoreError>> + Send;

    /// Revokes an API key; says whether there was a live one.
    fn revoke_api_key(
        &self,
        project: ProjectId,
        id: i64,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// The project of a live API key.
    fn authenticate(
        &self,
        hash: ApiKeyHash,
    ) -> impl Future<Output = Result<Option<ProjectId>, StoreError>> + Send;
}
