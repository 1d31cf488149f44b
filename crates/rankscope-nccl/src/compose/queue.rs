//! [`Queue`]: values in the order in which they came, of which any may go, kept in one piece of memory.
//!
//! A value has a place, and places that are free are used again, so that the memory is that of the most there ever were at once. What comes
//! before and behind is known by place. A tree by number would have its nodes half empty, as numbers only ever grow.

/// Where a value is, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// No place.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    /// None where the place is free; then `next` is the next free one.
    value: Option<T>,
    before: u32,
    next: u32,
}

/// The values.
#[derive(Debug)]
pub(super) struct Queue<T> {
    slots: Vec<Slot<T>>,
    first: u32,
    last: u32,
    free: u32,
    length: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), first: NONE, last: NONE, free: NONE, length: 0 }
    }
}

impl<T> Queue<T> {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The oldest.
    pub(super) fn first(&self) -> Option<Place> {
        (self.first != NONE).then_some(Place(self.first))
    }

    /// The one that came after that at `place`.
    pub(super) fn behind(&self, place: Place) -> Option<Place> {
        let slot = self.slots.get(place.0 as usize)?;
        (slot.value.is_some() && slot.next != NONE).then_some(Place(slot.next))
    }

    pub(super) fn get(&self, place: Place) -> Option<&T> {
        self.slots.get(place.0 as usize)?.value.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        self.slots.get_mut(place.0 as usize)?.value.as_mut()
    }

    /// Adds a value behind all others; none where there are more than a place can tell apart.
    pub(super) fn push(&mut self, value: T) -> Option<Place> {
        let slot = Slot { value: Some(value), before: self.last, next: NONE };
        let at = if self.free == NONE {
            let at = u32::try_from(self.slots.len()).ok().filter(|at| *at != NONE)?;
            self.slots.push(slot);
            at
        } else {
            let at = self.free;
            let replaced = std::mem::replace(&mut self.slots[at as usize], slot);
            self.free = replaced.next;
            at
        };
        match self.slots.get_mut(self.last as usize) {
            Some(last) => last.next = at,
            None => self.first = at,
        }
        self.last = at;
        self.length += 1;
        Some(Place(at))
    }

    /// Takes a value out.
    pub(super) fn take(&mut self, place: Place) -> Option<T> {
        let free = self.free;
        let slot = self.slots.get_mut(place.0 as usize)?;
        let value = slot.value.take()?;
        let (before, next) = (slot.before, slot.next);
        slot.next = free;
        self.free = place.0;
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.next = next,
            None => self.first = next,
        }
        match self.slots.get_mut(next as usize) {
            Some(slot) => slot.before = before,
            None => self.last = before,
        }
        self.length -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It is a list from which anything may go, and has no more places than there ever were values at once.
        #[test]
        fn order_is_that_of_coming_whoever_goes(steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..200)) {
            let (mut queue, mut list, mut most) = (Queue::default(), Vec::new(), 0);
            for (number, (comes, which)) in steps.into_iter().enumerate() {
                if comes || list.is_empty() {
                    list.push((queue.push(number).unwrap(), number));
                } else {
                    let (place, value) = list.remove(which.index(list.len()));
                    prop_assert_eq!(queue.take(place), Some(value));
                    prop_assert_eq!((queue.take(place), queue.get(place)), (None, None));
                }
                most = most.max(list.len());
                let places = std::iter::successors(queue.first(), |place| queue.behind(*place));
                let seen: Vec<(Place, usize)> = places.map(|place| (place, *queue.get(place).unwrap())).collect();
                prop_assert_eq!(&seen, &list);
                prop_assert_eq!(queue.len(), list.len());
            }
            prop_assert_eq!(queue.slots.len(), most);
        }
    }
}
