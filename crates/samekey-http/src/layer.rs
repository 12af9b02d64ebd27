//! The layer: what a route asks for, said once.

mod request;
mod scope;
mod service;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum_core::extract::FromRequestParts;
use http::Method;
use samekey_core::fingerprint::{InvalidPointer, Pointer};
use samekey_core::lease::Lease;
use samekey_core::record::AbandonedWork;
use samekey_core::store::Records;
use samekey_core::{Recipe, Scope};
use tokio::sync::OnceCell;
use tower_layer::Layer;

pub use service::IdempotencyService;

use crate::attempt::{Cookies, KeptResponse};
use crate::keys::{Claiming, Keys};
use scope::Scoping;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const MIB: usize = 1 << 20;

/// Whether a request must carry a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

/// How a route wants its keys.
#[derive(Clone, Debug)]
struct Route {
    methods: Vec<Method>,
    need: Need,
    claiming: Claiming,
    recipe: Recipe,
    lease: Lease,
    deadline: Duration,
    retention: Duration,
    tombstone: Duration,
    abandoned: AbandonedWork,
    body_limit: usize,
    max_wait: Duration,
    keeping: KeptResponse,
}

impl Default for Route {
    fn default() -> Self {
        Self {
            methods: vec![Method::POST, Method::PATCH],
            need: Need::Required,
            claiming: Claiming::First,
            recipe: Recipe::canonical(),
            lease: Lease::RECORD,
            deadline: Duration::from_secs(25),
            retention: DAY,
            tombstone: 7 * DAY,
            abandoned: AbandonedWork::AtLeastOnce,
            body_limit: MIB,
            max_wait: Duration::from_secs(20),
            keeping: KeptResponse { limit: Some(MIB), cookies: Cookies::LeaveOut },
        }
    }
}

/// Makes the requests of a route idempotent by their `Idempotency-Key`: an intent is done once, however often it is sent.
///
/// Cheap to clone; where routes differ, clone it and set what differs. **Put what authenticates and authorises outside**: a
/// replay does not run the handler, nor any check inside it.
///
/// # Guarantees
/// Of all requests with one key in one scope, in any number of processes on one store, one at a time runs the handler, and
/// once one has completed, none runs it again. What a crash leaves behind is said at [`Attempt`](crate::Attempt).
pub struct IdempotencyLayer<S> {
    keys: Keys<S>,
    scoping: Scoping,
    route: Arc<Route>,
    recipe_id: Arc<OnceCell<samekey_core::store::RecipeId>>,
}

impl<S: Records> IdempotencyLayer<S> {
    /// Keys belong to what the authenticating layer left in the request's extensions.
    ///
    /// ```text
    /// IdempotencyLayer::scoped_by(keys, |account: &Account| account.id)
    /// ```
    ///
    /// A request without that extension is answered 500, with a text that names the order of the layers.
    pub fn scoped_by<E, D>(keys: impl Into<Keys<S>>, scope: impl Fn(&E) -> D + Send + Sync + 'static) -> Self
    where
        E: Send + Sync + 'static,
        D: fmt::Display,
    {
        Self::of(keys.into(), scope::by_extension(scope))
    }

    /// Keys belong to what this extractor finds, which is the commoner way to authenticate in axum. Its rejection is the
    /// answer.
    pub fn scoped_by_extractor<E, T, D>(
        keys: impl Into<Keys<S>>,
        state: T,
        scope: impl Fn(&E) -> D + Send + Sync + 'static,
    ) -> Self
    where
        E: FromRequestParts<T> + Send + Sync + 'static,
        T: Send + Sync + 'static,
        D: fmt::Display,
    {
        Self::of(keys.into(), scope::by_extractor(state, scope))
    }

    /// All callers share one scope of this name. Only for a service that has one caller, or whose callers may see each
    /// other's answers: two of them who happen on one key get one answer.
    ///
    /// # Panics
    /// When the name is empty.
    pub fn shared(keys: impl Into<Keys<S>>, name: &str) -> Self {
        let scope = Scope::new(name).expect("a shared scope needs a name");
        Self::of(keys.into(), scope::constant(scope))
    }

    fn of(keys: Keys<S>, scoping: Scoping) -> Self {
        Self { keys, scoping, route: Arc::default(), recipe_id: Arc::default() }
    }

    fn with(mut self, change: impl FnOnce(&mut Route)) -> Self {
        change(Arc::make_mut(&mut self.route));
        self
    }

    /// Which methods (POST and PATCH unless set); others pass through.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|route| route.methods = methods.into_iter().collect())
    }

    /// A request without a key runs as if the layer were not there, with an [`Attempt`](crate::Attempt) that remembers
    /// nothing. Without this it is answered 400.
    #[must_use]
    pub fn optional(self) -> Self {
        self.with(|route| route.need = Need::Optional)
    }

