-- What nobody came back for, once its time is over: unknown where steps were begun. The token stays, so that a stalled owner
-- can still bring the true answer by completing.
WITH old AS MATERIALIZED (
  SELECT scope, key FROM samekey.record
   WHERE purge_at <= now() AND state = 1 AND lease_until <= now() AND steps_begun > 0
   ORDER BY purge_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE samekey.record r SET state = 3, lease_until = NULL FROM old WHERE r.scope = old.scope AND r.key = old.key
RETURNING r.token
