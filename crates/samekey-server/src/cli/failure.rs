//! Why a command could not do its work.

use std::fmt;

/// One sentence for a person.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn print(&self) {
        use std::io::Write as _;
        // Standard error that is gone leaves nobody to tell.
        let _ = writeln!(std::io::stderr(), "samekey: {self}");
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
