//! Changes to words of eight bytes: whole words come, go, move and become their neighbours, so that what stands behind them is still read as
//! words.

use super::{pick, stretch};
use crate::Rng;

const WORD: usize = 8;

/// Words that are the edges of something.
const EDGES: [u64; 8] = [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, u32::MAX as u64, 1 << 32, 0x8080_8080_8080_8080];

/// `bytes` with a change; none of less than a word.
pub(super) fn changed(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut words = words(bytes);
    if words.is_empty() {
        return None;
    }
    let at = rng.below(words.len() as u64) as usize;
    match rng.below(8) {
        0 => words[at] = words[at].wrapping_add(rng.below(512)).wrapping_sub(256),
        1 => words[at] ^= 1 << rng.below(64),
        2 => words[at] = *pick(&EDGES, rng)?,
        3 => words[at] = *pick(&words, rng)?,
        // The lowest bits say what a word is.
        4 => words[at] = words[at] & !0xff | rng.below(256),
        5 => {
            let again = words[stretch(words.len(), rng)].to_vec();
            words.splice(at..at, again);
        }
        6 => {
            words.drain(stretch(words.len(), rng));
        }
        _ => {
            let lent = self::words(other);
            words.splice(at..at, lent[stretch(lent.len(), rng)].iter().copied());
        }
    }
    let rest = &bytes[bytes.len() / WORD * WORD..];
    Some(words.iter().flat_map(|word| word.to_le_bytes()).chain(rest.iter().copied()).collect())
}

/// All whole words, and none of what is left.
fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let mut rng = Rng::new(3);
        let seed: Vec<u8> = (0..100).collect();
        for _ in 0..1_000 {
            let changed = changed(&seed, &seed, &mut rng).unwrap();
            assert_eq!(changed.len() % WORD, seed.len() % WORD);
            assert!(changed.ends_with(&seed[96..]), "what is left stays");
        }
        assert_eq!(changed(b"seven..", b"", &mut rng), None);
    }
}
