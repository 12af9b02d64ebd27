SELECT id, name, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms FROM samekey.project ORDER BY name
