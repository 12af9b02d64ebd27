//! Where the database is, and how it is spoken to.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::SslMode;

use crate::tls::Verification;

/// How to reach the store.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) verification: Verification,
    schema: String,
    pub(crate) connections: usize,
    pub(crate) patience: Duration,
}

/// The options make no sense; the text says what to write instead. It never repeats a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidOptions(String);

impl Options {
    /// Reads `postgres://user:password@host:port/database?sslmode=…&sslrootcert=…`.
    ///
    /// `sslmode` is as in libpq: `disable`, `prefer` (the default) and `require` encrypt without asking who answers,
    /// `verify-ca` and `verify-full` ask; both check the host name here. `sslrootcert` names a file of PEM certificates;
    /// without it, the system's are trusted.
    ///
    /// # Errors
    /// [`InvalidOptions`].
    pub fn from_url(url: &str) -> Result<Self, InvalidOptions> {
        let (url, ssl) = SslParameters::take_from(url)?;
        let mut config: tokio_postgres::Config =
            url.parse().map_err(|error| InvalidOptions(format!("no PostgreSQL URL: {error}")))?;
        if let Some(mode) = ssl.mode {
            config.ssl_mode(mode);
        }
        if config.get_application_name().is_none() {
            config.application_name("samekey");
        }
        config.connect_timeout(Duration::from_secs(5));
        Ok(Self {
            config,
            verification: ssl.verification,
            schema: "samekey".to_owned(),
            connections: 8,
            patience: Duration::from_secs(5),
        })
    }

    /// Keeps everything in this schema instead of `samekey`.
    ///
    /// # Errors
    /// [`InvalidOptions`] unless it is an identifier that needs no quotes: it is written into every statement.
    pub fn in_schema(mut self, schema: &str) -> Result<Self, InvalidOptions> {
        let plain = schema.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !plain || schema.len() > 48 || !schema.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
            return Err(InvalidOptions(format!(
                "`{schema}` cannot be the schema: use up to 48 lower-case letters, digits and underscores, no digit first"
            )));
        }
        schema.clone_into(&mut self.schema);
        Ok(self)
    }

    /// At most so many connections (8 unless set).
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// How long to wait for a free connection before answering that the store is away (5 s unless set).
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }
}

/// The parameters of the URL that the driver does not know.
struct SslParameters {
    mode: Option<SslMode>,
    verification: Verification,
}

impl SslParameters {
    fn take_from(url: &str) -> Result<(String, Self), InvalidOptions> {
        let mut taken = Self { mode: None, verification: Verification::Nobody };
        let Some((base, query)) = url.split_once('?') else { return Ok((url.to_owned(), taken)) };
        let mut root_file = None;
        let mut others = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "verify-ca" | "verify-full")) => {
                    taken.mode = Some(SslMode::Require);
                    taken.verification = Verification::SystemRoots;
                }
                Some(("sslrootcert", file)) => root_file = Some(PathBuf::from(percent_decoded(file)?)),
                _ => others.push(parameter),
            }
        }
        if let Some(file) = root_file {
            taken.verification = Verification::RootFile(file);
        }
        let url = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
        Ok((url, taken))
    }
}

fn percent_decoded(text: &str) -> Result<String, InvalidOptions> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let pair = rest.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(decoded.ok_or_else(|| InvalidOptions("sslrootcert: a bare percent sign".to_owned()))?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| InvalidOptions("sslrootcert: not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssl_parameters_are_read_as_libpq_reads_them() {
        let read = |query: &str| Options::from_url(&format!("postgres://u@localhost/db?{query}")).unwrap();
        assert_eq!(read("sslmode=require").config.get_ssl_mode(), SslMode::Require);
        assert_eq!(read("sslmode=require").verification, Verification::Nobody);
        assert_eq!(read("sslmode=verify-full&connect_timeout=3").verification, Verification::SystemRoots);
        let file = Verification::RootFile(PathBuf::from("/etc/my ca.pem"));
        assert_eq!(read("sslrootcert=/etc/my%20ca.pem&sslmode=verify-full").verification, file);
        assert_eq!(read("").config.get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn a_schema_is_an_identifier_and_a_url_is_checked() {
        let options = Options::from_url("postgres://u@localhost/db").unwrap();
        assert!(options.clone().in_schema("billing_keys2").is_ok());
        for bad in ["", "2x", "Upper", "a;b", "a.b", "a\"b", &"x".repeat(49)] {
            assert!(options.clone().in_schema(bad).is_err(), "{bad}");
        }
        let error = Options::from_url("postgres://u:secret@localhost/db?sslmode=never").unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }
}
