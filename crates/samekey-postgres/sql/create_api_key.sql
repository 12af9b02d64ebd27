INSERT INTO samekey.api_key (project, hash, hint) VALUES ($1, $2, $3)
RETURNING id, hint, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
          floor(extract(epoch FROM revoked_at) * 1000)::bigint AS revoked_at_ms
