WITH old AS MATERIALIZED (
  SELECT project, key, purge_at FROM samekey.message_key
   WHERE purge_at >= coalesce(to_timestamp($1::bigint / 1000.0), '-infinity') AND purge_at <= now()
   ORDER BY purge_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM samekey.message_key k USING old WHERE k.project = old.project AND k.key = old.key RETURNING old.purge_at
)
SELECT count(*) AS removed, floor(extract(epoch FROM max(purge_at)) * 1000)::bigint AS cursor_ms FROM gone
