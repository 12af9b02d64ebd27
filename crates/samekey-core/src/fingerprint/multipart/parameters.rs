//! Parameters of a header: `name=token; other="quoted"`.

/// Parameters by their names in lower case, each once, with their values as they are written, without the quotes.
pub(super) struct Parameters<'a>(Vec<(String, &'a [u8])>);

impl<'a> Parameters<'a> {
    /// Reads what stands behind the first semicolon of a header.
    pub(super) fn read(mut rest: &'a [u8]) -> Option<Self> {
        let mut read = Self(Vec::new());
        loop {
            let equals = rest.iter().position(|&byte| byte == b'=')?;
            let name = rest[..equals].trim_ascii_start();
            let (value, after) = value(&rest[equals + 1..])?;
            let name = is_token(name).then(|| String::from_utf8_lossy(name).to_ascii_lowercase())?;
            if read.get(&name).is_some() {
                return None;
            }
            read.0.push((name, value));
            match after.trim_ascii_start().split_first() {
                None => return Some(read),
                Some((b';', further)) => rest = further,
                Some(_) => return None,
            }
        }
    }

    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The names that there are.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// A value, and what follows it.
fn value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(quoted) = text.strip_prefix(b"\"") {
        let end = quoted.iter().position(|&byte| byte == b'"')?;
        // A mail program reads on here, a browser does not.
        return (!quoted[..end].ends_with(b"\\")).then_some((&quoted[..end], &quoted[end + 1..]));
    }
    let end = text.iter().position(|&byte| byte == b';' || byte.is_ascii_whitespace()).unwrap_or(text.len());
    is_token(&text[..end]).then_some(text.split_at(end))
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(text: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(allowed)
}
