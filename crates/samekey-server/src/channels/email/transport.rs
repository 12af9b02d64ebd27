//! Where composed mail goes.

use std::time::Duration;

use samekey_core::delivery::Ending;

use super::{Composed, MailFolder, SmtpTransport};

/// Where composed mail goes.
#[derive(Debug)]
pub enum Transport {
    /// To a mail server.
    Smtp(SmtpTransport),
    /// Into a folder, as `.eml` files.
    Folder(MailFolder),
    /// Nowhere: every mail is "sent" at once. For measuring.
    Discard,
}

impl Transport {
    /// Gives the mail to the other side. It ends within `limit`, and at once when `stop` resolves; cut short, it says what
    /// may have happened. `name` names the file in a folder.
    pub async fn send(
        &self,
        mail: &Composed,
        name: &str,
        limit: Duration,
        stop: impl Future<Output = ()> + Send,
    ) -> Ending {
        match self {
            Self::Smtp(smtp) => smtp.send(mail, limit, stop).await,
            Self::Folder(folder) => match folder.write(name, mail.bytes.clone()).await {
                Ok(()) => Ending::Sent { provider_id: None },
                Err(error) => Ending::Deferred {
                    detail: format!("the file cannot be written: {error}"),
                    retry_after: None,
                },
            },
            Self::Discard => Ending::Sent { provider_id: None },
        }
    }
}
