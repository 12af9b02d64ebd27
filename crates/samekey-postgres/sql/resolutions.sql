SELECT token, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, outcome, who, why
  FROM samekey.resolution WHERE scope = $1 AND key = $2 ORDER BY token
