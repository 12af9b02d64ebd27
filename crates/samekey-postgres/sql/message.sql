SELECT m.channel, m.key, floor(extract(epoch FROM m.created_at) * 1000)::bigint AS created_at_ms, d.state,
       floor(extract(epoch FROM d.wake_at) * 1000)::bigint AS wake_at_ms,
       floor(extract(epoch FROM d.expires_at) * 1000)::bigint AS expires_at_ms,
       d.attempts, d.maybe_sent, d.provider_id, m.sender, m.payload, d.token,
       floor(extract(epoch FROM d.started_at) * 1000)::bigint AS started_at_ms
  FROM samekey.message m JOIN samekey.delivery d ON d.id = m.id
 WHERE m.project = $1 AND m.id = $2
