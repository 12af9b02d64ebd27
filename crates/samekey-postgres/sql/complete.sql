SELECT samekey.complete($1, $2, $3, $4, $5)
