//! Changes to bytes: what transfers, disks and sloppy writers do, and what a guided fuzzer would try first.

use super::stretch;
use crate::Rng;

/// `bytes` with a change; `other` lends what is spliced in.
pub(super) fn changed(mut bytes: Vec<u8>, other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let kind = rng.below(CHANGES.len() as u64) as usize;
    CHANGES[kind](&mut bytes, other, rng);
    bytes
}

type Change = fn(&mut Vec<u8>, &[u8], &mut Rng);

const CHANGES: [Change; 8] = [truncate, flip, splice, insert_rude, duplicate, remove, nest, stretch_number];

fn truncate(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    let at = place(bytes, rng);
    bytes.truncate(at);
}

#[expect(clippy::ptr_arg, reason = "all changes have one signature")]
fn flip(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    for _ in 0..=rng.below(8) {
        let (at, bit) = (place(bytes, rng), rng.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
}

fn splice(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let (at, from) = (place(bytes, rng), stretch(other.len(), rng));
    bytes.truncate(at);
    bytes.extend_from_slice(&other[from]);
}

/// Bytes that end strings, lists, numbers or patience.
fn insert_rude(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    const RUDE: [&[u8]; 10] =
        [b"\0", b"\n", b"\x1b", b"\"", b"\\", b"\\u00", b"\xff\xfe", b"}", b"NaN", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"];
    let at = place(bytes, rng);
    let rude = RUDE[rng.below(RUDE.len() as u64) as usize];
    bytes.splice(at..at, rude.iter().copied());
}

fn duplicate(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    let piece = bytes[stretch(bytes.len(), rng)].to_vec();
    let at = place(bytes, rng);
    bytes.splice(at..at, piece);
}

fn remove(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    let range = stretch(bytes.len(), rng);
    bytes.drain(range);
}

/// Opens far more than it closes: recursion without a bound overflows the stack here.
fn nest(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    let open: &[u8] = if rng.below(2) == 0 { b"[" } else { b"{\"args\":" };
    let at = place(bytes, rng);
    let opened = open.repeat(1 << rng.below(14));
    bytes.splice(at..at, opened);
}

/// Makes a digit into a number too long for any integer.
fn stretch_number(bytes: &mut Vec<u8>, _: &[u8], rng: &mut Rng) {
    let from = place(bytes, rng);
    if let Some(digit) = bytes[from..].iter().position(u8::is_ascii_digit) {
        let at = from + digit;
        bytes.splice(at..at, b"9".repeat(1 + rng.below(40) as usize));
    }
}

fn place(bytes: &[u8], rng: &mut Rng) -> usize {
    rng.below(bytes.len() as u64 + 1) as usize
}
