//! JSON strings: unescaped for comparison, escaped again in one way only.

/// Reads a string and writes it in its one canonical spelling, quotes included.
pub(super) fn copy(rest: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut plain = Vec::new();
    unescape(rest, &mut plain)?;
    out.push(b'"');
    for &byte in &plain {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0x00..=0x1f => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    Some(())
}

/// Reads a string and appends its characters as UTF-8.
pub(super) fn unescape(rest: &mut &[u8], plain: &mut Vec<u8>) -> Option<()> {
    *rest = rest.strip_prefix(b"\"")?;
    loop {
        let run = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0x00..=0x1f))?;
        plain.extend_from_slice(&rest[..run]);
        let stop = rest[run];
        *rest = &rest[run + 1..];
        match stop {
            b'"' => return Some(()),
            b'\\' => escape(rest, plain)?,
            _ => return None,
        }
    }
}

/// What follows a backslash.
fn escape(rest: &mut &[u8], plain: &mut Vec<u8>) -> Option<()> {
    let (&letter, after) = rest.split_first()?;
    *rest = after;
    let character = match letter {
        b'"' | b'\\' | b'/' => char::from(letter),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => unicode(rest)?,
        _ => return None,
    };
    plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}

/// `xxxx`, or `xxxx\uxxxx` for a surrogate pair. A lone surrogate is no character.
fn unicode(rest: &mut &[u8]) -> Option<char> {
    let first = four_digits(rest)?;
    let code = match first {
        0xd800..=0xdbff => {
            *rest = rest.strip_prefix(b"\\u")?;
            let second = four_digits(rest)?;
            if !(0xdc00..=0xdfff).contains(&second) {
                return None;
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        }
        _ => first,
    };
    char::from_u32(code)
}

fn four_digits(rest: &mut &[u8]) -> Option<u32> {
    let (digits, after) = rest.split_at_checked(4)?;
    *rest = after;
    digits.iter().try_fold(0, |code, &digit| Some(code * 16 + char::from(digit).to_digit(16)?))
}
