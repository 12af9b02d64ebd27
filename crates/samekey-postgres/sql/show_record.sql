SELECT scope, key, token, state, generation, steps_begun, status,
       extract(epoch FROM greatest(lease_until - clock_timestamp(), interval '0'))::float8 AS lease_left_s,
       floor(extract(epoch FROM expires_at) * 1000)::bigint AS expires_at_ms,
       floor(extract(epoch FROM purge_at) * 1000)::bigint AS purge_at_ms,
       CASE WHEN state <> 2 OR expires_at > now() THEN 0 ELSE 1 END AS age
  FROM samekey.record WHERE scope = $1 AND key = $2 AND (state <> 2 OR purge_at > now())
