//! Recipes of fingerprints: a small table whose rows are only ever added.

use rusqlite::OptionalExtension as _;
use samekey_core::store::RecipeId;
use samekey_core::{Recipe, StoreError};

use crate::Sqlite;
use crate::error::{self, unreadable};

impl Sqlite {
    pub(crate) async fn recipe_id(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        if let Some(id) = self.recipes.id_of(recipe) {
            return Ok(id);
        }
        let made_of = recipe.made_of();
        let id = self.writer.run(move |turn| {
            turn.execute(
                "INSERT INTO recipe (made_of) VALUES (?1) ON CONFLICT (made_of) DO NOTHING",
                [&made_of],
            )?;
            let id =
                turn.db.query_row("SELECT id FROM recipe WHERE made_of = ?1", [&made_of], |row| row.get(0));
            id.map(RecipeId).map_err(error::of)
        });
        let id = id.await?;
        self.recipes.keep(id, recipe);
        Ok(id)
    }

    pub(crate) async fn recipe_behind(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        if let Some(recipe) = self.recipes.of(id) {
            return Ok(recipe);
        }
        let made_of = self.readers.run(move |look| {
            let made_of =
                look.db.query_row("SELECT made_of FROM recipe WHERE id = ?1", [id.0], |row| row.get(0));
            made_of.optional().map_err(error::of)
        });
        let made_of: String =
            made_of.await?.ok_or_else(|| unreadable(format_args!("there is no recipe {}", id.0)))?;
        let recipe = Recipe::read(&made_of).map_err(unreadable)?;
        self.recipes.keep(id, &recipe);
        Ok(recipe)
    }
}
