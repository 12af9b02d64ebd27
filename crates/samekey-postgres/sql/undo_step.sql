-- The record's row decides: without it, the step belongs to another claim and stays.
WITH mine AS (
  UPDATE samekey.record r SET steps_begun = steps_begun - 1
   WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND EXISTS (
     SELECT FROM samekey.step s WHERE s.scope = $1 AND s.key = $2 AND s.token = $3 AND s.name = $4 AND s.state = 1)
  RETURNING token
), gone AS (
  DELETE FROM samekey.step USING mine WHERE step.scope = $1 AND step.key = $2 AND step.token = $3 AND step.name = $4
)
SELECT token FROM mine
