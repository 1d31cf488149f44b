//! Who came when to a collective, first to come first.
//!
//! A job has as many of these as rows, so a rank and how long it waited take six bytes where ranks are fewer than 2¹⁶ and nobody waited for
//! more than four seconds, and twelve in a collective that is otherwise.

/// The ranks that came to a collective, first to come first, and how long each waited for the last.
#[derive(Clone, PartialEq, Eq)]
pub struct Order(Kept);

#[derive(Clone, PartialEq, Eq)]
enum Kept {
    Short(Box<[Short]>),
    Long(Box<[Long]>),
}

/// A rank, and the lower and upper half of its wait: as two of them they need no room between.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short {
    rank: u16,
    wait_ns: [u16; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Long {
    rank: u32,
    /// Likewise.
    wait_ns: [u32; 2],
}

impl Short {
    fn of(rank: u32, wait_ns: i64) -> Option<Self> {
        let wait_ns = u32::try_from(wait_ns).ok()?;
        Some(Self { rank: u16::try_from(rank).ok()?, wait_ns: [wait_ns as u16, (wait_ns >> 16) as u16] })
    }

    #[inline]
    fn told(self) -> (usize, i64) {
        (self.rank.into(), i64::from(u32::from(self.wait_ns[0]) | u32::from(self.wait_ns[1]) << 16))
    }
}

impl Long {
    fn of(rank: u32, wait_ns: i64) -> Self {
        Self { rank, wait_ns: [wait_ns as u32, (wait_ns >> 32) as u32] }
    }

    #[inline]
    fn told(self) -> (usize, i64) {
        let wait_ns = u64::from(self.wait_ns[0]) | u64::from(self.wait_ns[1]) << 32;
        (self.rank as usize, wait_ns.cast_signed())
    }
}

impl Order {
    /// Of indices of ranks with their waits, first to come first.
    pub fn of(comings: impl ExactSizeIterator<Item = (u32, i64)> + Clone) -> Self {
        let short: Option<Box<[Short]>> = comings.clone().map(|(rank, wait_ns)| Short::of(rank, wait_ns)).collect();
        let long = || comings.map(|(rank, wait_ns)| Long::of(rank, wait_ns)).collect();
        Self(short.map_or_else(|| Kept::Long(long()), Kept::Short))
    }

    /// How many came.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Short(list) => list.len(),
            Kept::Long(list) => list.len(),
        }
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
        match &self.0 {
            Kept::Short(list) => list[place].told(),
            Kept::Long(list) => list[place].told(),
        }
    }

    /// How long the one that came at `place` waited; nothing where there are not so many.
    pub fn wait_ns(&self, place: usize) -> i64 {
        if place < self.len() { self.at(place).1 } else { 0 }
    }

    /// All of them: the index of each rank and how long it waited.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, i64)> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|place| self.at(place))
    }

    /// The index of the rank that came last.
    pub fn last(&self) -> Option<usize> {
        self.iter().next_back().map(|(rank, _)| rank)
    }

    /// How many from the front waited for longer than `ns`.
    pub fn longer_than(&self, ns: i64) -> usize {
        match &self.0 {
            Kept::Short(list) => list.partition_point(|one| one.told().1 > ns),
            Kept::Long(list) => list.partition_point(|one| one.told().1 > ns),
        }
    }
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
            prop_assert_eq!(order.last(), comings.last().map(|(rank, _)| *rank as usize));
            for ns in comings.iter().map(|(_, wait_ns)| *wait_ns).chain([0]) {
                prop_assert_eq!(order.longer_than(ns), comings.iter().filter(|(_, wait_ns)| *wait_ns > ns).count());
            }
        }
    }

    #[test]
    fn six_bytes_are_enough_where_they_are() {
        assert_eq!((size_of::<Short>(), size_of::<Long>(), size_of::<Order>()), (6, 12, 24));
        assert!(matches!(Order::of([(65_535, 4_294_967_295)].into_iter()).0, Kept::Short(_)));
        assert!(matches!(Order::of([(65_536, 0)].into_iter()).0, Kept::Long(_)));
        assert!(matches!(Order::of([(0, 4_294_967_296)].into_iter()).0, Kept::Long(_)));
    }
}
