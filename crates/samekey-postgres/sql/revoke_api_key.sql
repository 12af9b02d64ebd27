UPDATE samekey.api_key SET revoked_at = now() WHERE project = $1 AND id = $2 AND revoked_at IS NULL RETURNING id
