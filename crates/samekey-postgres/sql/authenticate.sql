SELECT project FROM samekey.api_key WHERE hash = $1 AND revoked_at IS NULL
