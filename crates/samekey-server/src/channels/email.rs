//! E-mail.
//!
//! SMTP has one moment that decides everything: the final dot. Before it left, nothing was sent. Once its answer is here, the
//! server has said yes or no. In between nobody can tell (RFC 1047), and a client that does not know in which of the three
//! it was cut off either loses mail or sends it twice. So the exchange is made step by step ([`SmtpTransport`]), and every
//! attempt is the same mail to the byte, under the same `Message-ID` ([`Draft::compose`]): a receiver can still tell.

mod channel;
mod compose;
mod draft;
mod folder;
mod smtp;
mod transport;

pub use channel::EmailChannel;
pub use compose::{Composed, Unsendable};
pub use draft::{Draft, FieldFault};
pub use folder::MailFolder;
pub use smtp::{InvalidSmtpUrl, SmtpTransport};
pub use transport::Transport;
