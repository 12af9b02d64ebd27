-- Look without claiming. The same columns as a claim gives of a record that it met.
SELECT r.token, r.claim, r.state, r.generation, r.steps_begun, r.fingerprint, r.recipe, r.status,
       extract(epoch FROM greatest(r.lease_until - clock_timestamp(), interval '0'))::float8 AS lease_left_s,
       CASE WHEN r.state <> 2 OR r.expires_at > now() THEN 0 WHEN r.purge_at > now() THEN 1 ELSE 2 END AS age,
       r.state = 1 AND r.steps_begun > 0 AND EXISTS (
         SELECT FROM samekey.step s WHERE s.scope = r.scope AND s.key = r.key AND s.unkeyed AND s.state = 1) AS step_in_doubt,
       (SELECT p.answer FROM samekey.response p WHERE r.state = 2 AND r.expires_at > now() AND p.token = r.token) AS answer
  FROM samekey.record r
 WHERE r.scope = $1 AND r.key = $2 AND (r.state <> 2 OR r.purge_at > now())
