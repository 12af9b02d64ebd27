-- The token stays, so that a stalled owner can still bring the true answer by completing. Nobody else runs meanwhile.
UPDATE samekey.record SET state = 3, lease_until = NULL
 WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND lease_until <= clock_timestamp()
RETURNING token
