SELECT samekey.resolve_failed($1, $2, $3, $4, $5) AS resolved
