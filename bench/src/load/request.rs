//! One connection's requests: the same bytes again and again, but for the count at the end of the key.

use super::answer::Expected;

/// The message, for the yardsticks as well: the one from the README.
pub(crate) const PAYLOAD: &str = r#"{"channel":"email","to":"ada@example.org","subject":"Shipped","text":"Your order 1042 is on its way."}"#;

/// Digits of the count: enough for a day.
const DIGITS: usize = 10;

/// What is asked for, and how often with the same keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) path: &'static str,
    pub(crate) expected: Expected,
    /// After so many keys, each connection uses its first one again.
    pub(crate) begin_again_after: u64,
}

impl Target {
    /// New messages.
    pub(crate) const MESSAGES: Self = Self {
        path: "/v1/messages",
        expected: Expected { status: "202", holds: "\"queued\"" },
        begin_again_after: u64::MAX,
    };
}

/// The bytes of the next request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    /// Where the count stands.
    count_at: usize,
    count: u64,
    begin_again_after: u64,
}

impl Request {
    /// Keys of this connection alone. They grow, as the order numbers of a shop do.
    pub(crate) fn new(target: Target, api_key: &str, round: u32, connection: u32) -> Self {
        let path = target.path;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api_key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\
             Idempotency-Key: order-{round}-{connection}-",
            PAYLOAD.len()
        );
        let count_at = head.len();
        let bytes = format!("{head}{:0DIGITS$}\r\n\r\n{PAYLOAD}", 0).into_bytes();
        Self { bytes, count_at, count: 0, begin_again_after: target.begin_again_after }
    }

    /// Counts on and gives the bytes.
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.count == self.begin_again_after {
            self.bytes[self.count_at..self.count_at + DIGITS].fill(b'0');
            self.count = 0;
        }
        self.count += 1;
        for digit in self.bytes[self.count_at..self.count_at + DIGITS].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                break;
            }
            *digit = b'0';
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Target};

    #[test]
    fn every_request_has_the_next_key_and_nothing_else_changes() {
        let mut request = Request::new(Target::MESSAGES, "sk_test", 1, 17);
        for count in 1..=1_000 {
            let text = String::from_utf8(request.next().to_vec()).unwrap();
            let key = format!("Idempotency-Key: order-1-17-{count:010}\r\n\r\n{{\"channel\"");
            assert!(text.contains(&key), "{text}");
        }
    }
}
