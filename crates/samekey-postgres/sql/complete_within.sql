SELECT samekey.complete_within($1, $2, $3, $4, $5)
