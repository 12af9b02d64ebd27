//! When two requests are the same, by the shared vectors and by properties.
#![cfg(test)]

use proptest::prelude::*;
use samekey_core::fingerprint::{Pointer, Request, canonical_json};
use samekey_core::{Fingerprint, Recipe};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors/fingerprints.json")).unwrap()
}

fn of_body(body: &str) -> Fingerprint {
    let request = Request {
        method: "POST",
        path: "/orders",
        query: "",
        content_type: "application/json",
        body: body.as_bytes(),
    };
    Recipe::canonical().fingerprint(&request)
}

fn of_parts(parts: &Value) -> Fingerprint {
    let part = |index: usize| parts[index].as_str().unwrap();
    let request = Request {
        method: part(0),
        path: part(1),
        query: part(2),
        content_type: part(3),
        body: part(4).as_bytes(),
    };
    Recipe::canonical().fingerprint(&request)
}

fn hex(fingerprint: Fingerprint) -> String {
    fingerprint.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn bodies_of_one_value_have_one_fingerprint() {
    for group in vectors()["equal"].as_array().unwrap() {
        let first = of_body(group[0].as_str().unwrap());
        for body in group.as_array().unwrap() {
            assert_eq!(of_body(body.as_str().unwrap()), first, "{body}");
        }
    }
}

#[test]
fn bodies_of_different_values_have_two() {
    for pair in vectors()["different"].as_array().unwrap() {
        assert_ne!(of_body(pair[0].as_str().unwrap()), of_body(pair[1].as_str().unwrap()), "{pair}");
    }
}

#[test]
fn method_path_query_and_media_type_count_and_parameters_and_case_do_not() {
    let vectors = vectors();
    for pair in vectors["request_parts_that_count"].as_array().unwrap() {
        assert_ne!(of_parts(&pair["one"]), of_parts(&pair["other"]), "{pair}");
    }
    for pair in vectors["request_parts_that_do_not"].as_array().unwrap() {
        assert_eq!(of_parts(&pair["one"]), of_parts(&pair["other"]), "{pair}");
    }
}

#[test]
fn the_golden_hashes_hold() {
    for golden in vectors()["golden"].as_array().unwrap() {
        let text = |name: &str| golden[name].as_str().unwrap();
        let request = Request {
            method: text("method"),
            path: text("path"),
            query: text("query"),
            content_type: text("type"),
            body: text("body").as_bytes(),
        };
        let recipe = if text("form") == "raw" { Recipe::raw() } else { Recipe::canonical() };
        assert_eq!(hex(recipe.fingerprint(&request)), text("sha256"), "{golden}");
    }
}

#[test]
fn a_member_may_be_left_out_and_nothing_else_with_it() {
    let recipe = Recipe::ignoring(["/key", "/meta/at", "/list/1/x"].map(|text| Pointer::new(text).unwrap()));
    let of = |body: &str| {
        recipe.fingerprint(&Request {
            method: "POST",
            path: "/",
            query: "",
            content_type: "application/json",
            body: body.as_bytes(),
        })
    };
    assert_eq!(of(r#"{"key":"a","b":1}"#), of(r#"{"b":1}"#));
    assert_eq!(of(r#"{"b":1,"key":{"deep":[1,{"key":2}]}}"#), of(r#"{"key":null,"b":1}"#));
    assert_eq!(of(r#"{"meta":{"at":1,"b":2},"c":3}"#), of(r#"{"meta":{"b":2},"c":3}"#));
    assert_eq!(of(r#"{"list":[{"x":1},{"x":2}]}"#), of(r#"{"list":[{"x":1},{}]}"#));
    assert_ne!(of(r#"{"list":[{"x":1},{"x":2}]}"#), of(r#"{"list":[{"x":3},{"x":2}]}"#));
    assert_ne!(of(r#"{"inner":{"key":1}}"#), of(r#"{"inner":{"key":2}}"#));
}

#[test]
fn what_has_no_canonical_form_is_hashed_as_it_is() {
    let deepest = "[".repeat(128) + &"]".repeat(128);
    assert!(canonical_json(deepest.as_bytes(), &[]).is_some());
    let bodies: Vec<String> = [
        "",
        " ",
        "{",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{,}",
        "{\"a\":1,}",
        "nul",
        "tru",
        "01",
        "1.",
        ".1",
        "1e",
        "+1",
        "-",
        "1 2",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1}}",
        "[}",
        "{]",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "\u{feff}{}",
        "{\"a\":1,\"\\u0061\":2}",
        "1e0000000001",
        "NaN",
        "'a'",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(["[".repeat(129) + &"]".repeat(129), "[".repeat(1_000_000), "{\"a\":".repeat(200_000)])
    .collect();
    for body in bodies {
        assert_eq!(canonical_json(body.as_bytes(), &[]), None, "{}", &body[..body.len().min(40)]);
    }
    assert_eq!(canonical_json(b"\"\xff\"", &[]), None);
}

/// A JSON text, written in a random one of the ways to write it.
fn spelled(value: &Value, choices: &mut impl Iterator<Item = u8>) -> String {
    let space = |choices: &mut dyn Iterator<Item = u8>| {
        ["", " ", "\n", "\t "][choices.next().unwrap_or(0) as usize % 4]
    };
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if choices.next().unwrap_or(0).is_multiple_of(2) {
                members.reverse();
            }
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, value)| {
                    format!(
                        "{}{}:{}{}",
                        space(choices),
                        string(name, choices),
                        space(choices),
                        spelled(value, choices)
                    )
                })
                .collect();
            format!("{{{}{}}}", members.join(","), space(choices))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| spelled(item, choices)).collect();
            format!("[{}{}]", space(choices), items.join(","))
        }
        Value::String(text) => string(text, choices),
        Value::Number(number) if number.is_i64() => match choices.next().unwrap_or(0) % 3 {
            0 => format!("{number}.0"),
            1 => format!("{number}0e-1"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn string(text: &str, choices: &mut impl Iterator<Item = u8>) -> String {
    if choices.next().unwrap_or(0).is_multiple_of(2) {
        return Value::from(text).to_string();
    }
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_spelling_of_a_value_has_one_form(value in json(), choices: Vec<u8>) {
        let plain = canonical_json(value.to_string().as_bytes(), &[]);
        prop_assert!(plain.is_some());
        let other = spelled(&value, &mut choices.into_iter());
        prop_assert_eq!(canonical_json(other.as_bytes(), &[]), plain, "{}", other);
    }

    #[test]
    fn different_values_have_different_forms(one in json(), other in json()) {
        let form = |value: &Value| canonical_json(value.to_string().as_bytes(), &[]);
        prop_assert_eq!(form(&one) == form(&other), one == other);
    }

    #[test]
    fn a_canonical_form_is_its_own_form(value in json()) {
        let once = canonical_json(value.to_string().as_bytes(), &[]).unwrap();
        prop_assert_eq!(canonical_json(&once, &[]), Some(once.clone()));
    }

    #[test]
    fn it_takes_what_a_json_parser_takes(text in "[\\[\\]{}:,\"0-9eE.+\\-a-f\\\\ ]{0,24}") {
        let canonical = canonical_json(text.as_bytes(), &[]).is_some();
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert!(parsed || !canonical, "canonical though no JSON: {}", text);
    }

    #[test]
    fn any_bytes_are_harmless(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = canonical_json(&body, &[]);
    }
}
