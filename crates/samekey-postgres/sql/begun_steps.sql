-- The names of the record's steps.
SELECT name FROM samekey.step WHERE scope = $1 AND key = $2 ORDER BY name
