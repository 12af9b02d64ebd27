//! Random bits of the operating system, the only place where this crate takes them.

use uuid::Uuid;

pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes once it runs programs");
    bytes
}

/// Names a claim before it is made, so that one whose answer was lost is recognised.
pub(crate) fn claim_id() -> Uuid {
    Uuid::from_bytes(bytes())
}
