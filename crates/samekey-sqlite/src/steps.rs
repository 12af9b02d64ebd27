//! Steps: a named external call inside an intent.

use bytes::Bytes;
use rusqlite::OptionalExtension as _;
use samekey_core::StoreError;
use samekey_core::derived::DerivedKey;
use samekey_core::store::{BegunStep, Held, Reply, StepKind};

use crate::writer::Turn;
use crate::{Sqlite, error};

/// The record under a live claim.
struct Mine {
    record: i64,
    generation: u32,
}

fn mine(turn: &Turn<'_>, held: &Held) -> Result<Mine, StoreError> {
    let values = (held.scope.as_bytes(), held.key.as_bytes(), held.token.0);
    let found = turn
        .db
        .prepare_cached(
            "SELECT id, generation FROM record WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1",
        )
        .and_then(|mut statement| {
            statement
                .query_row(values, |row| Ok(Mine { record: row.get(0)?, generation: row.get(1)? }))
                .optional()
        });
    found.map_err(error::of)?.ok_or(StoreError::ClaimLost)
}

fn begin(
    turn: &Turn<'_>,
    held: &Held,
    name: &str,
    kind: StepKind,
    input: &[u8],
) -> Result<BegunStep, StoreError> {
    let Mine { record, generation } = mine(turn, held)?;
    turn.execute("UPDATE record SET steps_begun = steps_begun + 1 WHERE id = ?1", [record])?;
    let new = turn.execute(
        "INSERT INTO step (record, name, token, state, unkeyed, input) VALUES (?1, ?2, ?3, 1, ?4, ?5)
         ON CONFLICT (record, name) DO NOTHING",
        (record, name, held.token.0, kind == StepKind::Unkeyed, input),
    )? > 0;
    if !new {
        turn.execute(
            "UPDATE step SET token = ?3 WHERE record = ?1 AND name = ?2",
            (record, name, held.token.0),
        )?;
    }
    let (state, input, result): (i64, Vec<u8>, Option<Vec<u8>>) = turn
        .db
        .prepare_cached("SELECT state, input, result FROM step WHERE record = ?1 AND name = ?2")
        .and_then(|mut statement| {
            statement.query_row((record, name), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        })
        .map_err(error::of)?;
    let reply = match (state, result) {
        (2, result) => Reply::Kept(Bytes::from(result.unwrap_or_default())),
        _ if new => Reply::New,
        _ => Reply::Begun,
    };
    let derived_key = DerivedKey::new(&held.scope, &held.key, generation, name);
    Ok(BegunStep { derived_key, input: Bytes::from(input), reply })
}

impl Sqlite {
    pub(crate) async fn step_begun(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<BegunStep, StoreError> {
        let (held, name, input) = (held.clone(), name.to_owned(), input.to_vec());
        self.writer.run(move |turn| begin(turn, &held, &name, kind, &input)).await
    }

    pub(crate) async fn step_names(&self, held: &Held) -> Result<Vec<String>, StoreError> {
        let held = held.clone();
        self.readers
            .run(move |look| {
                let mut statement = look
                    .db
                    .prepare_cached(
                        "SELECT name FROM step WHERE record = (SELECT id FROM record WHERE scope = ?1 AND key = ?2)
                          ORDER BY name",
                    )
                    .map_err(error::of)?;
                let names =
                    statement.query_map((held.scope.as_bytes(), held.key.as_bytes()), |row| row.get(0));
                names.and_then(Iterator::collect).map_err(error::of)
            })
            .await
    }

    pub(crate) async fn step_ended(&self, held: &Held, name: &str, result: &[u8]) -> Result<(), StoreError> {
        let (held, name, result) = (held.clone(), name.to_owned(), result.to_vec());
        self.writer
            .run(move |turn| {
                let rows = turn.execute(
                    "UPDATE step SET state = 2, result = ?5
                      WHERE record = (SELECT id FROM record WHERE scope = ?1 AND key = ?2) AND token = ?3 AND name = ?4
                        AND state = 1",
                    (held.scope.as_bytes(), held.key.as_bytes(), held.token.0, &name, &result),
                )?;
                if rows == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
            })
            .await
    }

    pub(crate) async fn step_undone(&self, held: &Held, name: &str) -> Result<(), StoreError> {
        let (held, name) = (held.clone(), name.to_owned());
        self.writer
            .run(move |turn| {
                let Mine { record, .. } = mine(turn, &held)?;
                let rows = turn.execute(
                    "DELETE FROM step WHERE record = ?1 AND name = ?2 AND token = ?3 AND state = 1",
                    (record, &name, held.token.0),
                )?;
                if rows == 0 {
                    return Err(StoreError::ClaimLost);
                }
                turn.execute("UPDATE record SET steps_begun = steps_begun - 1 WHERE id = ?1", [record])
                    .map(drop)
            })
            .await
    }
}
