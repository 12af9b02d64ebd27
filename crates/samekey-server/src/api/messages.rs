//! `POST /v1/messages` and `GET /v1/messages/{id}`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use samekey_core::derived::Identity;
use samekey_core::fingerprint::Pointer;
use samekey_core::fingerprint::Request as Fingerprinted;
use samekey_core::message::{Accepted, ChannelKind, KnownKey, MessageId, MessageKey, NewMessage};
use samekey_core::store::Messages;
use samekey_core::tenant::ProjectId;
use samekey_core::{Fingerprint, Key, Recipe};

use super::{Api, Problem, metrics, view};
use crate::fields::{Fault, MessageFields};
use crate::random;

/// Bodies up to here are read.
const MAX_BODY: usize = 1 << 20;
/// A body that takes longer was sent by somebody who holds connections open.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Of a body that is too large, so much is read and thrown away before it is answered.
const MAX_HEARD_OUT: usize = 16 << 20;
const HEARING_TIME: Duration = Duration::from_secs(2);

/// How messages are checked and kept.
#[derive(Debug)]
pub struct MessageRules {
    /// The sender of messages that name none.
    pub default_sender: Option<String>,
    /// How long a repeat is recognised.
    pub retention: Duration,
    /// How long after that its key is refused as expired.
    pub tombstone: Duration,
    /// How fingerprints are made.
    pub recipe: Recipe,
}

impl MessageRules {
    /// The recipe of the sending API: canonical JSON without the member that names the key.
    #[must_use]
    pub fn recipe() -> Recipe {
        Recipe::ignoring([Pointer::new("/idempotency_key").expect("it is a pointer to a member")])
    }
}

