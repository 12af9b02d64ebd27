SELECT id, hint, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
       floor(extract(epoch FROM revoked_at) * 1000)::bigint AS revoked_at_ms
  FROM samekey.api_key WHERE project = $1 ORDER BY id
