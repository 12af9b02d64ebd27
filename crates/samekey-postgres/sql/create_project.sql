INSERT INTO samekey.project (name) VALUES ($1) ON CONFLICT (name) DO NOTHING
RETURNING id, name, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms
