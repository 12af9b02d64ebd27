//! Recipes of fingerprints: rows are only ever added.

use samekey_core::store::RecipeId;
use samekey_core::{Recipe, StoreError};

use crate::Memory;
use crate::fault::Call;

impl Memory {
    pub(crate) fn recipe_id(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        self.run(Call::Other, |turn| {
            let recipes = &mut turn.state.recipes;
            let at = recipes.iter().position(|known| known == recipe).unwrap_or_else(|| {
                recipes.push(recipe.clone());
                recipes.len() - 1
            });
            let id = i16::try_from(at + 1).expect("a test has fewer than 32767 recipes");
            Ok(RecipeId(id))
        })
    }

    pub(crate) fn recipe_behind(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        self.run(Call::Other, |turn| {
            let at = usize::try_from(id.0).ok().and_then(|id| id.checked_sub(1));
            let recipe = at.and_then(|at| turn.state.recipes.get(at)).cloned();
            recipe.ok_or_else(|| StoreError::Unreadable(format!("there is no recipe {}", id.0)))
        })
    }
}
