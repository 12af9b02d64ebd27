//! Every fault of the SMTP server, asked for by a client that speaks the protocol by hand.

#![cfg(test)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use testbed::{Smtp, SmtpOptions, SmtpTls};

/// Reads one reply per line sent; panics, with the server's log in reach, when a reply does not come within a minute.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn greeted(smtp: &Smtp) -> Self {
        let stream = TcpStream::connect(smtp.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut client = Self { stream: BufReader::new(stream) };
        assert_eq!(client.reply().as_deref(), Some("220"));
        assert_eq!(client.say("EHLO client.test"), Some("250".to_owned()));
        client
    }

    /// The code of the next reply, or nothing where the connection was closed instead.
    fn reply(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            // A reset is a closed connection too.
            if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if line.as_bytes()[3] == b' ' {
                return Some(line[..3].to_owned());
            }
        }
    }

    fn say(&mut self, line: &str) -> Option<String> {
        self.stream.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
        self.reply()
    }

    fn rcpt(&mut self, recipient: &str) -> Option<String> {
        assert_eq!(self.say("MAIL FROM:<sender@example.org>").as_deref(), Some("250"));
        self.say(&format!("RCPT TO:<{recipient}>"))
    }

    /// One message from MAIL to the answer to the final dot.
    fn send(&mut self, recipient: &str) -> Option<String> {
        assert_eq!(self.rcpt(recipient).as_deref(), Some("250"));
        assert_eq!(self.say("DATA").as_deref(), Some("354"));
        self.say("Message-ID: <1@example.org>\r\n\r\n..dotted\r\n.")
    }
}

#[test]
fn a_message_is_kept_byte_for_byte_with_its_envelope() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    assert_eq!(Client::greeted(&smtp).send("ada@example.org").as_deref(), Some("250"));

    let mail = smtp.wait_for(1).unwrap().remove(0);
    assert_eq!((mail.from.as_str(), mail.helo.as_str()), ("sender@example.org", "client.test"));
    assert_eq!((mail.rcpt, mail.tls, mail.login), (vec!["ada@example.org".to_owned()], false, None));
    assert_eq!(mail.bytes, b"Message-ID: <1@example.org>\r\n\r\n.dotted\r\n");
}

#[test]
fn a_recipient_is_refused_deferred_or_greylisted() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    let rcpt = |recipient: &str| Client::greeted(&smtp).rcpt(recipient);

    assert_eq!(rcpt("refuse-550@example.org").as_deref(), Some("550"));
    assert_eq!(rcpt("defer-451+again@example.org").as_deref(), Some("451"));
    for recipient in ["greylist-once+a@example.org", "greylist-once+b@example.org"] {
        assert_eq!(rcpt(recipient).as_deref(), Some("451"));
        assert_eq!(rcpt(recipient).as_deref(), Some("250"));
    }
}

#[test]
fn the_final_dot_is_refused_and_nothing_is_stored() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    let mut client = Client::greeted(&smtp);
    assert_eq!(client.send("data-554@example.org").as_deref(), Some("554"));
    assert_eq!(client.send("data-451@example.org").as_deref(), Some("451"));
    assert_eq!(smtp.messages().unwrap(), []);
    assert_eq!(client.send("ada@example.org").as_deref(), Some("250"), "the connection still serves");
}

#[test]
fn the_connection_drops_at_data_and_nothing_is_stored() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    let mut client = Client::greeted(&smtp);
    assert_eq!(client.rcpt("drop-at-data@example.org").as_deref(), Some("250"));
    assert_eq!(client.say("DATA"), None);
    assert_eq!(smtp.messages().unwrap(), []);
}

#[test]
fn the_connection_drops_after_the_dot_and_the_message_is_stored() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    for turn in 1..=2 {
        assert_eq!(Client::greeted(&smtp).send("drop-after-dot@example.org"), None);
        assert_eq!(smtp.wait_for(turn).unwrap().len(), turn);
    }
    assert_eq!(Client::greeted(&smtp).send("drop-after-dot-once@example.org"), None);
    assert_eq!(Client::greeted(&smtp).send("drop-after-dot-once@example.org").as_deref(), Some("250"));
    assert_eq!(smtp.wait_for(4).unwrap().len(), 4);
}

