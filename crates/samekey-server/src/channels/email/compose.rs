//! The mail to the byte.
//!
//! Every attempt must be the same mail: same `Message-ID`, same `Date`, same boundary (RFC 1047 asks for the same content).
//! So nothing in here is random, and the date is that of acceptance.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::address::Envelope;
use lettre::message::{Mailbox, MultiPart, SinglePart};
use samekey_core::UnixMs;

use super::Draft;
use super::draft::mailbox;

/// A mail that is ready to leave.
#[derive(Clone, Debug)]
pub struct Composed {
    /// Sender and recipient, as SMTP is told.
    pub envelope: Envelope,
    /// RFC 5322, lines ended by CRLF, ASCII throughout.
    pub bytes: Vec<u8>,
}

/// The draft cannot be made into a mail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be written as an e-mail: {0}")]
pub struct Unsendable(String);

impl Draft<'_> {
    /// The mail. The same arguments give the same bytes.
    ///
    /// # Errors
    /// [`Unsendable`] where [`Draft::faults`] has something to say.
    pub fn compose(&self, outgoing_id: &str, created_at: UnixMs) -> Result<Composed, Unsendable> {
        let address = |text: &str| mailbox(text).map_err(Unsendable);
        let (to, from) = (address(self.to)?, address(self.from)?);
        let since = Duration::from_millis(u64::try_from(created_at.0).unwrap_or_default());
        let envelope = Envelope::new(Some(from.email.clone()), vec![to.email.clone()])
            .map_err(|error| Unsendable(error.to_string()))?;
        let mut message = Message::builder()
            .message_id(Some(message_id(outgoing_id, &from)))
            .date(SystemTime::UNIX_EPOCH + since)
            .from(from)
            .to(to)
            .subject(self.subject);
        if let Some(reply_to) = self.reply_to {
            message = message.reply_to(address(reply_to)?);
        }
        let message = match (self.text, self.html) {
            (Some(text), Some(html)) => message.multipart(
                MultiPart::builder()
                    .kind(lettre::message::MultiPartKind::Alternative)
                    .boundary(format!("=_{outgoing_id}"))
                    .singlepart(SinglePart::plain(text.to_owned()))
                    .singlepart(SinglePart::html(html.to_owned())),
            ),
            (None, Some(html)) => message.singlepart(SinglePart::html(html.to_owned())),
            (text, None) => message.singlepart(SinglePart::plain(text.unwrap_or_default().to_owned())),
        };
        let bytes = message.map_err(|error| Unsendable(error.to_string()))?.formatted();
        Ok(Composed { envelope, bytes })
    }
}

/// RFC 5322, section 3.6.4.
fn message_id(outgoing_id: &str, from: &Mailbox) -> String {
    format!("<{outgoing_id}@{}>", from.email.domain())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAFT: Draft<'_> = Draft {
        to: "Adà <ada@example.org>",
        from: "shop@example.com",
        reply_to: Some("help@example.com"),
        subject: "Bestellung nº 7 — unterwegs",
        text: Some("Grüße\nvom .\n.\nLaden"),
        html: Some("<p>Grüße</p>"),
    };

    #[test]
    fn every_attempt_is_the_same_mail() {
        let compose = || DRAFT.compose("abc", UnixMs(1_796_083_200_000)).unwrap().bytes;
        assert_eq!(compose(), compose());
    }

    #[test]
    fn it_is_ascii_with_the_id_and_the_date_of_acceptance() {
        let bytes = DRAFT.compose("abc", UnixMs(1_796_083_200_000)).unwrap().bytes;
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_ascii());
        assert!(text.contains("Message-ID: <abc@example.com>\r\n"), "{text}");
        assert!(text.contains("Date: Tue, 01 Dec 2026 00:00:00 +0000\r\n"), "{text}");
        assert!(!text.replace("\r\n", "").contains(['\r', '\n']), "a bare line end");
        assert!(text.lines().all(|line| line.len() <= 998));
    }
}
