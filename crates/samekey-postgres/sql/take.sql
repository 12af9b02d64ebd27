-- What is taken is called at once: no prefetch. A lapsed lease (state 2) may have been sent: marked, written down as lapsed,
-- and under at-most-once it goes to unknown, keeping its token, so that its stalled worker can still bring the truth.
-- The CTE is a fence: without it the planner may update more rows than LIMIT says.
WITH due AS MATERIALIZED (
  SELECT id, state, token, started_at,
         state = 2 AND $4 AS held, expires_at <= now() AS too_old, maybe_sent OR state = 2 AS doubtful
    FROM samekey.delivery
   WHERE channel = $1 AND wake_at <= now() AND wake_at IS NOT NULL
   ORDER BY wake_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
), next AS MATERIALIZED (
  SELECT *, CASE WHEN held OR (too_old AND doubtful) THEN 5 WHEN too_old THEN 7 ELSE 2 END AS becomes FROM due
), moved AS (
  UPDATE samekey.delivery d
     SET state      = n.becomes,
         wake_at    = CASE WHEN n.becomes = 2 THEN now() + $3::float8 * interval '1 second' END,
         started_at = CASE WHEN n.becomes = 2 THEN now() ELSE d.started_at END,
         attempts   = d.attempts + (n.becomes = 2)::int,
         token      = CASE WHEN n.becomes = 2 THEN nextval('samekey.token') ELSE d.token END,
         maybe_sent = n.doubtful
    FROM next n WHERE d.id = n.id
  RETURNING d.id, d.project, d.token, d.state, d.attempts, d.nonce, d.maybe_sent, d.due_at
), lapsed AS (
  INSERT INTO samekey.attempt (delivery, token, started_at, ended_at, outcome)
  SELECT id, token, started_at, now(), 6 FROM due WHERE state = 2
  ON CONFLICT (delivery, token) DO NOTHING
)
SELECT v.id, v.token, v.attempts, v.nonce, v.maybe_sent, v.project,
       floor(extract(epoch FROM m.created_at) * 1000)::bigint AS created_at_ms,
       extract(epoch FROM now() - v.due_at)::float8 AS age_s, m.identity, m.sender, m.payload
  FROM moved v JOIN samekey.message m ON m.project = v.project AND m.id = v.id WHERE v.state = 2
