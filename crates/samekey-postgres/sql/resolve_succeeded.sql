-- A claim like any other: it names the token that was seen and takes a new one. The answer lies under the new one.
WITH settled AS (
  UPDATE samekey.record
     SET token = nextval('samekey.token'), state = 2, status = $4,
         expires_at = now() + retention_s * interval '1 second',
         purge_at = now() + retention_s * interval '1 second' + (purge_at - expires_at)
   WHERE scope = $1 AND key = $2 AND token = $3 AND state = 3
  RETURNING scope, key, token, expires_at
), kept AS (
  INSERT INTO samekey.response (token, expires_at, answer) SELECT token, expires_at, $5 FROM settled
)
INSERT INTO samekey.resolution (scope, key, token, outcome, who, why) SELECT scope, key, token, 1, $6, $7 FROM settled
RETURNING true AS resolved
