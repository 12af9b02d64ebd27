-- Only while no step was begun, tested on the record's own column: a NOT EXISTS on the step table would be evaluated on an
-- old snapshot.
DELETE FROM samekey.record WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND steps_begun = 0
RETURNING token
