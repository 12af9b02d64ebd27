SELECT extract(epoch FROM greatest(min(wake_at) - clock_timestamp(), interval '0'))::float8 AS wait_s
  FROM samekey.delivery WHERE channel = $1 AND wake_at IS NOT NULL
