-- A record that outlived its tombstone and was not yet swept, removed so that its key can be claimed afresh.
WITH gone AS (
  DELETE FROM samekey.record
   WHERE scope = $1 AND key = $2 AND token = $3 AND state = 2 AND purge_at <= now() RETURNING token
), steps AS (
  DELETE FROM samekey.step WHERE scope = $1 AND key = $2 AND EXISTS (SELECT FROM gone)
), resolutions AS (
  DELETE FROM samekey.resolution WHERE scope = $1 AND key = $2 AND EXISTS (SELECT FROM gone)
)
DELETE FROM samekey.response p USING gone WHERE p.token = gone.token
