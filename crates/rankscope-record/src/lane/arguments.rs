//! Arguments into words: behind their event, before its head is stored.
//!
//! What is too long is cut and the cut is said, with the true length; the recorder never cuts in silence.

use rankscope_recording::{Kind, NameId, Remark, Word, zigzag};

use super::Lane;
use crate::value::Value;

/// More arguments than this are left out, and counted.
pub(crate) const ARGS_MAX: usize = 32;
/// Bytes of one value; the rest is cut.
const BYTES_MAX: usize = 1 << 10;
/// A text that is all of an event's arguments may be longer.
const SINGLE_BYTES_MAX: usize = 32 << 10;

fn bytes_max(args: &[(NameId, Value<'_>)]) -> usize {
    if args.len() == 1 { SINGLE_BYTES_MAX } else { BYTES_MAX }
}

/// How many words `args` take.
#[inline(always)]
pub(super) fn words(args: &[(NameId, Value<'_>)]) -> usize {
    let max = bytes_max(args);
    let kept = args.iter().take(ARGS_MAX).map(|(_, value)| value_words(value, max)).sum::<usize>();
    kept + usize::from(args.len() > ARGS_MAX)
}

#[inline(always)]
fn value_words(value: &Value<'_>, max: usize) -> usize {
    match value {
        Value::Bool(_) | Value::Name(_) => 1,
        Value::I64(value) => 1 + usize::from(!is_small(*value)),
        Value::U64(value) => 1 + usize::from(*value >> 39 != 0),
        Value::F64(_) => 2,
        Value::Text(text) | Value::Json(text) => bytes_words(text.len(), max),
        Value::Short(text) => bytes_words(text.as_str().len(), max),
        Value::Nothing => 0,
        Value::Bytes(bytes) => bytes_words(bytes.len(), max),
        Value::I64s(numbers) => {
            let (kept, bytes) = fitting(numbers, max);
            1 + bytes.div_ceil(8) + usize::from(kept < numbers.len())
        }
    }
}

fn bytes_words(len: usize, max: usize) -> usize {
    1 + len.min(max).div_ceil(8) + usize::from(len > max)
}

#[inline(always)]
fn is_small(value: i64) -> bool {
    (value << 24) >> 24 == value
}

/// Writes `args` from the word `at` behind the lane's next head on.
#[inline(always)]
pub(super) fn write(lane: &Lane, mut at: usize, args: &[(NameId, Value<'_>)]) {
    let max = bytes_max(args);
    for (key, value) in args.iter().take(ARGS_MAX) {
        at = write_one(lane, at, key.0, value, max);
    }
    if args.len() > ARGS_MAX {
        leave_out(lane, at, args.len() - ARGS_MAX);
    }
}

/// Says that so many arguments were left out.
pub(super) fn leave_out(lane: &Lane, at: usize, count: usize) {
    lane.remark(Remark::ArgumentsLeftOut, count as u64);
    lane.payload(at, Word::new(Kind::ArgCut, 0, count as u64).0);
}

#[inline(always)]
fn write_one(lane: &Lane, at: usize, key: u32, value: &Value<'_>, max: usize) -> usize {
    let head = |kind, value| lane.payload(at, Word::new(kind, key, value).0);
    let wide = |kind, word| {
        lane.payload(at + 1, word);
        head(kind, 0);
        at + 2
    };
    match *value {
        Value::Bool(value) => head(Kind::ArgBool, u64::from(value)),
        Value::Name(name) => head(Kind::ArgName, u64::from(name.0)),
        Value::I64(value) if is_small(value) => head(Kind::ArgSmall, value as u64),
        Value::I64(value) => return wide(Kind::ArgI64, value as u64),
        Value::U64(value) if value >> 39 == 0 => head(Kind::ArgSmall, value),
        Value::U64(value) => return wide(Kind::ArgU64, value),
        Value::F64(value) => return wide(Kind::ArgF64, value.to_bits()),
        Value::Text(text) => return write_bytes(lane, at, Kind::ArgText, key, text.as_bytes(), max),
        Value::Short(text) => return write_bytes(lane, at, Kind::ArgText, key, text.as_str().as_bytes(), max),
        Value::Nothing => return at,
        Value::Json(text) => return write_bytes(lane, at, Kind::ArgJson, key, text.as_bytes(), max),
        Value::Bytes(bytes) => return write_bytes(lane, at, Kind::ArgBytes, key, bytes, max),
        Value::I64s(numbers) => return write_numbers(lane, at, key, numbers, max),
    }
    at + 1
}

fn write_bytes(lane: &Lane, at: usize, kind: Kind, key: u32, bytes: &[u8], max: usize) -> usize {
    let kept = &bytes[..bytes.len().min(max)];
    lane.payload(at, Word::new(kind, key, kept.len() as u64).0);
    let mut next = at + 1;
    for piece in kept.chunks(8) {
        let mut padded = [0; 8];
        padded[..piece.len()].copy_from_slice(piece);
        lane.payload(next, u64::from_le_bytes(padded));
        next += 1;
    }
    cut(lane, next, key, kept.len() < bytes.len(), bytes.len())
}

/// Says that the argument before was cut, if it was.
fn cut(lane: &Lane, at: usize, key: u32, was_cut: bool, true_len: usize) -> usize {
    if was_cut {
        lane.remark(Remark::ValuesCut, 1);
        lane.payload(at, Word::new(Kind::ArgCut, key, true_len as u64).0);
    }
    at + usize::from(was_cut)
}

fn varint_bytes(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

/// How many of `numbers` fit, and the bytes they take.
fn fitting(numbers: &[i64], max: usize) -> (usize, usize) {
    let mut bytes = 0;
    for (at, number) in numbers.iter().enumerate() {
        let more = varint_bytes(zigzag(*number));
        if bytes + more > max {
            return (at, bytes);
        }
        bytes += more;
    }
    (numbers.len(), bytes)
}

fn write_numbers(lane: &Lane, at: usize, key: u32, numbers: &[i64], max: usize) -> usize {
    let (kept, bytes) = fitting(numbers, max);
    lane.payload(at, Word::new(Kind::ArgI64s, key, bytes as u64).0);
    let (mut next, mut word, mut filled) = (at + 1, 0_u64, 0);
    let mut push = |byte: u64| {
        word |= byte << (8 * filled);
        filled += 1;
        if filled == 8 {
            lane.payload(next, word);
            (next, word, filled) = (next + 1, 0, 0);
        }
    };
    for number in &numbers[..kept] {
        let mut rest = zigzag(*number);
        while rest >= 0x80 {
            push((rest & 0x7f) | 0x80);
            rest >>= 7;
        }
        push(rest);
    }
    if filled > 0 {
        lane.payload(next, word);
        next += 1;
    }
    cut(lane, next, key, kept < numbers.len(), numbers.len())
}
