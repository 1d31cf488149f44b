//! Seeded damage to good inputs, for fuzzing: of bytes as they lie there, and of what they say.
//!
//! A flipped byte rarely gets past the first check of a format. So an input of a known [`Shape`] is as often changed within it: values of
//! other types, members twice or gone, keys of one object in another, lengths that fit again. What cannot be read as its shape is changed as
//! bytes. The same numbers give the same input.

mod json;
mod plain;
mod protobuf;
mod words;

use crate::Rng;

/// What an input is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing that is known here.
    Bytes,
    /// JSON, or text with JSON in it.
    Json,
    /// A message of protobuf.
    Protobuf,
    /// Words of eight bytes, as live recordings are.
    Words,
}

/// One to four changes to a copy of `seed`, of this `shape`; `other` lends pieces to put in. No more than a megabyte.
pub fn mutated(shape: Shape, seed: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=rng.below(4) {
        let as_shaped = match shape {
            _ if rng.below(2) == 0 => None,
            Shape::Bytes => None,
            Shape::Json => json::changed(&bytes, other, rng),
            Shape::Protobuf => protobuf::changed(&bytes, other, rng),
            Shape::Words => words::changed(&bytes, other, rng),
        };
        bytes = as_shaped.unwrap_or_else(|| plain::changed(bytes, other, rng));
        bytes.truncate(LONGEST);
    }
    bytes
}

/// The same for a fuzzer that has an input of `size` bytes in front of `room`, and wants it changed there. Returns its new size.
pub fn mutated_in_place(shape: Shape, room: &mut [u8], size: usize, seed: u32) -> usize {
    let seed_bytes = room[..size.min(room.len())].to_vec();
    let bytes = mutated(shape, &seed_bytes, &seed_bytes, &mut Rng::new(seed.into()));
    let size = bytes.len().min(room.len());
    room[..size].copy_from_slice(&bytes[..size]);
    size
}

/// Keeps repeated duplication from growing without end.
const LONGEST: usize = 1 << 20;

/// One of `all`.
fn pick<'a, T>(all: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    all.get(rng.below(all.len().max(1) as u64) as usize)
}

/// Two places of a list of `length`, in order, more often near each other than far apart.
fn stretch(length: usize, rng: &mut Rng) -> std::ops::Range<usize> {
    let start = rng.below(length as u64 + 1) as usize;
    let longest = 1 << rng.below(14);
    start..(start + rng.below(longest) as usize).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 4] = [Shape::Bytes, Shape::Json, Shape::Protobuf, Shape::Words];

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let (seed, other) = (b"{\"a\": [1, 2, 3]}".repeat(20), b"other".repeat(30));
        for shape in SHAPES {
            let run = || {
                let mut rng = Rng::new(9);
                (0..500).map(|_| mutated(shape, &seed, &other, &mut rng)).collect::<Vec<_>>()
            };
            assert_eq!(run(), run());
            assert!(run().iter().filter(|bytes| **bytes != seed).count() > 450, "{shape:?}");
        }
    }

    #[test]
    fn a_fuzzer_gets_no_more_than_it_has_room_for() {
        let mut room = [b'1'; 40];
        for seed in 0..500 {
            assert!((0..=40).contains(&mutated_in_place(Shape::Json, &mut room, 12, seed)));
        }
    }

    #[test]
    fn nothing_is_too_small_to_mutate_or_grows_too_large() {
        for shape in SHAPES {
            let mut rng = Rng::new(1);
            for _ in 0..2_000 {
                assert!(mutated(shape, b"", b"", &mut rng).len() <= LONGEST);
            }
            let mut bytes = vec![b'7'; LONGEST];
            for _ in 0..20 {
                bytes = mutated(shape, &bytes, b"x", &mut rng);
                assert!(bytes.len() <= LONGEST);
            }
        }
    }
}
