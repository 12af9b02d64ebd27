//! Recipes of fingerprints: a small table whose rows are only ever added.

use samekey_core::store::RecipeId;
use samekey_core::{Recipe, StoreError};

use crate::Postgres;
use crate::columns::column;
use crate::driver::{Driver, Durability};
use crate::error::unreadable;

impl<D: Driver> Postgres<D> {
    /// Looks before it writes: an insert that meets the row would use up one of 32,767 ids.
    pub(crate) async fn recipe_id(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        if let Some(id) = self.recipes.id_of(recipe) {
            return Ok(id);
        }
        let made_of = recipe.made_of();
        let mut rows = self.connections.read(&self.sql.recipe_id, values![made_of.as_str()]).await?;
        if rows.is_empty() {
            self.connections.write(Durability::Durable, &self.sql.recipe, values![made_of.as_str()]).await?;
            rows = self.connections.read(&self.sql.recipe_id, values![made_of.as_str()]).await?;
        }
        let row = rows.first().ok_or_else(|| unreadable("a recipe that was just written is not there"))?;
        let id = RecipeId(column(row, "id")?);
        self.recipes.keep(id, recipe);
        Ok(id)
    }

    pub(crate) async fn recipe_behind(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        if let Some(recipe) = self.recipes.of(id) {
            return Ok(recipe);
        }
        let rows = self.connections.read(&self.sql.recipe_of, values![id.0]).await?;
        let row = rows.first().ok_or_else(|| unreadable(format_args!("there is no recipe {}", id.0)))?;
        let recipe = Recipe::read(column(row, "made_of")?).map_err(unreadable)?;
        self.recipes.keep(id, &recipe);
        Ok(recipe)
    }
}
