//! The canonical form of a JSON text, computed over its bytes.
//!
//! Two texts have one form exactly if they hold the same value: members in any order, white space anywhere, strings
//! escaped or not, numbers by their exact decimal value. No number becomes a double, no tree is built, and nesting
//! costs no stack, so there is no input that rounds, exhausts or overflows anything.
//!
//! What different parsers read differently has no canonical form, and the caller falls back to the raw bytes: two
//! members of one name, lone surrogates, a byte order mark, exponents over 9 digits, nesting over 128, anything that is
//! not well-formed UTF-8 JSON (RFC 8259).

mod number;
mod object;
mod text;

use object::Object;

use super::Pointer;

/// The deepest nesting that has a canonical form, in open brackets.
const MAX_DEPTH: usize = 128;

/// The canonical form of `body`, with the members that `ignored` points to left out; `None` where it has none.
///
/// Members are sorted by the UTF-8 bytes of their unescaped names; strings are written with `\"`, `\\` and `\u00xx` for
/// control characters, all else verbatim; numbers as `[-]digits e exponent` with no leading or trailing zero among the
/// digits (`1.20` is `12e-1`, zero is `0`).
#[must_use]
pub fn canonical_json(body: &[u8], ignored: &[Pointer]) -> Option<Vec<u8>> {
    let input = std::str::from_utf8(body).ok()?;
    let mut writer = Writer {
        rest: input.as_bytes(),
        out: Vec::with_capacity(body.len()),
        open: Vec::new(),
        names: Vec::new(),
        ignored,
    };
    writer.document()?;
    Some(writer.out)
}

/// A bracket that is still open.
enum Container {
    Array { next_index: usize },
    Object(Object),
}

struct Writer<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    open: Vec<Container>,
    /// The unescaped names of the members of all open objects, one after the other.
    names: Vec<u8>,
    ignored: &'a [Pointer],
}

impl Writer<'_> {
    fn document(&mut self) -> Option<()> {
        self.value()?;
        while !self.open.is_empty() {
            self.after_value()?;
        }
        self.skip_space();
        self.rest.is_empty().then_some(())
    }

    /// Reads one scalar, or opens one container and reads up to its first scalar.
    fn value(&mut self) -> Option<()> {
        loop {
            self.skip_space();
            match *self.rest.first()? {
                b'{' => {
                    self.open(b'{')?;
                    self.open.push(Container::Object(Object::starting_at(self.out.len(), self.names.len())));
                    if self.taken(b'}') {
                        return self.close();
                    }
                    self.member_name()?;
                }
                b'[' => {
                    self.open(b'[')?;
                    self.open.push(Container::Array { next_index: 0 });
                    if self.taken(b']') {
                        return self.close();
                    }
                }
                b'"' => return text::copy(&mut self.rest, &mut self.out),
                b't' => return self.literal(b"true"),
                b'f' => return self.literal(b"false"),
                b'n' => return self.literal(b"null"),
                _ => return number::copy(&mut self.rest, &mut self.out),
            }
        }
    }

    /// A value has ended inside the innermost container: read on to the end of the next one, or close the container.
    fn after_value(&mut self) -> Option<()> {
        let Self { open, names, ignored, out, .. } = self;
        let (last, outer) = open.split_last_mut()?;
        let more = match last {
            Container::Array { next_index } => {
                *next_index += 1;
                self.comma_or(b']')?
            }
            Container::Object(object) => {
                let left_out = ignored.iter().any(|pointer| points_to(pointer, outer, object, names));
                object.end_member(out, left_out);
                self.comma_or(b'}')?
            }
        };
        match (more, self.open.last()?) {
            (false, _) => self.close(),
            (true, Container::Array { .. }) => {
                self.out.push(b',');
                self.value()
            }
            (true, Container::Object(_)) => {
                self.member_name()?;
                self.value()
            }
        }
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        if self.open.len() == MAX_DEPTH {
            return None;
        }
        self.rest = &self.rest[1..];
        self.out.push(bracket);
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        match self.open.pop()? {
            Container::Array { .. } => self.out.push(b']'),
            Container::Object(object) => object.close(&mut self.out, &mut self.names)?,
        }
        Some(())
    }

    /// `"name":`, up to the start of the member's value.
    fn member_name(&mut self) -> Option<()> {
        self.skip_space();
        let Some(Container::Object(object)) = self.open.last_mut() else { return None };
        object.begin_member(self.out.len(), self.names.len());
        let mut after = self.rest;
        text::unescape(&mut after, &mut self.names)?;
        object.end_name(self.names.len());
        text::copy(&mut self.rest, &mut self.out)?;
        self.out.push(b':');
        self.taken(b':').then_some(())
    }

    fn comma_or(&mut self, end: u8) -> Option<bool> {
        if self.taken(b',') {
            return Some(true);
        }
        self.taken(end).then_some(false)
    }

    fn taken(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        self.out.extend_from_slice(word);
        Some(())
    }

    fn skip_space(&mut self) {
        while let Some((b' ' | b'\t' | b'\n' | b'\r', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
    }
}

/// Whether `pointer` names the member that has just ended in `object`, inside the open `outer` containers.
fn points_to(pointer: &Pointer, outer: &[Container], object: &Object, names: &[u8]) -> bool {
    let segments = pointer.segments();
    segments.len() == outer.len() + 1
        && segments.last().is_some_and(|segment| segment.as_bytes() == object.current_name(names))
        && outer.iter().zip(segments).all(|(container, segment)| match container {
            Container::Array { next_index } => *segment == next_index.to_string(),
            Container::Object(object) => segment.as_bytes() == object.current_name(names),
        })
}
