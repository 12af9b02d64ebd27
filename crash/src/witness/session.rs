//! One SMTP conversation (RFC 5321), as much of it as a mail needs.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::Stand;
use super::fault::Treatment;
use crate::evidence::Mail;

/// A killed client closes its end; one that hangs must not keep a thread for ever.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// What the client has said since the last mail.
#[derive(Debug)]
struct Envelope {
    recipient: String,
    treatment: Treatment,
}

/// Speaks with one client until it hangs up.
pub(super) fn converse(stream: &TcpStream, stand: &Stand) -> Result<()> {
    stream.set_read_timeout(Some(SILENCE_LIMIT))?;
    stream.set_nodelay(true)?;
    let (mut input, mut output) = (BufReader::new(stream), stream);
    let mut envelope = None;
    output.write_all(b"220 witness.example.org ESMTP\r\n")?;
    while let Some(line) = read_line(&mut input)? {
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let reply: &[u8] = match verb.as_str() {
            "EHLO" => b"250-witness.example.org\r\n250 8BITMIME\r\n",
            "HELO" | "MAIL" | "NOOP" => b"250 OK\r\n",
            "RSET" => {
                envelope = None;
                b"250 OK\r\n"
            }
            "RCPT" => {
                envelope = Some(Envelope { recipient: path_of(&line), treatment: stand.faults.choose() });
                b"250 OK\r\n"
            }
            "DATA" => match envelope.take() {
                None => b"503 no recipient\r\n",
                Some(Envelope { treatment: Treatment::DropBeforeData, .. }) => return Ok(()),
                Some(envelope) => {
                    output.write_all(b"354 go on\r\n")?;
                    let Some(reply) = take_mail(&mut input, envelope, stand)? else { return Ok(()) };
                    reply
                }
            },
            "QUIT" => return Ok(output.write_all(b"221 bye\r\n")?),
            _ => b"502 not here\r\n",
        };
        output.write_all(reply)?;
    }
    Ok(())
}

/// Reads to the final dot and treats the mail; no reply means that the connection is to be dropped.
fn take_mail(input: &mut impl BufRead, envelope: Envelope, stand: &Stand) -> Result<Option<&'static [u8]>> {
    // Cut off before the dot: never handed over, so not noted.
    let Some(mail) = read_mail(input, envelope.recipient)? else { return Ok(None) };
    if envelope.treatment == Treatment::Defer {
        return Ok(Some(b"451 try again\r\n"));
    }
    stand.log.note(&mail)?;
    match envelope.treatment {
        Treatment::DropAfterDot => return Ok(None),
        Treatment::Slow(delay) => thread::sleep(delay),
        Treatment::Well | Treatment::Defer | Treatment::DropBeforeData => {}
    }
    Ok(Some(b"250 noted\r\n"))
}

/// The two headers that count, from the header section alone.
fn read_mail(input: &mut impl BufRead, recipient: String) -> io::Result<Option<Mail>> {
    let mut headers: Vec<String> = Vec::new();
    let mut in_headers = true;
    loop {
        let Some(line) = read_line(input)? else { return Ok(None) };
        if line == "." {
            break;
        }
        in_headers &= !line.is_empty();
        match headers.last_mut() {
            Some(last) if in_headers && line.starts_with([' ', '\t']) => last.push_str(&line),
            _ if in_headers => headers.push(line),
            _ => {}
        }
    }
    let value = |name: &str| {
        let header = headers.iter().find_map(|header| {
            let (found, value) = header.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        header.unwrap_or_default()
    };
    Ok(Some(Mail { message_id: value("Message-ID"), subject: value("Subject"), recipient }))
}

/// A line without its end, or nothing where the other side hung up in front of it or inside it.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let Some(line) = line.strip_suffix(b"\n") else { return Ok(None) };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}

/// What stands between the angle brackets of `RCPT TO:<…>`.
fn path_of(line: &str) -> String {
    let path = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    path.map_or(String::new(), |(path, _)| path.to_owned())
}

/// The client's side, as short as it can be.
pub(super) fn deliver(stream: TcpStream, mail: &Mail) -> Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    let mut expect = |code: &str| -> Result<()> {
        let line = read_line(&mut input)?.unwrap_or_default();
        ensure!(line.starts_with(code), "the witness answered {line:?} where {code} was due");
        Ok(())
    };
    expect("220")?;
    let recipient = format!("RCPT TO:<{}>\r\n", mail.recipient);
    for (line, code) in [
        ("HELO sabotage.example.org\r\n", "250"),
        ("MAIL FROM:<sabotage@example.org>\r\n", "250"),
        (recipient.as_str(), "250"),
        ("DATA\r\n", "354"),
    ] {
        output.write_all(line.as_bytes())?;
        expect(code)?;
    }
    let Mail { message_id, subject, .. } = mail;
    let text = format!("Message-ID: {message_id}\r\nSubject: {subject}\r\n\r\n.\r\n");
    output.write_all(text.as_bytes())?;
    expect("250")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::thread;

    use super::{converse, deliver, path_of, read_mail};
    use crate::evidence::Mail;
    use crate::witness::fault::Faults;
    use crate::witness::log::Log;
    use crate::witness::{Stand, read_log};

    /// Enough for each treatment to occur, with this seed.
    const MAILS: u32 = 150;

    #[test]
    fn what_was_answered_or_left_unanswered_is_noted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness.log");
        let stand = Stand { log: Log::create(&path).unwrap(), faults: Faults::seeded(2) };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let (mut noted, mut endings) = (BTreeSet::new(), BTreeSet::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                for stream in listener.incoming().take(MAILS as usize) {
                    let _ = converse(&stream.unwrap(), &stand);
                }
            });
            for number in 0..MAILS {
                let mail = Mail {
                    message_id: format!("<{number}@example.org>"),
                    recipient: "ada@example.org".to_owned(),
                    subject: format!("Intent {number}"),
                };
                let ending = deliver(TcpStream::connect(addr).unwrap(), &mail)
                    .map_or_else(|error| error.to_string(), |()| "250".to_owned());
                if ending == "250" || ending == "the witness answered \"\" where 250 was due" {
                    noted.insert(mail.message_id);
                }
                endings.insert(ending);
            }
        });
        assert_eq!(endings.len(), 4, "answered, dropped before, dropped after, deferred: {endings:?}");
        let log = read_log(&path).unwrap();
        assert_eq!(log.len(), noted.len());
        assert_eq!(log.into_iter().map(|mail| mail.message_id).collect::<BTreeSet<_>>(), noted);
    }

    #[test]
    fn headers_are_found_in_the_header_section_and_unfolded() {
        let mut text =
            &b"subject: Intent\r\n 7\r\nMESSAGE-ID:\r\n <a@b>\r\n\r\nSubject: body\r\n..\r\n.\r\n"[..];
        let mail = read_mail(&mut text, "ada@example.org".to_owned()).unwrap().unwrap();
        assert_eq!((mail.subject.as_str(), mail.message_id.as_str()), ("Intent 7", "<a@b>"));
    }

    #[test]
    fn a_mail_cut_off_before_the_dot_is_none() {
        for cut in ["", "Subject: Intent 7\r\n\r\ntext\r\n", "Subject: Intent 7\r\n\r\n."] {
            assert!(read_mail(&mut cut.as_bytes(), String::new()).unwrap().is_none(), "{cut:?}");
        }
    }

    #[test]
    fn the_recipient_is_between_the_brackets() {
        assert_eq!(path_of("RCPT TO:<intent-7@example.org> NOTIFY=NEVER"), "intent-7@example.org");
    }
}
