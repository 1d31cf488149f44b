//! Who came when to a collective, first to come first.
//!
//! A job has as many of these as rows, so a rank and how long it waited take six bytes where ranks are fewer than 2¹⁶ and nobody waited for
//! more than four seconds, and twelve in a collective that is otherwise. They are kept where the program wants them, those of collectives
//! one after the other together.

use rankscope_scratch::Kept;

/// The ranks that came to a collective, first to come first, and how long each waited for the last.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Order(Kept);

/// Bytes of a rank and its wait: two and four, or four and eight.
const SHORT: usize = 6;
const LONG: usize = 12;

/// Behind comings of [`LONG`] there is one byte, of which their number is told from that of short ones.
const MARK: usize = 1;

/// Orders of collectives one after the other, until they are kept together.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Orders {
    /// Adds one of indices of ranks with their waits, first to come first.
    pub(crate) fn push(&mut self, comings: impl ExactSizeIterator<Item = (u32, i64)> + Clone) {
        let from = self.bytes.len();
        self.bytes.resize(from + comings.len() * SHORT, 0);
        let mut are_short = true;
        for (to, (rank, wait_ns)) in self.bytes[from..].as_chunks_mut().0.iter_mut().zip(comings.clone()) {
            are_short &= u16::try_from(rank).is_ok() & u32::try_from(wait_ns).is_ok();
            let ([a, b, ..], [c, d, e, f, ..]) = (rank.to_le_bytes(), wait_ns.to_le_bytes());
            *to = [a, b, c, d, e, f];
        }
        if !are_short {
            self.bytes.truncate(from);
            for (rank, wait_ns) in comings {
                self.bytes.extend(rank.to_le_bytes());
                self.bytes.extend(wait_ns.to_le_bytes());
            }
            self.bytes.extend([0; MARK]);
        }
        self.ends.push(self.bytes.len());
    }

    /// All of them, in order; afterwards there is none.
    pub(crate) fn keep(&mut self) -> impl Iterator<Item = Order> + use<> {
        let bytes = Kept::from(std::mem::take(&mut self.bytes));
        let mut from = 0;
        std::mem::take(&mut self.ends).into_iter().map(move |end| Order(bytes.slice(std::mem::replace(&mut from, end)..end)))
    }
}

impl Order {
    /// Of indices of ranks with their waits, first to come first.
    pub fn of(comings: impl ExactSizeIterator<Item = (u32, i64)> + Clone) -> Self {
        let mut orders = Orders::default();
        orders.push(comings);
        Self(Kept::from(orders.bytes))
    }

    /// The comings, where they are short; else those that are long.
    #[inline]
    fn told(&self) -> Result<&[[u8; SHORT]], &[[u8; LONG]]> {
        match self.0.as_chunks() {
            (short, []) => Ok(short),
            _ => Err(self.0.as_chunks().0),
        }
    }

    /// How many came.
    #[inline]
    pub fn len(&self) -> usize {
        self.told().map_or_else(<[_]>::len, <[_]>::len)
    }

    /// Whether nobody did.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the rank that came at `place`, and how long it waited, in nanoseconds.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn at(&self, place: usize) -> (usize, i64) {
        match self.told() {
            Ok(short) => of_short(&short[place]),
            Err(long) => of_long(&long[place]),
        }
    }

    /// How long the one that came at `place` waited; nothing where there are not so many.
    pub fn wait_ns(&self, place: usize) -> i64 {
        if place < self.len() { self.at(place).1 } else { 0 }
    }

    /// All of them: the index of each rank and how long it waited.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, i64)> + DoubleEndedIterator + Clone {
        rankscope_scratch::read(self.0.len());
        let told = self.told();
        (0..self.len()).map(move |place| match told {
            Ok(short) => of_short(&short[place]),
            Err(long) => of_long(&long[place]),
        })
    }

    /// The index of the rank that came last.
    pub fn last(&self) -> Option<usize> {
        self.iter().next_back().map(|(rank, _)| rank)
    }

    /// How many from the front waited for longer than `ns`.
    pub fn longer_than(&self, ns: i64) -> usize {
        match self.told() {
            Ok(short) => short.partition_point(|one| of_short(one).1 > ns),
            Err(long) => long.partition_point(|one| of_long(one).1 > ns),
        }
    }
}

#[inline]
fn of_short([a, b, c, d, e, f]: &[u8; SHORT]) -> (usize, i64) {
    (u16::from_le_bytes([*a, *b]).into(), u32::from_le_bytes([*c, *d, *e, *f]).into())
}

#[inline]
fn of_long([a, b, c, d, wait_ns @ ..]: &[u8; LONG]) -> (usize, i64) {
    (u32::from_le_bytes([*a, *b, *c, *d]) as usize, i64::from_le_bytes(*wait_ns))
}

impl std::fmt::Debug for Order {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn comings_come_back_however_far_apart(
            comings in prop::collection::vec(
                (prop_oneof![9 => 0u32..70, 1 => any::<u32>()], prop_oneof![9 => 0i64..90_000, 1 => any::<i64>()]), 0..20
            )
        ) {
            let mut comings = comings;
            comings.sort_by_key(|(_, wait_ns)| std::cmp::Reverse(*wait_ns));
            let order = Order::of(comings.iter().copied());
            let told: Vec<(u32, i64)> = order.iter().map(|(rank, wait_ns)| (rank as u32, wait_ns)).collect();
            prop_assert_eq!(&told, &comings);
            let mut orders = Orders::default();
            [&comings[..], &[], &comings[..comings.len() / 2]].iter().for_each(|own| orders.push(own.iter().copied()));
            let lengths: Vec<usize> = orders.keep().map(|order| order.len()).collect();
            prop_assert_eq!(lengths, [comings.len(), 0, comings.len() / 2]);
            prop_assert_eq!(order.last(), comings.last().map(|(rank, _)| *rank as usize));
            for ns in comings.iter().map(|(_, wait_ns)| *wait_ns).chain([0]) {
                prop_assert_eq!(order.longer_than(ns), comings.iter().filter(|(_, wait_ns)| *wait_ns > ns).count());
            }
        }
    }

    #[test]
    fn six_bytes_are_enough_where_they_are() {
        let bytes = |comings: &[(u32, i64)]| Order::of(comings.iter().copied()).0.len();
        assert_eq!(bytes(&[(65_535, 4_294_967_295), (0, 0)]), 2 * SHORT);
        assert_eq!((bytes(&[(65_536, 0)]), bytes(&[(0, 4_294_967_296)])), (LONG + MARK, LONG + MARK));
        assert_eq!(size_of::<Order>(), 32);
    }
}
