-- One batch. Without the cursor ($1) each batch would read the dead index entries of all earlier ones again.
-- In-progress and unknown records are never purged here.
WITH old AS MATERIALIZED (
  SELECT scope, key, purge_at FROM samekey.record
   WHERE purge_at >= coalesce(to_timestamp($1::bigint / 1000.0), '-infinity') AND purge_at <= now() AND state = 2
   ORDER BY purge_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM samekey.record r USING old WHERE r.scope = old.scope AND r.key = old.key
  RETURNING old.scope, old.key, old.purge_at, r.token
), steps AS (
  DELETE FROM samekey.step s USING gone WHERE s.scope = gone.scope AND s.key = gone.key
), answers AS (
  DELETE FROM samekey.response p USING gone WHERE p.token = gone.token
)
SELECT count(*) AS removed, floor(extract(epoch FROM max(purge_at)) * 1000)::bigint AS cursor_ms FROM gone
