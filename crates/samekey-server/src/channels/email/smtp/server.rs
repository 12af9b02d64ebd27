//! Which server, and how it is greeted.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// A server that does not even accept a connection by then is away.
const CONNECT_TIME: Duration = Duration::from_secs(15);

/// The URL makes no sense; the text says what to write instead. It never repeats a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSmtpUrl(String);

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    /// With the connection (`smtps://`).
    Implicit,
    /// After STARTTLS, where the server offers it.
    Offered,
    /// After STARTTLS, or not at all.
    Required,
}

/// Where the server is, and how to get in.
pub(super) struct Server {
    host: String,
    port: u16,
    tls: Tls,
    parameters: TlsParameters,
    credentials: Option<Credentials>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, tls, .. } = self;
        f.debug_struct("Server")
            .field("host", host)
            .field("port", port)
            .field("tls", tls)
            .finish_non_exhaustive()
    }
}

impl Server {
    pub(super) fn read(url: &str, ca_file: Option<&Path>) -> Result<Self, InvalidSmtpUrl> {
        let invalid = |text: &str| InvalidSmtpUrl(text.to_owned());
        let url = Url::parse(url).map_err(|_| invalid("write `smtp://host:port` or `smtps://host:port`"))?;
        let implicit = match url.scheme() {
            "smtp" => false,
            "smtps" => true,
            _ => return Err(invalid("it must begin with `smtp://` or `smtps://`")),
        };
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) if !host.to_string().is_empty() => host.to_string(),
            _ => return Err(invalid("it names no host")),
        };
        let mut tls = if implicit { Tls::Implicit } else { Tls::Offered };
        for (name, value) in url.query_pairs() {
            match (&*name, &*value) {
                ("tls", "required") if !implicit => tls = Tls::Required,
                ("tls", "opportunistic") if !implicit => tls = Tls::Offered,
                _ => {
                    return Err(invalid(
                        "the only parameter is `tls=required` (or `tls=opportunistic`), for `smtp://`",
                    ));
                }
            }
        }
        let credentials = credentials(&url)?;
        let port = url.port().unwrap_or(match (implicit, &credentials) {
            (true, _) => 465,
            (false, Some(_)) => 587,
            (false, None) => 25,
        });
        let parameters = parameters(&host, ca_file)?;
        Ok(Self { host, port, tls, parameters, credentials })
    }

    /// A connection that is greeted, encrypted and logged in.
    pub(super) async fn connect(&self) -> Result<AsyncSmtpConnection, Error> {
        let hello = ClientId::default();
        let implicit = (self.tls == Tls::Implicit).then(|| self.parameters.clone());
        let address = (self.host.as_str(), self.port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(address, Some(CONNECT_TIME), &hello, implicit, None).await?;
        if self.tls == Tls::Required || (self.tls == Tls::Offered && connection.can_starttls()) {
            connection.starttls(self.parameters.clone(), &hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, InvalidSmtpUrl> {
    let Some(password) = url.password() else {
        return if url.username().is_empty() {
            Ok(None)
        } else {
            Err(InvalidSmtpUrl("it names a user and no password".to_owned()))
        };
    };
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(Into::into).map_err(|_| InvalidSmtpUrl("user and password must be UTF-8".to_owned()))
    };
    Ok(Some(Credentials::new(decoded(url.username())?, decoded(password)?)))
}

fn parameters(host: &str, ca_file: Option<&Path>) -> Result<TlsParameters, InvalidSmtpUrl> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(file) = ca_file {
        let unreadable =
            |why: String| InvalidSmtpUrl(format!("the certificates in {}: {why}", file.display()));
        let pem = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
        let certificate = Certificate::from_pem(&pem).map_err(|error| unreadable(error.to_string()))?;
        builder = builder.certificate_store(CertificateStore::None).add_root_certificate(certificate);
    }
    builder.build().map_err(|error| InvalidSmtpUrl(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_tls_follow_from_the_url() {
        let read = |url: &str| Server::read(url, None).map(|server| (server.host, server.port, server.tls));
        assert_eq!(read("smtp://mail.example"), Ok(("mail.example".to_owned(), 25, Tls::Offered)));
        assert_eq!(read("smtps://u:p@mail.example"), Ok(("mail.example".to_owned(), 465, Tls::Implicit)));
        assert_eq!(
            read("smtp://u:p@mail.example?tls=required"),
            Ok(("mail.example".to_owned(), 587, Tls::Required))
        );
        assert_eq!(read("smtp://[::1]:2525"), Ok(("::1".to_owned(), 2525, Tls::Offered)));
    }

    #[test]
    fn nonsense_is_refused_without_repeating_the_password() {
        for url in [
            "",
            "mail.example",
            "http://mail.example",
            "smtp://",
            "smtp://u@mail.example",
            "smtp://u:secret@mail.example?tls=no",
            "smtp://u:secret@:25",
        ] {
            let error = Server::read(url, None).map(drop).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn a_debug_print_does_not_tell_the_password() {
        let server = Server::read("smtp://user:secret@mail.example", None).unwrap();
        assert!(!format!("{server:?}").contains("secret"));
    }
}
