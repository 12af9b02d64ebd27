//! Recipes that a store has read: they lie in a small table whose rows never change, so each is read once.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::RecipeId;
use crate::Recipe;

/// Recipes by their ids. Every store keeps one beside its connections.
#[derive(Debug, Default)]
pub struct KnownRecipes(RwLock<HashMap<RecipeId, Recipe>>);

impl KnownRecipes {
    /// The id of a recipe that was read before.
    #[must_use]
    pub fn id_of(&self, recipe: &Recipe) -> Option<RecipeId> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(_, other)| *other == recipe).map(|(id, _)| *id)
    }

    /// The recipe behind an id that was read before.
    #[must_use]
    pub fn of(&self, id: RecipeId) -> Option<Recipe> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// Remembers what was read.
    pub fn keep(&self, id: RecipeId, recipe: &Recipe) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, recipe.clone());
    }
}
