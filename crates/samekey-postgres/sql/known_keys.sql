-- What the keys of messages that were not fresh stand for. LATERAL, so that each key is one probe of the index: a join may
-- be planned as a scan of the whole table while its statistics say that it is empty.
-- first = id: one's own earlier statement, whose answer was lost. No row: the key was purged meanwhile, run again.
SELECT w.ord, r.message AS first, r.fingerprint, r.recipe, r.expires_at <= now() AS tombstone, r.purge_at <= now() AS purgeable
  FROM unnest($1::int[], $2::bigint[], $3::bytea[]) AS w(ord, project, key)
 CROSS JOIN LATERAL (SELECT * FROM samekey.message_key k WHERE k.project = w.project AND k.key = w.key LIMIT 1) r
