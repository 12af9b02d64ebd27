-- No row: the claim is lost, do not call. "again": begun before.
WITH mine AS (
  UPDATE samekey.record SET steps_begun = steps_begun + 1
   WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 RETURNING generation
)
INSERT INTO samekey.step AS s (scope, key, name, token, state, unkeyed, input)
SELECT $1, $2, $4, $3, 1, $5, $6 FROM mine
ON CONFLICT (scope, key, name) DO UPDATE SET token = excluded.token
RETURNING (SELECT generation FROM mine) AS generation, s.state, s.input, s.result, s.xmax <> 0 AS again
