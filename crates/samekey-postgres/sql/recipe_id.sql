SELECT id FROM samekey.recipe WHERE made_of = $1