/// Accepts one message, once.
pub(super) async fn create(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Problem> {
    let answer = accept(&api, request).await;
    let outcome = match &answer {
        Ok((outcome, _)) => *outcome,
        Err(problem) => problem.code(),
    };
    metrics::count_request(outcome);
    answer.map(|(_, response)| response)
}

async fn accept(api: &Api, request: Request) -> Result<(&'static str, Response), Problem> {
    let (parts, body) = request.into_parts();
    let project = api.authentication.project(&parts.headers).await?;
    let header_key = header_key(&parts.headers)?;
    check_content_type(&parts.headers)?;
    check_query(parts.uri.query())?;
    let body = read_whole(&parts.headers, body).await?;
    let (key, message) = checked(api, project, header_key, &body)?;
    let id = message.id;
    match api.intake.accept(message).await? {
        Accepted::Fresh if key.is_some() => Ok(("queued", answer("queued", id, ""))),
        Accepted::Fresh => Ok(("queued", answer("queued", id, r#","deduplicated":false"#))),
        Accepted::Known(known) => known_key(api, &known, &body).await,
    }
}

/// The message, if nothing is wrong with it.
fn checked(
    api: &Api,
    project: ProjectId,
    header_key: Option<Key>,
    body: &Bytes,
) -> Result<(Option<Key>, NewMessage), Problem> {
    let rules = &api.rules;
    let fields = MessageFields::read(body).map_err(Problem::invalid)?;
    let key = one_key(header_key, fields.idempotency_key.as_deref())?;
    let draft = fields.email.draft(rules.default_sender.as_deref()).ok_or_else(|| {
        Problem::invalid(vec![Fault::new("/from", "it is missing, and the service has no default sender")])
    })?;
    let faults = draft.faults();
    if !faults.is_empty() {
        return Err(Problem::invalid(faults.into_iter().map(|f| Fault::new(f.pointer, f.detail)).collect()));
    }
    let id = random::message_id();
    let message_key = key.clone().map(|key| MessageKey {
        fingerprint: fingerprint(&rules.recipe, body),
        key,
        recipe: api.recipe,
        retention: rules.retention,
        tombstone: rules.tombstone,
    });
    let identity = message_key.as_ref().map_or_else(
        || Identity::unkeyed(id.0.as_bytes()),
        |key| Identity::keyed(project, &key.key, &key.fingerprint),
    );
    let sender = if fields.email.names_sender() { None } else { rules.default_sender.clone() };
    let message = NewMessage {
        id,
        project,
        channel: ChannelKind::Email,
        key: message_key,
        identity,
        sender,
        payload: body.clone(),
        send_at: None,
        expires_at: None,
    };
    Ok((key, message))
}

/// A repeat, another request, or a key from long ago: by the recipe of the record, also after a deploy.
async fn known_key(api: &Api, known: &KnownKey, body: &[u8]) -> Result<(&'static str, Response), Problem> {
    if known.tombstone {
        return Err(Problem::key_expired(StatusCode::ACCEPTED.as_u16()));
    }
    let same = if known.recipe == api.recipe {
        fingerprint(&api.rules.recipe, body) == known.fingerprint
    } else {
        fingerprint(&api.store.recipe_of(known.recipe).await?, body) == known.fingerprint
    };
    if !same {
        return Err(Problem::key_reused());
    }
    Ok(("duplicate_ignored", answer("duplicate_ignored", known.first, "")))
}

/// Of a single message; an item of a batch has the same.
fn fingerprint(recipe: &Recipe, body: &[u8]) -> Fingerprint {
    recipe.fingerprint(&Fingerprinted {
        method: "POST",
        path: "/v1/messages",
        query: "",
        content_type: "application/json",
        body,
    })
}

fn answer(status: &str, id: MessageId, rest: &str) -> Response {
    let body = format!(r#"{{"status":"{status}","id":"{id}"{rest}}}"#);
    let json = HeaderValue::from_static("application/json");
    (StatusCode::ACCEPTED, [(CONTENT_TYPE, json)], body).into_response()
}

/// The key of the header, if there is one; the sending API does not insist.
fn header_key(headers: &HeaderMap) -> Result<Option<Key>, Problem> {
    let mut lines = headers.get_all("idempotency-key").iter().map(HeaderValue::as_bytes).peekable();
    if lines.peek().is_none() {
        return Ok(None);
    }
    Key::from_header_lines(lines).map(Some).map_err(Problem::key)
}

fn one_key(header: Option<Key>, member: Option<&str>) -> Result<Option<Key>, Problem> {
    let member = member.map(Key::new).transpose().map_err(Problem::key)?;
    match (header, member) {
        (Some(header), Some(member)) if header != member => Err(Problem::keys_disagree()),
        (header, member) => Ok(header.or(member)),
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Problem::unsupported_media_type())
    }
}

/// A query that nobody reads would be one that nobody fingerprints.
fn check_query(query: Option<&str>) -> Result<(), Problem> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => {
            Err(Problem::invalid(vec![Fault::new("", "this address takes no query parameters; remove them")]))
        }
    }
}

async fn read_whole(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large(body).await);
    }
    let read = tokio::time::timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect()).await;
    match read {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::payload_too_large(MAX_BODY)),
        Ok(Err(_)) => Err(Problem::body_cut()),
        Err(_) => Err(Problem::request_timeout()),
    }
}

/// Hears the sender out, up to a bound: who is answered in mid-sentence sees a broken connection and not the answer.
async fn too_large(mut body: Body) -> Problem {
    let heard_out = async {
        let mut heard = 0;
        while let Some(Ok(frame)) = body.frame().await {
            heard += frame.data_ref().map_or(0, Bytes::len);
            if heard > MAX_HEARD_OUT {
                break;
            }
        }
    };
    // Whether all of it came changes nothing about the answer.
    let _ = tokio::time::timeout(HEARING_TIME, heard_out).await;
    Problem::payload_too_large(MAX_BODY)
}

/// One message of the caller's own project.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let project = api.authentication.project(&headers).await?;
    let missing = || Problem::not_found("there is no such message in your project");
    let Path(id) = id.map_err(|_| missing())?;
    let id: MessageId = id.parse().map_err(|_| missing())?;
    let message = api.store.message(project, id).await?.ok_or_else(missing)?;
    Ok(axum::Json(view::Shown::of(&message)).into_response())
}
