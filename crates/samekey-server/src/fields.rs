//! The members of a message as it was sent.
//!
//! A request is read member by member instead of into one struct, so that everything that is wrong with it can be said at
//! once, each fault with a JSON Pointer to its place. Members are kept as they stand in the body: `data` may hold numbers
//! that no double can carry.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::channels::email::Draft;

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A JSON Pointer to the member (RFC 6901); empty for the whole body.
    pub pointer: Cow<'static, str>,
    /// What is wrong, and what to do.
    pub detail: String,
}

impl Fault {
    pub(crate) fn new(pointer: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// Brackets that may be open at once; more serve nobody and cost every reader downstream.
const MAX_DEPTH: usize = 64;

macro_rules! members {
    ($($name:ident)*) => {
        /// The members of a message, each as it stands in the body.
        #[derive(Debug, Default)]
        struct Members<'a> {
            $($name: Option<&'a RawValue>,)*
            faults: Vec<Fault>,
        }

        impl<'a> Members<'a> {
            /// Puts a member in its place; says `false` where there is none.
            fn put(&mut self, name: &str, value: &'a RawValue) -> bool {
                let place = match name {
                    $(stringify!($name) => &mut self.$name,)*
                    _ => return false,
                };
                if place.replace(value).is_some() {
                    self.faults.push(Fault::new(format!("/{name}"), "it is there twice; send it once"));
                }
                true
            }
        }

        const MEMBERS: &str = concat!($("`", stringify!($name), "`, ",)* "and no others");
    };
}

members! { channel to from reply_to subject text html data metadata idempotency_key }

impl<'de> de::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReadMembers;

        impl<'de> Visitor<'de> for ReadMembers {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    let value: &RawValue = map.next_value()?;
                    if !members.put(&name, value) && members.faults.len() < 16 {
                        members.faults.push(unknown(&name));
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(ReadMembers)
    }
}

fn unknown(name: &str) -> Fault {
    let shown: String = name.chars().take(64).collect();
    let pointer = format!("/{}", shown.replace('~', "~0").replace('/', "~1"));
    Fault::new(pointer, format!("there is no such member; a message has {MEMBERS}"))
}

/// The members of an e-mail, unescaped.
#[derive(Debug)]
pub struct EmailFields<'a> {
    to: Cow<'a, str>,
    from: Option<Cow<'a, str>>,
    reply_to: Option<Cow<'a, str>>,
    subject: Cow<'a, str>,
    text: Option<Cow<'a, str>>,
    html: Option<Cow<'a, str>>,
}

/// A message as it was sent, well-formed and within bounds.
#[derive(Debug)]
pub struct MessageFields<'a> {
    /// Its key in the body, if there is one.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// Anything the caller wants to find again.
    pub metadata: Option<&'a RawValue>,
    /// The values that a channel writes into the message.
    pub data: Option<&'a RawValue>,
    /// What is particular to its channel.
    pub email: EmailFields<'a>,
}

impl EmailFields<'_> {
    /// The e-mail, from its own sender or from the one given. `None`: neither is there.
    #[must_use]
    pub fn draft<'s>(&'s self, default_sender: Option<&'s str>) -> Option<Draft<'s>> {
        Some(Draft {
            to: &self.to,
            from: self.from.as_deref().or(default_sender)?,
            reply_to: self.reply_to.as_deref(),
            subject: &self.subject,
            text: self.text.as_deref(),
            html: self.html.as_deref(),
        })
    }

    /// Whether the message names its sender.
    #[must_use]
    pub fn names_sender(&self) -> bool {
        self.from.is_some()
    }

    /// The recipient as written.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// The subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The sender as written, if it is.
    #[must_use]
    pub fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }
}

impl<'a> MessageFields<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// Every fault that can be told without knowing the channel's set-up.
    pub fn read(body: &'a [u8]) -> Result<Self, Vec<Fault>> {
        if !within_depth(body) {
            return Err(vec![Fault::new("", format!("it is nested more than {MAX_DEPTH} deep"))]);
        }
        let mut members: Members<'a> =
            serde_json::from_slice(body).map_err(|error| vec![malformed(&error)])?;
        let mut faults = std::mem::take(&mut members.faults);
        check_channel(&members, &mut faults);
        let fields = Self {
            idempotency_key: key(members.idempotency_key, &mut faults),
            metadata: object(members.metadata, "/metadata", &mut faults),
            data: object(members.data, "/data", &mut faults),
            email: EmailFields {
                to: recipient(members.to, &mut faults),
                from: text(members.from, "/from", &mut faults),
                reply_to: text(members.reply_to, "/reply_to", &mut faults),
                subject: required(members.subject, "/subject", &mut faults),
                text: text(members.text, "/text", &mut faults),
                html: text(members.html, "/html", &mut faults),
            },
        };
        if faults.is_empty() { Ok(fields) } else { Err(faults) }
    }
}

fn malformed(error: &serde_json::Error) -> Fault {
    Fault::new("", format!("the body is not the JSON object of a message: {error}"))
}

