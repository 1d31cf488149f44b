//! Which of the last packets of a peer have been seen.
//!
//! A bitmap behind the newest number (as IPsec's, RFC 4303 section 3.4.3): what is older than the bitmap may have been seen, so
//! it is taken for seen.

/// The last 128 numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// One more than the newest number.
    next: u64,
    /// Bit `i` is number `next - 1 - i`.
    bits: u128,
}

/// What a packet's number says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Newer than all before it.
    Newest,
    /// Overtaken by a newer one.
    Reordered,
    /// Seen before.
    Duplicate,
    /// So old that nobody knows.
    TooOld,
}

impl Seen {
    /// Notes `number`, once.
    pub(super) fn note(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            let ahead = number - self.next + 1;
            self.bits = if ahead < u64::from(u128::BITS) { self.bits << ahead | 1 } else { 1 };
            self.next = number.saturating_add(1);
            return Arrival::Newest;
        }
        let behind = self.next - 1 - number;
        if behind >= u64::from(u128::BITS) {
            return Arrival::TooOld;
        }
        if self.bits & 1 << behind != 0 {
            return Arrival::Duplicate;
        }
        self.bits |= 1 << behind;
        Arrival::Reordered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_count_once() {
        let mut seen = Seen::default();
        let numbers = [5, 5, 4, 200, 5, 199, 199, 73, 72];
        let got = numbers.map(|number| seen.note(number));
        use Arrival::{Duplicate, Newest, Reordered, TooOld};
        assert_eq!(got, [Newest, Duplicate, Reordered, Newest, TooOld, Reordered, Duplicate, Reordered, TooOld]);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(numbers in prop::collection::vec(0u64..400, 0..300)) {
            let (mut seen, mut all) = (Seen::default(), BTreeSet::new());
            for number in numbers {
                let newest = all.last().copied();
                let expected = match newest {
                    Some(newest) if number + 128 <= newest => Arrival::TooOld,
                    _ if all.contains(&number) => Arrival::Duplicate,
                    Some(newest) if number < newest => Arrival::Reordered,
                    _ => Arrival::Newest,
                };
                prop_assert_eq!(seen.note(number), expected);
                all.insert(number);
            }
        }
    }
}
