-- Accept, many messages in one statement: the key row names its message from the start, so there is no UPDATE.
-- What comes back is fresh; for the others, the keys are looked up afterwards (known_keys.sql), on a snapshot that sees
-- their winners. An unkeyed message recognises itself by its id.
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::bigint[], $4::smallint[], $5::bytea[], $6::bytea[], $7::smallint[],
                       $8::float8[], $9::float8[], $10::bytea[], $11::text[], $12::bytea[], $13::bigint[], $14::bigint[])
    AS w(ord, id, project, channel, key, fingerprint, recipe, retention_s, tombstone_s, identity, sender, payload, send_at_ms, expires_at_ms)
), timed AS MATERIALIZED (
  SELECT *, greatest(now(), to_timestamp(send_at_ms / 1000.0)) AS due_at FROM want
), k AS (
  INSERT INTO samekey.message_key (project, key, message, fingerprint, recipe, expires_at, purge_at)
  SELECT project, key, id, fingerprint, recipe, due_at + retention_s * interval '1 second',
         due_at + (retention_s + tombstone_s) * interval '1 second'
    FROM timed WHERE key IS NOT NULL ORDER BY project, key
  ON CONFLICT (project, key) DO NOTHING RETURNING message
), win AS MATERIALIZED (
  SELECT w.* FROM timed w LEFT JOIN k ON k.message = w.id WHERE w.key IS NULL OR k.message IS NOT NULL
), m AS (
  INSERT INTO samekey.message (project, id, channel, identity, key, sender, payload)
  SELECT project, id, channel, identity, key, sender, payload FROM win
  ON CONFLICT (project, id) DO NOTHING
), d AS (
  INSERT INTO samekey.delivery (id, project, channel, state, wake_at, due_at, expires_at)
  SELECT id, project, channel, 1, due_at, due_at, to_timestamp(expires_at_ms / 1000.0) FROM win
  ON CONFLICT (id) DO NOTHING
)
SELECT ord FROM win
