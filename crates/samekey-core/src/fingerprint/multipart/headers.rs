//! The headers of a part.

use super::CRLF;
use super::parameters::{Parameters, is_token};

/// Those that form parsers read or, by RFC 7578 section 4.8, pass over. A handler may look at any other one itself, so a
/// part that has one has no canonical form.
const KNOWN: [&str; 4] =
    ["content-disposition", "content-type", "content-length", "content-transfer-encoding"];

/// The headers of one part: known ones, each at most once, with their values as they are written.
pub(super) struct Headers<'a>([Option<&'a [u8]>; KNOWN.len()]);

impl<'a> Headers<'a> {
    /// Reads what stands before the empty line.
    pub(super) fn read(mut head: &'a [u8]) -> Option<Self> {
        let mut headers = Self([None; KNOWN.len()]);
        loop {
            let end = head.windows(CRLF.len()).position(|window| window == CRLF);
            headers.line(&head[..end.unwrap_or(head.len())])?;
            match end {
                Some(end) => head = &head[end + CRLF.len()..],
                None => return Some(headers),
            }
        }
    }

    /// One line. A line that continues another one starts with a space, and so has no name.
    fn line(&mut self, line: &'a [u8]) -> Option<()> {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let place = KNOWN.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        let clean = value.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control());
        let value = value.trim_ascii();
        let new = self.0[place].replace(value).is_none();
        (clean && new && !value.is_empty()).then_some(())
    }

    /// The value of a known header.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        KNOWN.iter().zip(self.0).find(|(known, _)| **known == name)?.1
    }

    /// The parameters of the Content-Disposition, if that is `form-data` and tells a name in one way only.
    pub(super) fn form_data(&self) -> Option<Parameters<'a>> {
        let value = self.get("content-disposition")?;
        let end = value.iter().position(|&byte| byte == b';')?;
        let kind = value[..end].trim_ascii_end();
        let parameters = Parameters::read(&value[end + 1..])?;
        let good = is_token(kind)
            && kind.eq_ignore_ascii_case(b"form-data")
            && parameters.names().all(|name| ["name", "filename"].contains(&name));
        good.then_some(parameters)
    }

    /// Whether nothing in the headers says that the bytes are other than they are.
    pub(super) fn agree_with(&self, bytes: &[u8]) -> bool {
        let length = self.get("content-length");
        let encoding = self.get("content-transfer-encoding").unwrap_or(b"binary");
        length.is_none_or(|length| length == bytes.len().to_string().as_bytes())
            && ["binary", "8bit", "7bit"].iter().any(|plain| encoding.eq_ignore_ascii_case(plain.as_bytes()))
    }
}
