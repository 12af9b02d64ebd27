SELECT name, unkeyed, state, octet_length(result) AS result_bytes
  FROM samekey.step WHERE scope = $1 AND key = $2 ORDER BY name
