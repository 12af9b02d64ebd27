//! When two uploads are the same: by their parts, whatever the boundary.
#![cfg(test)]

use proptest::prelude::*;
use samekey_core::fingerprint::Request;
use samekey_core::{Fingerprint, Recipe};

/// A part as a client writes it: the headers, then the bytes.
type Part<'a> = (&'a str, &'a [u8]);

const FIELD: Part<'_> = ("Content-Disposition: form-data; name=\"order\"", b"1042");
const FILE: Part<'_> = (
    "Content-Disposition: form-data; name=\"f\"; filename=\"a b;c.png\"\r\nContent-Type: image/png",
    b"\r\n\0\xff--",
);

fn of(recipe: &Recipe, content_type: &str, body: &[u8]) -> Fingerprint {
    recipe.fingerprint(&Request { method: "POST", path: "/uploads", query: "", content_type, body })
}

fn body(boundary: &str, parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (headers, bytes) in parts {
        body.extend(format!("--{boundary}\r\n{headers}\r\n\r\n").bytes());
        body.extend_from_slice(bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    body
}

fn content_type(boundary: &str) -> String {
    format!("multipart/form-data; boundary=\"{boundary}\"")
}

fn of_parts(boundary: &str, parts: &[Part<'_>]) -> Fingerprint {
    of(&Recipe::canonical(), &content_type(boundary), &body(boundary, parts))
}

/// Whether the body has no form but its bytes: then it is compared as under the recipe for raw bytes.
fn is_raw(content_type: &str, body: &[u8]) -> bool {
    of(&Recipe::canonical(), content_type, body) == of(&Recipe::raw(), content_type, body)
}

fn hex(fingerprint: Fingerprint) -> String {
    fingerprint.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_retry_with_another_boundary_is_the_same_upload() {
    let first = of_parts("AaB03x", &[FIELD, FILE]);
    assert_eq!(of_parts("----WebKitFormBoundary7MA4YWxkTrZu0gW", &[FIELD, FILE]), first);
    let unquoted = "Multipart/Form-Data; charset=utf-8; BOUNDARY=AaB03x";
    assert_eq!(of(&Recipe::canonical(), unquoted, &body("AaB03x", &[FIELD, FILE])), first);
    assert_eq!(of_parts("a", &[]), of_parts("b", &[]));
}

#[test]
fn spellings_that_every_parser_reads_alike_are_one() {
    let plain = of_parts("b", &[FIELD]);
    for headers in [
        "content-disposition:form-data;name=order",
        "CONTENT-DISPOSITION: Form-Data ;  NAME=\"order\" ",
        "Content-Length: 4\r\nContent-Disposition: form-data; name=\"order\"",
        "Content-Disposition: form-data; name=\"order\"\r\nContent-Transfer-Encoding: Binary",
    ] {
        assert_eq!(of_parts("b", &[(headers, FIELD.1)]), plain, "{headers}");
    }
    let surrounded = [b"before\r\n", &body("b", &[FIELD])[..], b"after"].concat();
    assert_eq!(of(&Recipe::canonical(), &content_type("b"), &surrounded), plain);
}

#[test]
fn name_file_name_type_bytes_and_order_count() {
    let disposition = "Content-Disposition: form-data; ";
    let variants = [
        ("name=\"f\"", "", "x"),
        ("name=\"g\"", "", "x"),
        ("name=\"F\"", "", "x"),
        ("name=\"f\"", "", "y"),
        ("name=\"f\"", "", ""),
        ("name=\"f\"; filename=\"\"", "", "x"),
        ("name=\"f\"; filename=\"a\"", "", "x"),
        ("name=\"f\"; filename=\"b\"", "", "x"),
        ("name=\"fa\"; filename=\"\"", "", "x"),
        ("name=\"f\"; filename=\"a\"", "\r\nContent-Type: text/plain", "x"),
        ("name=\"f\"; filename=\"a\"", "\r\nContent-Type: text/html", "x"),
    ];
    let parts: Vec<(String, &[u8])> =
        variants.map(|(names, kind, bytes)| (format!("{disposition}{names}{kind}"), bytes.as_bytes())).into();
    let mut seen = vec![of_parts("b", &[]), of_parts("b", &[FIELD, FILE]), of_parts("b", &[FILE, FIELD])];
    for (headers, bytes) in &parts {
        seen.push(of_parts("b", &[(headers, bytes)]));
        seen.push(of_parts("b", &[(headers, bytes), FIELD]));
    }
    for (index, one) in seen.iter().enumerate() {
        assert!(!seen[..index].contains(one), "number {index} is another's");
    }
}

#[test]
fn a_route_may_choose_raw_bytes() {
    let of_boundary = |boundary: &str| of(&Recipe::raw(), &content_type(boundary), &body(boundary, &[FIELD]));
    assert_ne!(of_boundary("a"), of_boundary("b"));
}

/// `SHA-256( LP("1") LP("POST") LP("/uploads") LP("") LP("multipart/form-data") LP("multipart") LP(parts) )`.
#[test]
fn the_golden_hash_holds() {
    assert!(!is_raw(&content_type("b"), &body("b", &[FIELD, FILE])));
    assert_eq!(
        hex(of_parts("b", &[FIELD, FILE])),
        "e67027d254e53469c9fa0b5151accd19618da002e7eb6542a237f5591917126c"
    );
}

#[test]
fn a_content_type_without_one_good_boundary_has_no_form() {
    let long = "b".repeat(71);
    for parameters in [
        "",
        "; ",
        "; charset=utf-8",
        "; boundary=",
        "; boundary=\"\"",
        "; boundary=\"b",
        "; boundary=b; boundary=c",
        "; boundary=b;",
        "; boundary=b c",
        "; boundary =b",
        "; boundary=\"b \"",
        "; boundary=\"b\\\"",
        "; boundary=\"b\\\"\"",
        "; boundary=ä",
        &format!("; boundary={long}"),
    ] {
        for boundary in ["b", "", "b ", "b\\", "c", &long] {
            let content_type = format!("multipart/form-data{parameters}");
            assert!(is_raw(&content_type, &body(boundary, &[FIELD])), "{content_type} {boundary:?}");
        }
    }
    let seventy = "b".repeat(70);
    assert!(!is_raw(&content_type(&seventy), &body(&seventy, &[FIELD])));
    assert!(is_raw("multipart/mixed; boundary=b", &body("b", &[FIELD])));
}

#[test]
fn a_body_that_parsers_may_read_in_two_ways_has_no_form() {
    let part = "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n";
    let bodies = [
        String::new(),
        "--b".to_owned(),
        "--b\r\n".to_owned(),
        "--b\r\n--b--".to_owned(),
        "x--b--".to_owned(),
        part.to_owned(),
        format!("{part}--b"),
        format!("{part}--b-"),
        format!("{part}--b \r\n"),
        format!("{part}--b--x"),
        format!("{part}--b-- \r\n"),
        format!("{part}--b--\n"),
        format!("{part}--b--\r\n--b"),
        format!("{part}--b--\r\n{part}--b--"),
        format!("x{part}--b--"),
        format!("\n{part}--b--"),
        format!("{}--b--", part.replace("\r\n", "\n")),
        format!("{}--b--", part.replace("\r\nx", "x")),
        format!("{}--b--", part.replace("x\r\n", "x\n")),
        format!("{}--b--", part.replace('x', "--b")),
        format!("{}--b--", part.replace('x', "\r\n--bc")),
        format!("{}--b--", part.replace("--b\r\n", "--b \r\n")),
    ];
    for body in bodies {
        assert!(is_raw(&content_type("b"), body.as_bytes()), "{body:?}");
    }
}

#[test]
fn a_part_whose_headers_are_not_plain_has_no_form() {
    let disposition = "Content-Disposition: form-data; name=\"f\"";
    let headers = [
        "",
        "Content-Type: text/plain",
        "Content-Disposition: form-data",
        "Content-Disposition: form-data;",
        "Content-Disposition: form-data; filename=\"a\"",
        "Content-Disposition: attachment; name=\"f\"",
        "Content-Disposition: form-data; name=\"f",
        "Content-Disposition: form-data; name=f g",
        "Content-Disposition: form-data; name=\"f\"; name=\"f\"",
        "Content-Disposition: form-data; name=\"f\"; NAME=\"g\"",
        "Content-Disposition: form-data; name=\"f\" filename=\"a\"",
        "Content-Disposition: form-data; name=\"a\\\"b\"",
        "Content-Disposition: form-data; name=\"a\\\"; filename=\"b\"",
        "Content-Disposition: form-data; name=\"f\"; filename*=utf-8''a",
        "Content-Disposition: form-data; name=\"f\0\"",
        "Content-Disposition : form-data; name=\"f\"",
        &format!("{disposition}\r\n{disposition}"),
        &format!("{disposition}\r\nContent-Type: a/b\r\ncontent-type: a/b"),
        &format!("{disposition}\r\nContent-Type:"),
        &format!("{disposition}\r\nContent-Type: a/b\r"),
        &format!("{disposition}\r\nContent-Type: a/b\n"),
        &format!("{disposition}\r\nContent-Type: a/b\r\n ; c=d"),
        &format!("{disposition}\r\nContent-Length: 2"),
        &format!("{disposition}\r\nContent-Transfer-Encoding: base64"),
        &format!("{disposition}\r\nX-Amount: 1"),
        &format!("{disposition}\r\nno colon"),
    ];
    for headers in headers {
        assert!(is_raw(&content_type("b"), &body("b", &[(headers, b"x")])), "{headers:?}");
    }
}

#[derive(Clone, Debug, PartialEq)]
struct AnyPart {
    name: String,
    file_name: Option<String>,
    kind: Option<String>,
    bytes: Vec<u8>,
}

/// Parts whose bytes hold dashes and ends of lines, but no boundary of the tests: those have capital letters.
fn any_part() -> impl Strategy<Value = AnyPart> {
    let bytes = prop_oneof![Just(b'-'), Just(b'\r'), Just(b'\n'), any::<u8>()]
        .prop_map(|byte| byte.to_ascii_lowercase());
    let bytes = proptest::collection::vec(bytes, 0..40);
    let option = proptest::option::of("[a-zäß;= .%]{0,6}");
    let kind = proptest::option::of("[a-z]{1,5}/[a-z]{1,5}(; [a-z]=\"[a-z]\")?");
    ("[a-zäß;= .%]{0,6}", option, kind, bytes).prop_map(|(name, file_name, kind, bytes)| AnyPart {
        name,
        file_name,
        kind,
        bytes,
    })
}

fn of_any(boundary: &str, parts: &[AnyPart]) -> Fingerprint {
    let headers = |part: &AnyPart| {
        let file_name =
            part.file_name.as_ref().map_or(String::new(), |name| format!("; filename=\"{name}\""));
        let kind = part.kind.as_ref().map_or(String::new(), |kind| format!("\r\nContent-Type: {kind}"));
        format!("Content-Disposition: form-data; name=\"{}\"{file_name}{kind}", part.name)
    };
    let headers: Vec<String> = parts.iter().map(headers).collect();
    let parts: Vec<Part<'_>> =
        headers.iter().zip(parts).map(|(headers, part)| (headers.as_str(), &part.bytes[..])).collect();
    of_parts(boundary, &parts)
}

proptest! {
    #[test]
    fn the_boundary_does_not_count_and_all_else_does(
        one in proptest::collection::vec(any_part(), 0..5),
        other in proptest::collection::vec(any_part(), 0..5),
        boundaries in proptest::array::uniform2("-{0,3}[A-Z]{1,20}-{0,3}"),
    ) {
        let [first, second] = &boundaries;
        prop_assert_eq!(of_any(first, &one), of_any(second, &one));
        prop_assert_eq!(of_any(first, &one) == of_any(second, &other), one == other);
    }

    #[test]
    fn any_bytes_are_harmless(content_type in "[a-z/;=\" ]{0,20}", body in proptest::collection::vec(any::<u8>(), 0..200)) {
        of(&Recipe::canonical(), &format!("multipart/form-data{content_type}"), &body);
        of(&Recipe::canonical(), "multipart/form-data; boundary=b", &body);
    }

    /// Bodies that are nearly well-formed: pieces of one, in any order.
    #[test]
    fn pieces_of_a_body_are_harmless(pieces in proptest::collection::vec(0..8usize, 0..20)) {
        let all = ["--b", "--", "\r\n", "\r", "Content-Disposition: form-data; name=", "\"f\"", "x", "Content-Type: "];
        let body: String = pieces.into_iter().map(|piece| all[piece]).collect();
        of(&Recipe::canonical(), "multipart/form-data; boundary=b", body.as_bytes());
    }
}
