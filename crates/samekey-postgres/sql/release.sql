-- Only while no step was begun, tested on the record's own column: a NOT EXISTS on the step table would be evaluated on an
-- old snapshot. A key that an operator freed before is free again instead: its generation must not be forgotten, or the next
-- attempt would have the derived keys of the one that failed.
WITH gone AS (
  DELETE FROM samekey.record WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND steps_begun = 0 AND generation = 0
  RETURNING token
), free AS (
  UPDATE samekey.record
     SET token = nextval('samekey.token'), claim = '00000000-0000-0000-0000-000000000000', lease_until = clock_timestamp()
   WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND steps_begun = 0 AND generation > 0
  RETURNING token
)
SELECT token FROM gone UNION ALL SELECT token FROM free
