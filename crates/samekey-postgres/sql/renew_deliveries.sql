WITH live AS MATERIALIZED (
  SELECT d.id, d.token FROM unnest($1::uuid[], $2::bigint[]) AS u(id, token)
    JOIN samekey.delivery d ON d.id = u.id AND d.token = u.token WHERE d.state = 2 FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE samekey.delivery d SET wake_at = clock_timestamp() + $3::float8 * interval '1 second'
  FROM live WHERE d.id = live.id AND d.token = live.token AND d.state = 2
RETURNING d.id
