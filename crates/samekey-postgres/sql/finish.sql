-- "failed", "cancelled" or "expired" after an ambiguous attempt is unknown: decided here, by the row, not by the worker.
-- A late yes is taken while nobody has a newer token. A zombie's attempt is told truthfully all the same (late).
-- No partial index WHERE state = 2 may exist: the planner believes it empty and scans it instead of the primary key.
WITH f AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::float8[], $5::smallint[], $6::text[], $7::text[])
    AS f(id, token, state, wait_s, outcome, provider_id, detail)
), done AS (
  UPDATE samekey.delivery d
     SET state       = CASE WHEN f.state IN (4, 6, 7) AND (d.maybe_sent OR f.outcome = 4) THEN 5 ELSE f.state END,
         wake_at     = CASE WHEN f.state = 1 THEN now() + f.wait_s * interval '1 second' END,
         attempts    = d.attempts - (f.outcome = 5)::int,
         maybe_sent  = d.maybe_sent OR f.outcome = 4,
         provider_id = coalesce(f.provider_id, d.provider_id)
    FROM f WHERE d.id = f.id AND d.token = f.token AND (d.state = 2 OR (d.state = 5 AND f.state = 3))
  RETURNING d.id, d.token, d.state, d.started_at
), ended AS (
  INSERT INTO samekey.attempt (delivery, token, started_at, ended_at, outcome, detail)
  SELECT f.id, f.token, done.started_at, now(), f.outcome, f.detail
    FROM f JOIN done ON done.id = f.id AND done.token = f.token WHERE f.outcome <> 5
  ON CONFLICT (delivery, token) DO NOTHING
), late AS (
  UPDATE samekey.attempt a SET ended_at = now(), outcome = f.outcome, detail = f.detail
    FROM f WHERE a.delivery = f.id AND a.token = f.token AND a.outcome = 6
)
SELECT id, state FROM done