    /// The record is claimed inside the handler's own transaction, by [`Attempt::join`](crate::Attempt::join): one commit
    /// instead of two. For handlers whose only effect is in that database; a handler that answers with success and never
    /// calls `complete` is answered 500.
    #[must_use]
    pub fn joined(self) -> Self {
        self.with(|route| route.claiming = Claiming::Joined)
    }

    /// How long a claim lasts without a sign of life from its process (30 s unless set): how long a key is blocked after a
    /// crash.
    ///
    /// # Panics
    /// Under 300 ms: a heartbeat, sent every third of it, would not arrive in time, and two attempts could run at once.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        let lease = Lease::new(lease).expect("a lease under 300 ms is shorter than its heartbeat");
        self.with(|route| route.lease = lease)
    }

    /// How long a handler may take (25 s unless set). Then it is dropped, as it would be by a crash.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.with(|route| route.deadline = deadline)
    }

    /// How long an answer is kept (24 h unless set), counted from the claim. Longer than your callers go on retrying.
    ///
    /// # Panics
    /// Under an hour: a caller that retries after it would hear that its key has expired.
    #[must_use]
    pub fn retention(self, retention: Duration) -> Self {
        assert!(retention >= HOUR, "a retention under one hour is shorter than what clients retry for");
        self.with(|route| route.retention = retention)
    }

    /// How long after that a key is refused as expired, instead of being taken for a new one (7 days unless set).
    #[must_use]
    pub fn tombstone(self, tombstone: Duration) -> Self {
        self.with(|route| route.tombstone = tombstone)
    }

    /// Abandoned work of a handler without steps is run again (the default): everything it does is in your database, or
    /// harmless twice.
    #[must_use]
    pub fn at_least_once(self) -> Self {
        self.with(|route| route.abandoned = AbandonedWork::AtLeastOnce)
    }

    /// Abandoned work of a handler without steps is never run again: nobody can tell what it did, and callers hear 409
    /// `outcome-unknown` until somebody settles it.
    #[must_use]
    pub fn at_most_once(self) -> Self {
        self.with(|route| route.abandoned = AbandonedWork::AtMostOnce)
    }

    /// The longest body in bytes (1 MiB unless set); a longer one is answered 413.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        self.with(|route| route.body_limit = bytes)
    }

    /// The longest answer in bytes whose body is kept (1 MiB unless set). A longer one is sent once; a retry hears 409
    /// `response-not-replayable`.
    #[must_use]
    pub fn response_limit(self, bytes: usize) -> Self {
        self.with(|route| route.keeping.limit = route.keeping.limit.map(|_| bytes))
    }

    /// Keeps no bodies (for answers that hold secrets): a retry hears 409 `response-not-replayable`.
    #[must_use]
    pub fn without_bodies(self) -> Self {
        self.with(|route| route.keeping.limit = None)
    }

    /// Also replays `Set-Cookie`.
    #[must_use]
    pub fn with_cookies(self) -> Self {
        self.with(|route| route.keeping.cookies = Cookies::Keep)
    }

    /// Leaves members of the JSON body out of the comparison, each by its JSON Pointer (RFC 6901): what a client sets anew
    /// with every attempt, such as a time.
    ///
    /// # Errors
    /// [`InvalidPointer`].
    pub fn ignoring<'p>(self, pointers: impl IntoIterator<Item = &'p str>) -> Result<Self, InvalidPointer> {
        let pointers = pointers.into_iter().map(Pointer::new).collect::<Result<Vec<_>, _>>()?;
        Ok(self.comparing(Recipe::ignoring(pointers)))
    }

    /// Compares bodies byte for byte, JSON too.
    #[must_use]
    pub fn raw(self) -> Self {
        self.comparing(Recipe::raw())
    }

    fn comparing(mut self, recipe: Recipe) -> Self {
        self.recipe_id = Arc::default();
        self.with(|route| route.recipe = recipe)
    }

    /// The longest that `Prefer: wait=n` (RFC 7240) may ask for (20 s unless set).
    #[must_use]
    pub fn max_wait(self, wait: Duration) -> Self {
        self.with(|route| route.max_wait = wait)
    }
}

impl<S> Clone for IdempotencyLayer<S> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            scoping: self.scoping.clone(),
            route: self.route.clone(),
            recipe_id: self.recipe_id.clone(),
        }
    }
}

impl<S> fmt::Debug for IdempotencyLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer").field("route", &self.route).finish_non_exhaustive()
    }
}

impl<S: Records, I> Layer<I> for IdempotencyLayer<S> {
    type Service = IdempotencyService<S, I>;

    fn layer(&self, inner: I) -> Self::Service {
        IdempotencyService::around(inner, self.clone())
    }
}
