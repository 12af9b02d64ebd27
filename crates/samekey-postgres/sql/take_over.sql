-- Claim a record whose lease is over. One row: mine. None: look again. Another fingerprint only for a key that an operator
-- freed and nobody has claimed since (nil). Late in its retention, the record starts it anew.
UPDATE samekey.record
   SET token = nextval('samekey.token'), claim = $4, lease_until = clock_timestamp() + $5::float8 * interval '1 second',
       fingerprint = $6, recipe = $7,
       expires_at = CASE WHEN expires_at < now() + $8::float8 / 2 * interval '1 second'
                         THEN now() + $8::float8 * interval '1 second' ELSE expires_at END,
       purge_at = CASE WHEN expires_at < now() + $8::float8 / 2 * interval '1 second'
                       THEN now() + ($8::float8 + $9::float8) * interval '1 second' ELSE purge_at END
 WHERE scope = $1 AND key = $2 AND token = $3 AND state = 1 AND lease_until <= clock_timestamp()
   AND (fingerprint = $6 OR claim = '00000000-0000-0000-0000-000000000000')
RETURNING token, generation, steps_begun
