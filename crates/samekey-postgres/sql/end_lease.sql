UPDATE samekey.record SET lease_until = clock_timestamp() WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1
RETURNING token
