//! The statements, each in a file of its own, rendered once with the schema's name.

macro_rules! statements {
    (records: $($record:ident)*; sending: $($sending:ident)*) => {
        /// Every statement of the store, ready to be prepared.
        #[derive(Debug)]
        pub(crate) struct Statements {
            /// The schema's name.
            pub(crate) schema: String,
            $(pub(crate) $record: String,)*
            $(#[cfg(feature = "tokio-postgres")] pub(crate) $sending: String,)*
        }

        impl Statements {
            pub(crate) fn render(schema: &str) -> Self {
                Self {
                    schema: schema.to_owned(),
                    $($record: in_schema(include_str!(concat!("../sql/", stringify!($record), ".sql")), schema),)*
                    $(#[cfg(feature = "tokio-postgres")]
                    $sending: in_schema(include_str!(concat!("../sql/", stringify!($sending), ".sql")), schema),)*
                }
            }
        }
    };
}

statements! {
    records:
        begin_step begun_steps claim claim_within complete end_lease end_step fence load mark_unknown
        purge recipe recipe_id recipe_of release renew sweep take_over
        undo_step;
    sending:
        accept api_keys attempts authenticate backlog create_api_key create_project finish known_keys list_records mark_abandoned message
        next_due projects purge_key renew_deliveries resolutions resolve_failed resolve_succeeded revoke_api_key show_record
        show_steps sweep_keys take
}

/// The text with `samekey.` replaced by the schema's own prefix. The name was checked when it was chosen: it needs no
/// quotes.
pub(crate) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("samekey.", &format!("{schema}."))
        .replace("SCHEMA IF NOT EXISTS samekey", &format!("SCHEMA IF NOT EXISTS {schema}"))
}
