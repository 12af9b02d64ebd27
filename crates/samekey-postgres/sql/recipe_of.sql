SELECT made_of FROM samekey.recipe WHERE id = $1
