//! The recipe of a fingerprint: algorithm version and the route's options, as text that a record can keep.
//!
//! A deploy may change a route's options while requests are being retried. Were the old record compared by the new
//! options, an honest retry would hear "this key was used for another request". So the record names its recipe, and
//! every release reads the recipes of the one after it: it refuses only what it does not know, as "not now" (503), never
//! as "another request" (422).

use std::fmt::Write as _;

/// A JSON Pointer (RFC 6901) to an object member that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    segments: Vec<String>,
}

/// The text is no JSON Pointer to a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no JSON Pointer to a member: it must start with `/`, and `~` may only stand in `~0` or `~1`"
)]
pub struct InvalidPointer(String);

impl Pointer {
    /// Reads a pointer such as `/idempotency_key` or `/meta/sent_at`.
    ///
    /// # Errors
    /// [`InvalidPointer`]; the empty pointer, which names the whole body, is one.
    pub fn new(text: &str) -> Result<Self, InvalidPointer> {
        let invalid = || InvalidPointer(text.to_owned());
        let segments = text
            .strip_prefix('/')
            .ok_or_else(invalid)?
            .split('/')
            .map(|segment| unescape(segment).ok_or_else(invalid))
            .collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), segments })
    }

    /// The unescaped reference tokens, outermost first.
    pub(crate) fn segments(&self) -> &[String] {
        &self.segments
    }
}

fn unescape(segment: &str) -> Option<String> {
    let mut text = String::with_capacity(segment.len());
    let mut characters = segment.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '~' => match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

/// How a fingerprint is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    canonical: bool,
    ignored: Vec<Pointer>,
}

/// A newer release wrote this recipe. Whether the request is the same cannot be told: answer 503, not 422.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the fingerprint was made by a recipe that this release does not know: `{0}`")]
pub struct UnknownRecipe(pub String);

/// The algorithm version: the first hashed part, and the first word of the text.
const VERSION: &str = "1";

impl Recipe {
    /// JSON bodies and forms in canonical form, everything else raw.
    #[must_use]
    pub fn canonical() -> Self {
        Self { canonical: true, ignored: Vec::new() }
    }

    /// Every body raw.
    #[must_use]
    pub fn raw() -> Self {
        Self { canonical: false, ignored: Vec::new() }
    }

    /// As [`Recipe::canonical`], with some members left out.
    #[must_use]
    pub fn ignoring(pointers: impl IntoIterator<Item = Pointer>) -> Self {
        Self { canonical: true, ignored: pointers.into_iter().collect() }
    }

    /// The text that a record keeps: `1 json /a /b`, where `json` stands for every canonical form; pointers percent-encoded
    /// where they hold a space or a percent sign.
    #[must_use]
    pub fn made_of(&self) -> String {
        let mut text = format!("{VERSION} {}", if self.canonical { "json" } else { "raw" });
        for pointer in &self.ignored {
            let escaped = pointer.text.replace('%', "%25").replace(' ', "%20");
            write!(text, " {escaped}").expect("writing to a string does not fail");
        }
        text
    }

    /// The inverse of [`Recipe::made_of`].
    ///
    /// # Errors
    /// [`UnknownRecipe`] for a text of another version or with options that this release does not know.
    pub fn read(text: &str) -> Result<Self, UnknownRecipe> {
        let unknown = || UnknownRecipe(text.to_owned());
        let mut words = text.split(' ');
        if words.next() != Some(VERSION) {
            return Err(unknown());
        }
        let canonical = match words.next() {
            Some("json") => true,
            Some("raw") => false,
            _ => return Err(unknown()),
        };
        let ignored = words
            .map(|word| Pointer::new(&word.replace("%20", " ").replace("%25", "%")).map_err(|_| unknown()))
            .collect::<Result<_, _>>()?;
        Ok(Self { canonical, ignored })
    }

    pub(crate) fn version(&self) -> &'static str {
        VERSION
    }

    pub(crate) fn is_canonical(&self) -> bool {
        self.canonical
    }

    pub(crate) fn ignored(&self) -> &[Pointer] {
        &self.ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_comes_back_from_its_text() {
        let pointers = ["/idempotency_key", "/a b/c%20d", "/x~1y/~0"].map(|text| Pointer::new(text).unwrap());
        for recipe in [Recipe::canonical(), Recipe::raw(), Recipe::ignoring(pointers)] {
            assert_eq!(Recipe::read(&recipe.made_of()), Ok(recipe));
        }
        assert_eq!(Recipe::canonical().made_of(), "1 json");
    }

    #[test]
    fn what_a_newer_release_wrote_is_unknown_not_different() {
        for text in ["2 json", "1 cbor", "1 json sorted", "", "1"] {
            assert_eq!(Recipe::read(text), Err(UnknownRecipe(text.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn a_pointer_must_name_a_member() {
        for text in ["", "a", "/~", "/~2"] {
            assert!(Pointer::new(text).is_err(), "{text:?}");
        }
    }
}
