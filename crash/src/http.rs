//! One HTTP/1.1 exchange at a time, over a connection that is kept while it lasts.
//!
//! By hand, since a client that repairs anything by itself (a retry on a connection that was closed, say) would send
//! attempts that the journal does not know of.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No answer within this is none: far above what the service takes, far below what a trial may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// An answer larger than this is not the service's.
const BODY_LIMIT_BYTES: usize = 1 << 20;

/// A whole answer; one whose body was cut is an error instead.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection that is opened when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    open: Option<(SocketAddr, BufReader<TcpStream>)>,
}

impl Connection {
    /// Sends `request` to `addr` once and reads the answer. After an error the connection is given up: what is still
    /// to come on it would be taken for the answer to the next request.
    pub(crate) fn exchange(&mut self, addr: SocketAddr, request: &[u8]) -> io::Result<Answer> {
        let (_, mut stream) = match self.open.take() {
            Some(open) if open.0 == addr => open,
            _ => (addr, connect(addr)?),
        };
        stream.get_mut().write_all(request)?;
        let (answer, keep) = read_answer(&mut stream)?;
        if keep == Keep::Alive {
            self.open = Some((addr, stream));
        }
        Ok(answer)
    }
}

/// Whether the server leaves the connection open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Alive,
    Close,
}

fn connect(addr: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&addr, ANSWER_LIMIT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    Ok(BufReader::new(stream))
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<(Answer, Keep)> {
    let invalid = || Error::from(ErrorKind::InvalidData);
    let status = read_line(stream)?;
    let status = status.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).ok_or_else(invalid)?;
    let status = status.parse().map_err(|_| invalid())?;
    let (mut length, mut keep) = (0, Keep::Alive);
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(invalid)?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| invalid())?;
        } else if name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case("close") {
            keep = Keep::Close;
        }
    }
    if length > BODY_LIMIT_BYTES {
        return Err(invalid());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((Answer { status, body }, keep))
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.take(16 << 10).read_line(&mut line)?;
    let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Keep, read_answer};

    #[test]
    fn an_answer_is_status_and_whole_body() {
        let text = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}HTTP/1.1 500";
        let (answer, keep) = read_answer(&mut text.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.body.as_slice(), keep), (202, &b"{}"[..], Keep::Close));
    }

    #[test]
    fn an_answer_that_was_cut_is_none() {
        let text = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}";
        for end in 0..text.len() {
            assert!(read_answer(&mut &text.as_bytes()[..end]).is_err(), "{:?}", &text[..end]);
        }
        assert_eq!(read_answer(&mut text.as_bytes()).unwrap().1, Keep::Alive);
    }
}
