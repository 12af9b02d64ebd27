-- Bounded: past 100,000 rows the count says "at least", which is all that an alarm needs.
SELECT count(*) FILTER (WHERE wake_at <= now() AND state = 1) AS due, count(*) FILTER (WHERE state = 2) AS sending,
       coalesce(extract(epoch FROM now() - min(wake_at) FILTER (WHERE wake_at <= now() AND state = 1)), 0)::float8 AS oldest_s
  FROM (SELECT state, wake_at FROM samekey.delivery WHERE channel = $1 AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 100000) d
