DELETE FROM samekey.message_key WHERE project = $1 AND key = $2 AND message = $3 AND purge_at <= now()
