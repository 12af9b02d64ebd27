INSERT INTO samekey.recipe (made_of) VALUES ($1) ON CONFLICT (made_of) DO NOTHING
