//! What the SMTP server has received.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::Error;

/// One message as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedMail {
    /// The envelope's sender; empty for a bounce.
    pub from: String,
    /// The envelope's recipients, without those that were refused.
    pub rcpt: Vec<String>,
    /// The name the client gave with EHLO.
    pub helo: String,
    /// Whether it came over TLS.
    pub tls: bool,
    /// Who had logged in.
    pub login: Option<String>,
    /// The message: header and body, with the doubled dots undone.
    pub bytes: Vec<u8>,
}

#[derive(Deserialize)]
struct Envelope {
    from: String,
    rcpt: Vec<String>,
    helo: String,
    tls: bool,
    login: Option<String>,
}

impl ReceivedMail {
    /// The first header field called `name` (in any case), unfolded; encoded words are left encoded.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut found: Option<String> = None;
        for line in text.lines().take_while(|line| !line.is_empty()) {
            let continued = line.starts_with([' ', '\t']);
            match (&mut found, line.split_once(':')) {
                (Some(value), _) if continued => value.push_str(line),
                (Some(_), _) => break,
                (None, Some((field, value))) if !continued && field.eq_ignore_ascii_case(name) => {
                    found = Some(value.trim_start().to_owned());
                }
                (None, _) => {}
            }
        }
        found
    }

    fn read(envelope: &Path) -> Result<Self, Error> {
        let doing = || format!("read {}", envelope.display());
        let described = fs::read(envelope).map_err(Error::io(doing()))?;
        let bytes = fs::read(envelope.with_extension("eml")).map_err(Error::io(doing()))?;
        let Envelope { from, rcpt, helo, tls, login } =
            serde_json::from_slice(&described).map_err(|error| Error::io(doing())(error.into()))?;
        Ok(Self { from, rcpt, helo, tls, login, bytes })
    }
}

/// All messages in `folder`, in the order they came.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<ReceivedMail>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::io("read the mailbox"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut envelopes: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    envelopes.sort();
    envelopes.iter().map(|path| ReceivedMail::read(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::ReceivedMail;

    #[test]
    fn a_header_is_found_in_any_case_and_unfolded() {
        let mail = ReceivedMail {
            from: String::new(),
            rcpt: Vec::new(),
            helo: String::new(),
            tls: false,
            login: None,
            bytes: b"X-Long: one\r\n two\r\nMessage-ID: <1@a>\r\n\r\nSubject: not a header\r\n".to_vec(),
        };
        assert_eq!(mail.header("message-id").as_deref(), Some("<1@a>"));
        assert_eq!(mail.header("X-Long").as_deref(), Some("one two"));
        assert_eq!(mail.header("Subject"), None);
    }
}
