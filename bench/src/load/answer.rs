//! Just enough of HTTP/1.1 to know where an answer ends and whether it is the one that counts.

use anyhow::{Result, bail};

/// What every counted answer starts with and holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) status: &'static str,
    pub(crate) holds: &'static str,
}

/// Any answer larger than this is none of ours.
pub(super) const LIMIT_BYTES: usize = 16 << 10;

/// The length of the whole answer in `bytes` once all of it is there.
///
/// # Errors
/// Where it is any other answer than the expected one.
pub(super) fn whole_answer(bytes: &[u8], expected: Expected) -> Result<Option<usize>> {
    let Some(head) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let body = head + 4;
    let length = content_length(&bytes[..head]);
    if bytes.len() < body + length {
        return Ok(None);
    }
    let status = bytes.get(9..12).unwrap_or_default();
    if status != expected.status.as_bytes()
        || find(&bytes[body..body + length], expected.holds.as_bytes()).is_none()
    {
        bail!("another answer than expected: {}", String::from_utf8_lossy(&bytes[..body + length]));
    }
    Ok(Some(body + length))
}

fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length:";
    let mut lines = head.split(|&byte| byte == b'\n');
    let line = lines.find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME));
    let digits = line.into_iter().flat_map(|line| &line[NAME.len()..]).filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::{Expected, whole_answer};

    const QUEUED: Expected = Expected { status: "202", holds: "\"queued\"" };

    const ANSWER: &str = "HTTP/1.1 202 Accepted\r\nContent-Length: 19\r\n\r\n{\"status\":\"queued\"}";

    #[test]
    fn an_answer_ends_with_its_body() {
        for end in 0..ANSWER.len() {
            assert_eq!(whole_answer(&ANSWER.as_bytes()[..end], QUEUED).unwrap(), None);
        }
        assert_eq!(whole_answer(ANSWER.as_bytes(), QUEUED).unwrap(), Some(ANSWER.len()));
    }

    #[test]
    fn any_other_answer_is_an_error() {
        for (from, to) in [("202", "503"), ("queued", "failed")] {
            assert!(whole_answer(ANSWER.replace(from, to).as_bytes(), QUEUED).is_err());
        }
    }
}
