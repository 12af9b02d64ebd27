-- The CASE, since greatest() passes over a NULL: where nothing waits, the answer is NULL, not nought.
SELECT CASE WHEN min(wake_at) IS NOT NULL
            THEN extract(epoch FROM greatest(min(wake_at) - clock_timestamp(), interval '0')) END::float8 AS wait_s
  FROM samekey.delivery WHERE channel = $1 AND wake_at IS NOT NULL
