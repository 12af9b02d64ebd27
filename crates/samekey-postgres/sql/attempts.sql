SELECT token, floor(extract(epoch FROM started_at) * 1000)::bigint AS started_at_ms,
       floor(extract(epoch FROM ended_at) * 1000)::bigint AS ended_at_ms, outcome, detail
  FROM samekey.attempt WHERE delivery = $1 ORDER BY token
