//! JSON numbers by their exact decimal value: `1`, `1.0` and `10e-1` are one number, `12345678901234567890` and `…891`
//! are two, though both round to one double.

/// Exponents with more digits than this, as written, have no canonical form: no sum below can then overflow.
const MAX_EXPONENT_DIGITS: usize = 9;

/// Reads a number and writes `[-]digits e exponent`, with no leading or trailing zero among the digits; zero is `0`.
pub(super) fn copy(rest: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let negative = skip(rest, b'-');
    let whole = digits(rest);
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return None;
    }
    let fraction = if skip(rest, b'.') { Some(digits(rest)).filter(|f| !f.is_empty())? } else { &[] };
    let exponent = if skip(rest, b'e') || skip(rest, b'E') { exponent(rest)? } else { 0 };
    write(negative, &[whole, fraction].concat(), exponent - length(fraction), out);
    Some(())
}

/// Writes `digits` × 10^`exponent`.
fn write(negative: bool, digits: &[u8], exponent: i64, out: &mut Vec<u8>) {
    let Some(first) = digits.iter().position(|&digit| digit != b'0') else {
        out.push(b'0');
        return;
    };
    let last = digits.iter().rposition(|&digit| digit != b'0').expect("there is a digit that is not zero");
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[first..=last]);
    let exponent = exponent + length(&digits[last + 1..]);
    out.extend(format!("e{exponent}").bytes());
}

fn exponent(rest: &mut &[u8]) -> Option<i64> {
    let negative = skip(rest, b'-');
    if !negative {
        skip(rest, b'+');
    }
    let digits = digits(rest);
    if digits.is_empty() || digits.len() > MAX_EXPONENT_DIGITS {
        return None;
    }
    let size = digits.iter().fold(0, |size, digit| size * 10 + i64::from(digit - b'0'));
    Some(if negative { -size } else { size })
}

fn digits<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = rest.split_at(count);
    *rest = after;
    digits
}

fn skip(rest: &mut &[u8], byte: u8) -> bool {
    let found = rest.first() == Some(&byte);
    if found {
        *rest = &rest[1..];
    }
    found
}

fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).expect("a body has fewer than 2^63 bytes")
}
