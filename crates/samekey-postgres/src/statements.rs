//! The statements, each in a file of its own, rendered once with the schema's name.

macro_rules! statements {
    ($($name:ident)*) => {
        /// Every statement of the store, ready to be prepared.
        #[derive(Debug)]
        pub(crate) struct Statements {
            $(pub(crate) $name: String,)*
        }

        impl Statements {
            pub(crate) fn render(schema: &str) -> Self {
                Self { $($name: in_schema(include_str!(concat!("../sql/", stringify!($name), ".sql")), schema),)* }
            }
        }
    };
}

statements! {
    accept api_keys attempts authenticate backlog begin_step begun_steps claim complete create_api_key create_project end_lease end_step
    fence finish known_keys load mark_unknown message next_due projects purge purge_key recipe recipe_id recipe_of release renew
    renew_deliveries revoke_api_key sweep sweep_keys take take_over
    list_records mark_abandoned resolutions resolve_failed resolve_succeeded show_record show_steps
}

/// The text with `samekey.` replaced by the schema's own prefix. The name was checked when it was chosen: it needs no
/// quotes.
pub(crate) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("samekey.", &format!("{schema}."))
        .replace("SCHEMA IF NOT EXISTS samekey", &format!("SCHEMA IF NOT EXISTS {schema}"))
}
