//! Accept: key and message in one transaction, many requests in one commit.

use samekey_core::StoreError;
use samekey_core::message::{Accepted, KnownKey, MessageId, MessageKey, NewMessage};
use samekey_core::store::RecipeId;
use samekey_core::time::UnixMs;

use crate::columns::{as_millis, column, fingerprint, uuid};
use crate::error;
use crate::writer::Turn;

/// Accepts one message of the group.
pub(crate) fn accept(turn: &Turn<'_>, message: &NewMessage) -> Result<Accepted, StoreError> {
    let due_at = message.send_at.map_or(turn.now, |UnixMs(at)| at.max(turn.now));
    if let Some(key) = &message.key {
        while !take_key(turn, message, key, due_at)? {
            let (known, purge_at) = known(turn, message, key)?;
            if known.first == message.id {
                return Ok(Accepted::Fresh);
            }
            if purge_at > turn.now {
                return Ok(Accepted::Known(known));
            }
            turn.execute(
                "DELETE FROM message_key WHERE project = ?1 AND key = ?2",
                (message.project.0, key.key.as_bytes()),
            )?;
        }
    }
    keep(turn, message, due_at)?;
    Ok(Accepted::Fresh)
}

/// Says whether the key was free.
fn take_key(
    turn: &Turn<'_>,
    message: &NewMessage,
    key: &MessageKey,
    due_at: i64,
) -> Result<bool, StoreError> {
    let expires_at = due_at + as_millis(key.retention);
    let rows = turn.execute(
        "INSERT INTO message_key (project, key, message, fingerprint, recipe, expires_at, purge_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (project, key) DO NOTHING",
        (
            message.project.0,
            key.key.as_bytes(),
            message.id.0.as_bytes(),
            key.fingerprint.as_bytes(),
            key.recipe.0,
            expires_at,
            expires_at + as_millis(key.tombstone),
        ),
    )?;
    Ok(rows > 0)
}

/// What the key stands for, and until when it is kept at all.
fn known(turn: &Turn<'_>, message: &NewMessage, key: &MessageKey) -> Result<(KnownKey, i64), StoreError> {
    let mut statement = turn
        .db
        .prepare_cached("SELECT message, fingerprint, recipe, expires_at, purge_at FROM message_key WHERE project = ?1 AND key = ?2")
        .map_err(error::of)?;
    let mut rows = statement.query((message.project.0, key.key.as_bytes())).map_err(error::of)?;
    let row = rows
        .next()
        .map_err(error::of)?
        .ok_or_else(|| error::unreadable("a key that is taken is not there"))?;
    let known = KnownKey {
        first: MessageId(uuid(row, "message")?),
        fingerprint: fingerprint(row)?,
        recipe: RecipeId(column(row, "recipe")?),
        tombstone: column::<i64>(row, "expires_at")? <= turn.now,
    };
    Ok((known, column(row, "purge_at")?))
}

/// Writes the message and its delivery; a message that was handed in before, by its id, is left as it is.
fn keep(turn: &Turn<'_>, message: &NewMessage, due_at: i64) -> Result<(), StoreError> {
    let new = turn.execute(
        "INSERT INTO message (id, project, channel, created_at, identity, key, sender, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
        (
            message.id.0.as_bytes(),
            message.project.0,
            message.channel.code(),
            turn.now,
            message.identity.as_bytes(),
            message.key.as_ref().map(|key| key.key.as_bytes()),
            message.sender.as_deref(),
            &message.payload[..],
        ),
    )?;
    if new == 0 {
        return Ok(());
    }
    turn.execute(
        "INSERT INTO delivery (seq, channel, state, wake_at, due_at, expires_at) VALUES (?1, ?2, 1, ?3, ?3, ?4)",
        (turn.db.last_insert_rowid(), message.channel.code(), due_at, message.expires_at.map(|UnixMs(at)| at)),
    )?;
    Ok(())
}
