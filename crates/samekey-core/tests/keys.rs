//! The key grammar, by the shared vectors and by properties.
#![cfg(test)]

use proptest::prelude::*;
use samekey_core::Key;
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors/keys.json")).unwrap()
}

fn read(lines: &Value) -> Result<Key, &'static str> {
    let lines: Vec<&str> = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    Key::from_header_lines(lines.iter().map(|line| line.as_bytes()))
        .map_err(samekey_core::key::KeyError::code)
}

#[test]
fn every_header_of_the_vectors_names_its_key_or_is_refused_with_its_code() {
    for case in vectors()["cases"].as_array().unwrap() {
        let read = read(&case["lines"]);
        let read = read.as_ref().map(Key::as_str).map_err(|code| *code);
        let expected = case["key"].as_str().ok_or_else(|| case["code"].as_str().unwrap());
        assert_eq!(read, expected, "{case}");
    }
}

#[test]
fn lengths_are_counted_after_unquoting() {
    for case in vectors()["lengths"].as_array().unwrap() {
        let text = "k".repeat(usize::try_from(case["bytes"].as_u64().unwrap()).unwrap());
        let ok = case["ok"].as_bool().unwrap();
        assert_eq!(Key::from_header_lines([text.as_bytes()]).is_ok(), ok, "{case}");
        assert_eq!(Key::from_header_lines([format!("\"{text}\"").as_bytes()]).is_ok(), ok, "{case}");
    }
}

#[test]
fn distinct_spellings_name_distinct_keys() {
    for pair in vectors()["distinct"].as_array().unwrap() {
        let key = |index: usize| Key::from_header_lines([pair[index].as_str().unwrap().as_bytes()]).unwrap();
        assert_ne!(key(0), key(1), "{pair}");
    }
}

#[test]
fn a_debug_print_does_not_tell_the_key() {
    assert!(!format!("{:?}", Key::new("customer-4711").unwrap()).contains("4711"));
}

proptest! {
    #[test]
    fn every_key_survives_being_quoted(text in "[ -~]{1,255}") {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let key = Key::from_header_lines([quoted.as_bytes()]).unwrap();
        prop_assert_eq!(key.as_str(), text.as_str());
    }

    #[test]
    fn any_bytes_give_a_key_within_bounds_or_a_reason(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(key) = Key::from_header_lines([line.as_slice()]) {
            prop_assert!((1..=255).contains(&key.as_bytes().len()));
            prop_assert!(key.as_bytes().iter().all(|byte| (0x20..=0x7e).contains(byte)));
        }
    }
}
