-- After a COMMIT without an answer: not a read, a write. It waits for the old transaction if that holds the row; afterwards
-- the old one can never complete. A row that was meanwhile marked unknown keeps that state under its new token.
UPDATE samekey.record
   SET token = nextval('samekey.token'),
       lease_until = CASE WHEN state = 1 THEN clock_timestamp() + $4::float8 * interval '1 second' END
 WHERE scope = $1 AND key = $2 AND token = $3 AND state IN (1, 3)
RETURNING token