#[test]
fn a_slow_dot_stores_first_and_answers_later() {
    let smtp = Smtp::start(SmtpOptions::default()).unwrap();
    let mut client = Client::greeted(&smtp);
    assert_eq!(client.rcpt("slow-dot-3600000@example.org").as_deref(), Some("250"));
    assert_eq!(client.say("DATA").as_deref(), Some("354"));
    client.stream.get_mut().write_all(b"Subject: x\r\n\r\n.\r\n").unwrap();
    assert_eq!(smtp.wait_for(1).unwrap().len(), 1, "stored an hour before the answer");

    assert_eq!(Client::greeted(&smtp).send("slow-dot-1@example.org").as_deref(), Some("250"));
}

#[test]
fn a_login_is_asked_for_and_checked() {
    let smtp = Smtp::start(SmtpOptions::default().login("ada", "secret")).unwrap();
    assert_eq!(smtp.url(), format!("smtp://ada:secret@{}", smtp.addr()));
    let mut client = Client::greeted(&smtp);
    assert_eq!(client.say("MAIL FROM:<sender@example.org>").as_deref(), Some("530"));
    // printf '\0ada\0wrong' | base64, printf '\0ada\0secret' | base64
    assert_eq!(client.say("AUTH PLAIN AGFkYQB3cm9uZw==").as_deref(), Some("535"));
    assert_eq!(client.say("AUTH PLAIN AGFkYQBzZWNyZXQ=").as_deref(), Some("235"));
    assert_eq!(client.send("ada@example.org").as_deref(), Some("250"));
    assert_eq!(smtp.wait_for(1).unwrap()[0].login.as_deref(), Some("ada"));
}

#[test]
fn starttls_is_required_and_both_forms_of_tls_are_verifiable() {
    let smtp = Smtp::start(SmtpOptions::default().tls(SmtpTls::StartTls)).unwrap();
    assert_eq!(Client::greeted(&smtp).say("MAIL FROM:<sender@example.org>").as_deref(), Some("530"));
    assert!(smtp.url().ends_with("?tls=required"));
    send_by_openssl(&smtp, &["-starttls", "smtp"]);
    assert!(smtp.wait_for(1).unwrap()[0].tls);

    let smtp = Smtp::start(SmtpOptions::default().tls(SmtpTls::Implicit)).unwrap();
    assert!(smtp.url().starts_with("smtps://"));
    send_by_openssl(&smtp, &[]);
    assert!(smtp.wait_for(1).unwrap()[0].tls);
}

/// One message through `openssl s_client`, which ends with an error where the certificate does not verify.
fn send_by_openssl(smtp: &Smtp, starttls: &[&str]) {
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-quiet",
        "-crlf",
        "-verify_return_error",
        "-verify_ip",
        "127.0.0.1",
        "-connect",
    ]);
    command.arg(smtp.addr().to_string()).arg("-CAfile").arg(smtp.authority().unwrap()).args(starttls);
    let mut client =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    let mut replies = BufReader::new(client.stdout.take().unwrap());
    // With STARTTLS, s_client has read the greeting itself.
    if starttls.is_empty() {
        assert!(next_line(&mut replies).starts_with("220"));
    }
    for (line, code) in [
        ("HELO client.test\n", "250"),
        ("MAIL FROM:<sender@example.org>\n", "250"),
        ("RCPT TO:<ada@example.org>\n", "250"),
        ("DATA\n", "354"),
        ("Subject: x\n\nbody\n.\n", "250"),
        // s_client outlives the end of its input; the server hangs up.
        ("QUIT\n", "221"),
    ] {
        input.write_all(line.as_bytes()).unwrap();
        let reply = next_line(&mut replies);
        assert!(reply.starts_with(code), "{line:?} was answered with {reply:?}");
    }
    drop(input);
    replies.read_to_end(&mut Vec::new()).unwrap();
    assert!(client.wait().unwrap().success());
}

fn next_line(replies: &mut impl BufRead) -> String {
    let mut line = String::new();
    replies.read_line(&mut line).unwrap();
    line
}
