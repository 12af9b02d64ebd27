UPDATE samekey.step SET state = 2, result = $5
 WHERE scope = $1 AND key = $2 AND token = $3 AND name = $4 AND state = 1
RETURNING token
