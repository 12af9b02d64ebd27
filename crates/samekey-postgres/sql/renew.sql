-- Heartbeat for all live claims of a process; rows that a completing transaction holds are skipped, not waited for.
WITH live AS MATERIALIZED (
  SELECT r.scope, r.key, r.token FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS u(scope, key, token)
    JOIN samekey.record r ON r.scope = u.scope AND r.key = u.key AND r.token = u.token
   WHERE r.state = 1 FOR NO KEY UPDATE OF r SKIP LOCKED
)
UPDATE samekey.record r SET lease_until = clock_timestamp() + $4::float8 * interval '1 second'
  FROM live WHERE r.scope = live.scope AND r.key = live.key AND r.token = live.token AND r.state = 1
RETURNING r.token
