//! Settings that would lose acknowledged work.

use samekey_core::StoreError;

use crate::Postgres;
use crate::columns::column;

/// A setting of the server under which an acknowledged message can be lost. To be said loudly, at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The setting.
    pub setting: String,
    /// What it is set to.
    pub value: String,
    /// What follows, and what to do.
    pub consequence: &'static str,
}

impl Postgres {
    /// What is wrong with the server's settings; empty where nothing is.
    ///
    /// `synchronous_commit` is not among them: our transactions set it themselves.
    ///
    /// # Errors
    /// [`StoreError::Away`].
    pub async fn cautions(&self) -> Result<Vec<Caution>, StoreError> {
        let sql = "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')";
        let rows = self.connections.read(sql, &[]).await?;
        let mut cautions = Vec::new();
        for row in &rows {
            let (setting, value): (String, String) = (column(row, "name")?, column(row, "setting")?);
            let Some(consequence) = consequence_of(&setting, &value) else { continue };
            cautions.push(Caution { setting, value, consequence });
        }
        Ok(cautions)
    }
}

/// What follows from a setting, and what to do; `None` where nothing does.
fn consequence_of(setting: &str, value: &str) -> Option<&'static str> {
    Some(match (setting, value) {
        ("fsync", "off") => {
            "a crash of the machine loses acknowledged messages and may corrupt the database: set fsync = on"
        }
        ("full_page_writes", "off") => {
            "a crash of the machine may corrupt the database: set full_page_writes = on"
        }
        ("synchronous_commit", "off") => {
            "our own transactions set it to on; transactions of yours that a record joins do not: set synchronous_commit = on"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::consequence_of;

    #[test]
    fn what_loses_work_has_a_consequence_and_nothing_else_has() {
        for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
            assert!(consequence_of(setting, "off").is_some_and(|text| text.contains(setting)));
            assert_eq!(consequence_of(setting, "on"), None);
        }
        assert_eq!(consequence_of("synchronous_commit", "remote_apply"), None);
    }
}
