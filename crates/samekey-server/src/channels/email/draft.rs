//! What an e-mail consists of, and what can be wrong with it.

use lettre::Address;
use lettre::message::Mailbox;

/// What an e-mail consists of, as the caller wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// One recipient: `ada@example.org` or `Ada <ada@example.org>`.
    pub to: &'a str,
    /// The sender, in the same form.
    pub from: &'a str,
    /// Where answers go, in the same form.
    pub reply_to: Option<&'a str>,
    /// The subject.
    pub subject: &'a str,
    /// The body as plain text.
    pub text: Option<&'a str>,
    /// The body as HTML.
    pub html: Option<&'a str>,
}

/// One thing that is wrong with a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// A JSON Pointer to the member.
    pub pointer: &'static str,
    /// What is wrong, and what to do.
    pub detail: String,
}

/// RFC 5322, section 2.1.1: a line has at most 998 characters.
const MAX_SUBJECT: usize = 998;
/// RFC 5321, section 4.5.3.1.3: a path has at most 256 octets, its brackets included; and room for a name.
const MAX_MAILBOX: usize = 512;

impl Draft<'_> {
    /// Everything that is wrong with it.
    #[must_use]
    pub fn faults(&self) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        let mut check = |pointer, result: Result<(), String>| {
            faults.extend(result.err().map(|detail| FieldFault { pointer, detail }));
        };
        check("/to", mailbox(self.to).map(drop));
        check("/from", mailbox(self.from).map(drop));
        check("/reply_to", self.reply_to.map_or(Ok(()), |address| mailbox(address).map(drop)));
        check("/subject", subject(self.subject));
        if self.text.is_none() && self.html.is_none() {
            check("/text", Err("there is neither `text` nor `html`; send at least one".to_owned()));
        }
        faults
    }
}

/// Exactly one mailbox, to an address that every mail server takes.
pub(super) fn mailbox(text: &str) -> Result<Mailbox, String> {
    if text.len() > MAX_MAILBOX {
        return Err(format!("it has {} bytes; an address has at most {MAX_MAILBOX}", text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err("it holds a line break or another control character; remove it".to_owned());
    }
    let no_address = || {
        "it is not one e-mail address; write `ada@example.org` or `Ada <ada@example.org>`, one to a message"
            .to_owned()
    };
    // The general parser is slow, and nearly everybody writes the plain form.
    let plain = !text.contains(['<', '"', ' ', ',', '(']);
    let mailbox = if plain {
        text.parse::<Address>().map(|address| Mailbox::new(None, address)).map_err(|_| no_address())?
    } else {
        text.parse::<Mailbox>().map_err(|_| no_address())?
    };
    let ascii = AsRef::<str>::as_ref(&mailbox.email).is_ascii();
    if ascii {
        Ok(mailbox)
    } else {
        Err("the address is not ASCII; write its domain in the `xn--` form".to_owned())
    }
}

fn subject(text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err("it holds a line break or another control character; remove it".to_owned());
    }
    if text.len() > MAX_SUBJECT {
        return Err(format!("it has {} bytes; the most is {MAX_SUBJECT}", text.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Draft<'_> = Draft {
        to: "ada@example.org",
        from: "Shop <shop@example.org>",
        reply_to: None,
        subject: "S",
        text: Some("T"),
        html: None,
    };

    fn pointers(draft: &Draft<'_>) -> Vec<&'static str> {
        draft.faults().into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn addresses_are_one_mailbox_each() {
        for good in [
            "a@b.co",
            "ada+tag@example.org",
            "Ada Lovelace <ada@example.org>",
            "\"Ada, L.\" <ada@example.org>",
            "Адa <a@b.co>",
        ] {
            assert_eq!(pointers(&Draft { to: good, ..GOOD }), [] as [&str; 0], "{good}");
        }
        let long = format!("{}@example.org", "x".repeat(600));
        for bad in [
            "",
            "ada",
            "@b.co",
            "a@",
            "a b@c.co",
            "a@b.co, c@d.co",
            "a@b.co c@d.co",
            "<a@b.co",
            "адa@b.co",
            "a@bücher.example",
            &long,
        ] {
            assert_eq!(pointers(&Draft { to: bad, ..GOOD }), ["/to"], "{bad}");
        }
    }

    #[test]
    fn nothing_gets_into_a_header_that_was_not_meant_to() {
        for injected in ["a@b.co\r\nBcc: eve@b.co", "A\n <a@b.co>", "a@b.co\0", "\u{85}a@b.co"] {
            let draft =
                Draft { to: injected, from: injected, reply_to: Some(injected), subject: injected, ..GOOD };
            assert_eq!(pointers(&draft), ["/to", "/from", "/reply_to", "/subject"], "{injected:?}");
        }
    }

    #[test]
    fn a_body_and_a_bounded_subject_are_needed() {
        assert_eq!(pointers(&Draft { text: None, ..GOOD }), ["/text"]);
        assert_eq!(pointers(&Draft { text: None, html: Some(""), ..GOOD }), [] as [&str; 0]);
        assert_eq!(pointers(&Draft { subject: &"x".repeat(999), ..GOOD }), ["/subject"]);
    }
}
