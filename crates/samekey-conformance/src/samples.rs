//! Records and messages to test with.

use std::time::Duration;

use bytes::Bytes;
use samekey_core::delivery::{AmbiguityPolicy, DeliveryState, OutcomeCode, Verdict};
use samekey_core::derived::Identity;
use samekey_core::lease::Lease;
use samekey_core::message::{ChannelKind, Finished, MessageId, MessageKey, NewMessage, Take, Taken};
use samekey_core::store::{Claim, ClaimRequest, Claimed, Held, RecipeId, Records};
use samekey_core::tenant::ProjectId;
use samekey_core::{Answer, Fingerprint, Key, Recipe, Scope, UnixMs};
use tokio::time::Instant;
use uuid::Uuid;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
/// A moment that a case waits for.
pub(crate) const MOMENT: Duration = Duration::from_millis(300);
pub(crate) const PROJECT: ProjectId = ProjectId(7);

pub(crate) fn lease() -> Lease {
    Lease::new(Duration::from_secs(60)).unwrap()
}

/// The shortest there is.
pub(crate) fn short_lease() -> Lease {
    Lease::new(Lease::SHORTEST).unwrap()
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

pub(crate) fn fingerprint(text: &str) -> Fingerprint {
    let request = samekey_core::fingerprint::Request {
        method: "POST",
        path: "/",
        query: "",
        content_type: "",
        body: text.as_bytes(),
    };
    Recipe::raw().fingerprint(&request)
}

pub(crate) async fn recipe(store: &impl Records) -> RecipeId {
    store.recipe(&Recipe::canonical()).await.unwrap()
}

/// A wish for `key` in the scope `t`.
pub(crate) fn wish(key: &str) -> ClaimRequest {
    ClaimRequest {
        scope: Scope::new("t").unwrap(),
        key: Key::new(key).unwrap(),
        claim: Uuid::from_bytes(random()),
        fingerprint: fingerprint("a"),
        recipe: RecipeId(1),
        lease: lease(),
        retention: HOUR,
        tombstone: HOUR,
    }
}

pub(crate) async fn claim(store: &impl Records, wish: &ClaimRequest) -> Claimed {
    store.claim(vec![wish.clone()]).await.unwrap().remove(0)
}

pub(crate) async fn win(store: &impl Records, wish: &ClaimRequest) -> Claim {
    match claim(store, wish).await {
        Claimed::Won(claim) => claim,
        Claimed::Met(record) => panic!("met {record:?}"),
    }
}

pub(crate) fn held(wish: &ClaimRequest, claim: Claim) -> Held {
    Held { scope: wish.scope.clone(), key: wish.key.clone(), token: claim.token }
}

/// A claim whose lease is over by the database's clock.
pub(crate) async fn abandon(store: &impl Records, wish: &ClaimRequest) -> Held {
    let mine = held(wish, win(store, wish).await);
    assert!(store.end_lease(&mine).await.unwrap());
    mine
}

pub(crate) fn answer() -> Answer {
    let headers = vec![("location".to_owned(), b"/orders/1".to_vec()), ("x".to_owned(), vec![0xff, 0])];
    Answer { status: 201, headers, body: Some(Bytes::from_static(b"{\"id\":1}\0\xff")) }
}

/// A message without a key.
pub(crate) fn message() -> NewMessage {
    let id = MessageId::mint(UnixMs(1_796_083_200_000), random());
    NewMessage {
        id,
        project: PROJECT,
        channel: ChannelKind::Email,
        key: None,
        identity: Identity::unkeyed(id.0.as_bytes()),
        sender: Some("Shop <shop@example.org>".to_owned()),
        payload: Bytes::from_static(br#"{"n":12345678901234567890,"s":"\u0000","b":1,"a":2}"#),
        send_at: None,
        expires_at: None,
    }
}

pub(crate) fn keyed(key: &str) -> NewMessage {
    let key = MessageKey {
        key: Key::new(key).unwrap(),
        fingerprint: fingerprint("a"),
        recipe: RecipeId(1),
        retention: HOUR,
        tombstone: HOUR,
    };
    NewMessage { key: Some(key), ..message() }
}

pub(crate) fn take(slots: usize) -> Take {
    Take { channel: ChannelKind::Email, slots, lease: lease(), ambiguity: AmbiguityPolicy::AtLeastOnce }
}

pub(crate) fn verdict(state: DeliveryState, outcome: OutcomeCode) -> Verdict {
    let wait = (state == DeliveryState::Waiting).then_some(Duration::ZERO);
    Verdict { state, wait, outcome, provider_id: None, detail: None }
}

pub(crate) fn finished(taken: &Taken, verdict: Verdict) -> Finished {
    Finished { id: taken.id, token: taken.token, verdict }
}

/// Asks until there is an answer. The database's clock is not ours to turn, so time that must pass really passes.
pub(crate) async fn eventually<T, F>(what: &str, mut answer: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(answer) = answer().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "never so: {what}");
        // waits: for the database's clock; the deadline above is the bound, this only paces the questions.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Asks until it is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut so: impl FnMut() -> F) {
    eventually(what, || {
        let so = so();
        async { so.await.then_some(()) }
    })
    .await;
}
