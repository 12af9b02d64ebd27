-- One batch. Without the cursor ($1) each batch would read the dead index entries of all earlier ones again.
-- Completed records, and those that nobody came back for and that have begun no step. Unknown ones are never purged here, nor
-- abandoned ones with steps: these become unknown (mark_abandoned.sql).
WITH old AS MATERIALIZED (
  SELECT scope, key, purge_at FROM samekey.record
   WHERE purge_at >= coalesce(to_timestamp($1::bigint / 1000.0), '-infinity') AND purge_at <= now()
     AND (state = 2 OR (state = 1 AND lease_until <= now() AND steps_begun = 0))
   ORDER BY purge_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM samekey.record r USING old WHERE r.scope = old.scope AND r.key = old.key
  RETURNING old.scope, old.key, old.purge_at, r.token
), steps AS (
  DELETE FROM samekey.step s USING gone WHERE s.scope = gone.scope AND s.key = gone.key
), resolutions AS (
  DELETE FROM samekey.resolution n USING gone WHERE n.scope = gone.scope AND n.key = gone.key
), answers AS (
  DELETE FROM samekey.response p USING gone WHERE p.token = gone.token
)
SELECT count(*) AS removed, floor(extract(epoch FROM max(purge_at)) * 1000)::bigint AS cursor_ms FROM gone
