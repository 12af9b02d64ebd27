-- Claim, many requests in one statement, one round trip. Rows are matched by claim id, never by key; sorted, so that two
-- batches cannot deadlock. A loser finds the record; who finds neither lost to a commit during the statement, or the row
-- was purged: run again. LATERAL, so that each look is one probe of the index: a join may be planned as a scan of the whole
-- table while its statistics say that it is empty.
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::uuid[], $5::bytea[], $6::smallint[],
                       $7::float8[], $8::float8[], $9::float8[])
         AS w(ord, scope, key, claim, fingerprint, recipe, lease_s, retention_s, tombstone_s)
), fresh AS (
  INSERT INTO samekey.record (scope, key, claim, fingerprint, recipe, token, state, lease_until, expires_at, purge_at, retention_s)
  SELECT scope, key, claim, fingerprint, recipe, nextval('samekey.token'), 1,
         clock_timestamp() + lease_s * interval '1 second', now() + retention_s * interval '1 second',
         now() + (retention_s + tombstone_s) * interval '1 second', retention_s
    FROM want ORDER BY scope, key
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING claim, token
)
SELECT w.ord, f.token AS won, r.*
  FROM want w
  LEFT JOIN fresh f ON f.claim = w.claim
  LEFT JOIN LATERAL (
    SELECT r.claim = w.claim AND r.state = 1 AS mine,
           r.token, r.claim, r.state, r.generation, r.steps_begun, r.fingerprint, r.recipe, r.status,
           extract(epoch FROM greatest(r.lease_until - clock_timestamp(), interval '0'))::float8 AS lease_left_s,
           CASE WHEN r.state <> 2 OR r.expires_at > now() THEN 0 WHEN r.purge_at > now() THEN 1 ELSE 2 END AS age,
           r.state = 1 AND r.steps_begun > 0 AND EXISTS (
             SELECT FROM samekey.step s WHERE s.scope = r.scope AND s.key = r.key AND s.unkeyed AND s.state = 1) AS step_in_doubt,
           (SELECT p.answer FROM samekey.response p WHERE r.state = 2 AND r.expires_at > now() AND p.token = r.token) AS answer
      FROM samekey.record r WHERE f.claim IS NULL AND r.scope = w.scope AND r.key = w.key LIMIT 1
  ) r ON true
