-- One page in the order of the primary key, from the place ($1, $2) on and up to the scope $3. It looks at $6 rows at the
-- most, whatever it is asked for, and tells the last of them, so that the next page goes on there.
WITH seen AS MATERIALIZED (
  SELECT scope, key, token, state, generation, steps_begun, status, lease_until, expires_at, purge_at
    FROM samekey.record WHERE (scope, key) > ($1, $2) AND scope <= $3 ORDER BY scope, key LIMIT $6
), last AS (
  SELECT scope, key, (SELECT count(*) FROM seen) AS looked_at FROM seen ORDER BY scope DESC, key DESC LIMIT 1
), found AS (
  SELECT * FROM seen WHERE ($4::smallint IS NULL OR state = $4) AND (state <> 2 OR purge_at > now())
   ORDER BY scope, key LIMIT $5
)
SELECT last.scope AS last_scope, last.key AS last_key, last.looked_at, f.token IS NOT NULL AS found,
       f.scope, f.key, f.token, f.state, f.generation, f.steps_begun, f.status,
       extract(epoch FROM greatest(f.lease_until - clock_timestamp(), interval '0'))::float8 AS lease_left_s,
       floor(extract(epoch FROM f.expires_at) * 1000)::bigint AS expires_at_ms,
       floor(extract(epoch FROM f.purge_at) * 1000)::bigint AS purge_at_ms,
       CASE WHEN f.state <> 2 OR f.expires_at > now() THEN 0 ELSE 1 END AS age
  FROM last LEFT JOIN found f ON true ORDER BY f.scope, f.key