fn check_channel(members: &Members<'_>, faults: &mut Vec<Fault>) {
    match required(members.channel, "/channel", faults).as_ref() {
        "email" | "" => {}
        _ => faults.push(Fault::new("/channel", "there is no such channel; this release sends `email`")),
    }
}

/// A string. `null` is as good as absent.
fn text<'a>(
    raw: Option<&'a RawValue>,
    pointer: &'static str,
    faults: &mut Vec<Fault>,
) -> Option<Cow<'a, str>> {
    let raw = raw?.get();
    if raw == "null" {
        return None;
    }
    // Borrowed where nothing is escaped, which is nearly always.
    if let Ok(text) = serde_json::from_str::<&str>(raw) {
        return Some(Cow::Borrowed(text));
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Some(Cow::Owned(text)),
        Err(_) => {
            faults.push(Fault::new(pointer, format!("it is {}; send a string", kind(raw))));
            None
        }
    }
}

fn required<'a>(raw: Option<&'a RawValue>, pointer: &'static str, faults: &mut Vec<Fault>) -> Cow<'a, str> {
    let before = faults.len();
    text(raw, pointer, faults).unwrap_or_else(|| {
        if faults.len() == before {
            faults.push(Fault::new(pointer, "it is missing"));
        }
        Cow::Borrowed("")
    })
}

fn recipient<'a>(raw: Option<&'a RawValue>, faults: &mut Vec<Fault>) -> Cow<'a, str> {
    if raw.is_some_and(|raw| raw.get().starts_with('[')) {
        let hint = "a message has one recipient; send one message to each, with a key of its own";
        faults.push(Fault::new("/to", hint));
        return Cow::Borrowed("");
    }
    required(raw, "/to", faults)
}

/// A key in the body: a string that is never unquoted; null is absent.
fn key<'a>(raw: Option<&'a RawValue>, faults: &mut Vec<Fault>) -> Option<Cow<'a, str>> {
    text(raw, "/idempotency_key", faults)
}

fn object<'a>(
    raw: Option<&'a RawValue>,
    pointer: &'static str,
    faults: &mut Vec<Fault>,
) -> Option<&'a RawValue> {
    let raw = raw.filter(|raw| raw.get() != "null")?;
    if !raw.get().starts_with('{') {
        faults.push(Fault::new(pointer, format!("it is {}; send an object", kind(raw.get()))));
    }
    Some(raw)
}

fn kind(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Whether the body opens no more than [`MAX_DEPTH`] brackets at once. Whether it is JSON at all is the parser's business.
fn within_depth(body: &[u8]) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for &byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"channel":"email","to":"ada@example.org","subject":"S","text":"T"}"#;

    fn faults(body: &str) -> Vec<(String, String)> {
        let faults = MessageFields::read(body.as_bytes()).unwrap_err();
        faults.into_iter().map(|fault| (fault.pointer.into_owned(), fault.detail)).collect()
    }

    fn pointers(body: &str) -> Vec<String> {
        faults(body).into_iter().map(|(pointer, _)| pointer).collect()
    }

    #[test]
    fn every_fault_is_said_at_once() {
        let body = r#"{"channel":"pigeon","to":["a","b"],"subject":7,"Text":"x","data":[1],"metadata":"m","html":{}}"#;
        assert_eq!(pointers(body), ["/Text", "/channel", "/metadata", "/data", "/to", "/subject", "/html"]);
    }

    #[test]
    fn a_message_is_read_and_null_is_as_good_as_absent() {
        let fields = MessageFields::read(GOOD.as_bytes()).unwrap();
        assert_eq!(fields.email.to(), "ada@example.org");
        let nulls = GOOD.replace(
            "\"text\":\"T\"",
            r#""html":null,"idempotency_key":null,"data":null,"text":"a\n\u0041""#,
        );
        let fields = MessageFields::read(nulls.as_bytes()).unwrap();
        assert!(fields.idempotency_key.is_none() && fields.data.is_none());
        assert_eq!(fields.email.draft(Some("x@y.z")).unwrap().text, Some("a\nA"));
        assert!(fields.email.draft(None).is_none());
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        for body in
            ["", "[]", "7", "{", "{\"to\"}", "nul", "{\"channel\":\"email\"} x", "{\"to\":\"\\ud800\"}"]
        {
            assert!(!faults(body).is_empty(), "{body}");
        }
        assert_eq!(pointers(&GOOD.replace("\"to\"", "\"text\"")), ["/text", "/to"]);
        assert_eq!(pointers(&GOOD.replace("\"T\"", "\"\\ud800\"")), ["/text"]);
    }

    #[test]
    fn depth_is_bounded_and_brackets_in_strings_do_not_count() {
        let deep = |levels: usize| {
            GOOD.replace(
                "\"T\"",
                &format!("\"T\",\"data\":{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels)),
            )
        };
        assert!(MessageFields::read(deep(62).as_bytes()).is_ok());
        assert_eq!(pointers(&deep(63)), [""]);
        assert_eq!(pointers(&deep(100_000)), [""]);
        assert!(MessageFields::read(GOOD.replace('T', &"[{\\\"".repeat(200)).as_bytes()).is_ok());
    }
}
