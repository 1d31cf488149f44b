//! Changes to a message of protobuf: fields get other numbers, types and values, come twice, go and move, at any depth, and all lengths around
//! them fit again.
//!
//! What is a message within a message is not told by the bytes. Whatever can be read as one to its end is taken for one; a text that happens
//! to be one is changed as if it were.

use super::pick;
use crate::Rng;

/// Messages within messages that are looked into.
const DEPTH_MAX: u32 = 12;

#[derive(Clone, Debug, PartialEq)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
    Fixed32([u8; 4]),
}

/// `bytes` with a change; none where they are no message.
pub(super) fn changed(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut message = message(bytes, 0)?;
    let chosen = rng.below(count(&message) as u64) as usize;
    let lent = self::message(other, 0).unwrap_or_default();
    change(&mut message, chosen, &lent, rng);
    let mut out = Vec::new();
    write(&message, &mut out);
    Some(out)
}

/// The fields of `bytes`, if they are one after the other to the end, and not none.
fn message(mut bytes: &[u8], depth: u32) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Fixed64(fixed(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (own, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                let within = if depth < DEPTH_MAX { message(own, depth + 1) } else { None };
                within.map_or_else(|| Value::Bytes(own.to_vec()), Value::Message)
            }
            5 => Value::Fixed32(fixed(&mut bytes)?),
            _ => return None,
        };
        fields.push(Field { number: tag >> 3, value });
    }
    (!fields.is_empty()).then_some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (own, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*own)
}

/// Fields at all depths.
fn count(fields: &[Field]) -> usize {
    let within = |field: &Field| if let Value::Message(within) = &field.value { count(within) } else { 0 };
    fields.iter().map(|field| 1 + within(field)).sum()
}

/// Changes the field that is number `chosen` in order of their tags.
fn change(fields: &mut Vec<Field>, mut chosen: usize, lent: &[Field], rng: &mut Rng) {
    for at in 0..fields.len() {
        if chosen == 0 {
            return change_at(fields, at, lent, rng);
        }
        chosen -= 1;
        if let Value::Message(within) = &mut fields[at].value {
            let many = count(within);
            if chosen < many {
                return change(within, chosen, lent, rng);
            }
            chosen -= many;
        }
    }
}

fn change_at(fields: &mut Vec<Field>, at: usize, lent: &[Field], rng: &mut Rng) {
    match rng.below(8) {
        0 => fields[at].number = rng.below(40),
        1 => fields[at].value = odd_value(rng),
        2 => {
            fields.remove(at);
        }
        3 => {
            let times = 1 << rng.below(7);
            let again = vec![fields[at].clone(); times];
            fields.splice(at..at, again);
        }
        4 => {
            let to = rng.below(fields.len() as u64) as usize;
            fields.swap(at, to);
        }
        5 => fields[at].value = pick(fields, rng).map_or(Value::Varint(0), |field| field.value.clone()),
        6 => fields.extend(pick(lent, rng).cloned()),
        _ => nudge(&mut fields[at].value, rng),
    }
}

/// A value that is the edge of something, of any type.
fn odd_value(rng: &mut Rng) -> Value {
    const NUMBERS: [u64; 8] = [0, 1, 127, 1 << 31, u32::MAX as u64, i64::MAX as u64, 1 << 63, u64::MAX];
    const TEXTS: [&[u8]; 6] = [b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[31m", b"/../"];
    match rng.below(4) {
        0 => Value::Varint(pick(&NUMBERS, rng).copied().unwrap_or(0)),
        1 => Value::Fixed64(pick(&NUMBERS, rng).copied().unwrap_or(0).to_le_bytes()),
        2 => Value::Fixed32((pick(&NUMBERS, rng).copied().unwrap_or(0) as u32).to_le_bytes()),
        _ => Value::Bytes(pick(&TEXTS, rng).map_or_else(Vec::new, |text| text.repeat(1 << rng.below(8)))),
    }
}

/// The same value, a little off.
fn nudge(value: &mut Value, rng: &mut Rng) {
    let by = rng.below(512);
    match value {
        Value::Varint(number) => *number = number.wrapping_add(by).wrapping_sub(256),
        Value::Fixed64(bytes) => *bytes = u64::from_le_bytes(*bytes).wrapping_add(by).wrapping_sub(256).to_le_bytes(),
        Value::Fixed32(bytes) => *bytes = u32::from_le_bytes(*bytes).wrapping_add(by as u32).to_le_bytes(),
        Value::Bytes(bytes) => *bytes = super::plain::changed(std::mem::take(bytes), b"", rng),
        Value::Message(fields) => {
            let middle = by as usize % fields.len().max(1);
            fields.rotate_left(middle);
        }
    }
}

fn write(fields: &[Field], out: &mut Vec<u8>) {
    for Field { number, value } in fields {
        let kind = match value {
            Value::Varint(_) => 0,
            Value::Fixed64(_) => 1,
            Value::Bytes(_) | Value::Message(_) => 2,
            Value::Fixed32(_) => 5,
        };
        write_varint(number << 3 | kind, out);
        match value {
            Value::Varint(number) => write_varint(*number, out),
            Value::Fixed64(bytes) => out.extend(bytes),
            Value::Fixed32(bytes) => out.extend(bytes),
            Value::Bytes(bytes) => write_bytes(bytes, out),
            Value::Message(fields) => {
                let mut within = Vec::new();
                write(fields, &mut within);
                write_bytes(&within, out);
            }
        }
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u64, value: Value) -> Field {
        Field { number, value }
    }

    fn seed() -> Vec<Field> {
        let within =
            vec![field(1, Value::Varint(300)), field(2, Value::Bytes(b"name".to_vec())), field(3, Value::Fixed64([1; 8]))];
        let deep = vec![field(9, Value::Message(within.clone())), field(4, Value::Fixed32([7; 4]))];
        vec![field(1, Value::Message(within)), field(2, Value::Message(deep)), field(2, Value::Varint(u64::MAX))]
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut bytes = Vec::new();
        write(&seed(), &mut bytes);
        assert_eq!(message(&bytes, 0), Some(seed()));
        assert_eq!(count(&seed()), 11);
    }

    #[test]
    fn what_was_changed_is_a_message_still() {
        let (mut bytes, mut rng) = (Vec::new(), Rng::new(7));
        write(&seed(), &mut bytes);
        let mut all = std::collections::HashSet::new();
        for _ in 0..2_000 {
            let changed = changed(&bytes, &bytes, &mut rng).expect("it is a message");
            assert!(changed.is_empty() || message(&changed, 0).is_some());
            all.insert(changed);
        }
        assert!(all.len() > 500, "{}", all.len());
        assert_eq!(changed(b"\x07 is no tag", &bytes, &mut rng), None);
    }
}
