//! The canonical form of a `multipart/form-data` body: its parts in order, the boundary left out.
//!
//! Most clients draw a new boundary for every attempt. Were the raw bytes compared, an honest retry of an upload would hear
//! "this key was used for another request". So a body is taken apart (RFC 7578, RFC 2046 section 5.1.1), and what counts of
//! each part is its name, its file name, its type and its bytes.
//!
//! Parsers of forms disagree about sloppy bodies, and a form that one of them reads in two ways must not have one
//! fingerprint. So this one reads only what all of them read alike; for anything else the caller falls back to the raw bytes.
//! Without a canonical form are: a boundary that is missing, or that stands anywhere but in a delimiter; a body without its
//! last delimiter; padding behind a delimiter; a header that is folded, repeated or not one of the four below; a part without
//! a name; a quote that is escaped by a backslash, where browsers and mail programs differ.

mod headers;
mod parameters;

use headers::Headers;
use parameters::Parameters;

use crate::framing;

/// The longest boundary that RFC 2046 allows.
const MAX_BOUNDARY_BYTES: usize = 70;
const CRLF: &[u8] = b"\r\n";

/// Written for a file name that is there and empty: a form's empty file field is not its text field. No header can hold
/// this byte, so no other file name is written so.
const EMPTY_FILE_NAME: &[u8] = &[0];

/// The canonical form of `body` under this Content-Type; `None` where it has none.
///
/// For each part `LP(name) LP(file name) LP(type) LP(bytes)`, LP(x) being a 4-byte big-endian length and x. Names and types
/// are taken as they are written; one that is absent is empty.
#[must_use]
pub(crate) fn canonical(content_type: &str, body: &[u8]) -> Option<Vec<u8>> {
    let boundary = boundary(content_type)?;
    let mut out = Vec::with_capacity(body.len());
    for part in parts(body, &[b"--", boundary].concat())? {
        write(part, &mut out)?;
    }
    Some(out)
}

/// The boundary, which has 1 to 70 characters of RFC 2046 and does not end in a space.
fn boundary(content_type: &str) -> Option<&[u8]> {
    let (_, parameters) = content_type.split_once(';')?;
    let parameters = Parameters::read(parameters.as_bytes())?;
    let boundary = parameters.get("boundary")?;
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    let good = (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len())
        && boundary.iter().all(allowed)
        && !boundary.ends_with(b" ");
    good.then_some(boundary)
}

/// What lies between the delimiters. The text before the first and after the last one does not count.
///
/// Every place where the dash and the boundary stand must be a delimiter: at the start of a line, and with nothing behind it
/// but the end of the line or, in the last one, two dashes.
fn parts<'a>(body: &'a [u8], dash_boundary: &[u8]) -> Option<Vec<&'a [u8]>> {
    let (preamble, mut rest) = split_at(body, dash_boundary)?;
    if !(preamble.is_empty() || preamble.ends_with(CRLF)) {
        return None;
    }
    let mut parts = Vec::new();
    while let Some(after_line) = rest.strip_prefix(CRLF) {
        let (part, after) = split_at(after_line, dash_boundary)?;
        parts.push(part.strip_suffix(CRLF)?);
        rest = after;
    }
    let epilogue = rest.strip_prefix(b"--")?;
    let closed = epilogue.is_empty() || epilogue.starts_with(CRLF);
    (closed && split_at(epilogue, dash_boundary).is_none()).then_some(parts)
}

/// What stands before and after the first `mark`.
fn split_at<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(mark.len()).position(|window| window == mark)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

fn write(part: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (head, bytes) = split_at(part, b"\r\n\r\n")?;
    let headers = Headers::read(head)?;
    if !headers.agree_with(bytes) {
        return None;
    }
    let disposition = headers.form_data()?;
    let file_name = match disposition.get("filename") {
        None => &[],
        Some([]) => EMPTY_FILE_NAME,
        Some(name) => name,
    };
    framing::put(out, disposition.get("name")?);
    framing::put(out, file_name);
    framing::put(out, headers.get("content-type").unwrap_or_default());
    framing::put(out, bytes);
    Some(())
}
