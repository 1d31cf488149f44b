//! Numbers in a row, which are written in any order.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::{Room, installed, read};

/// So many numbers of up to eight bytes each, on the heap or wherever the program has room.
pub struct Slots<T>(Place<T>);

enum Place<T> {
    Heap(Vec<T>),
    Room(Box<dyn Room>),
}

impl<T: Pod> Slots<T> {
    /// As many as `len`, all of them 0.
    pub fn zeroed(len: usize) -> Self {
        let room = installed().and_then(|scratch| scratch.room(len.checked_mul(size_of::<T>())?));
        // What is not as it should be is none.
        let is_right = |bytes: &[u8]| bytemuck::try_cast_slice::<u8, T>(bytes).is_ok_and(|slots| slots.len() == len);
        let room = room.filter(|room| is_right((**room).as_ref()));
        Self(room.map_or_else(|| Place::Heap(vec![T::zeroed(); len]), Place::Room))
    }

    /// Writes `numbers` to those from the one numbered `from` on.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn put(&mut self, from: usize, numbers: &[T]) {
        match &mut self.0 {
            Place::Heap(slots) => slots[from..from + numbers.len()].copy_from_slice(numbers),
            Place::Room(room) => room.put(from * size_of::<T>(), bytemuck::cast_slice(numbers)),
        }
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Place::Heap(Vec::new()))
    }
}

impl<T: Pod> Deref for Slots<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Heap(slots) => slots,
            Place::Room(room) => {
                read(0);
                bytemuck::cast_slice(room.as_ref().as_ref())
            }
        }
    }
}

impl<T: Pod> DerefMut for Slots<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Place::Heap(slots) => slots,
            Place::Room(room) => {
                read(0);
                bytemuck::cast_slice_mut(room.as_mut().as_mut())
            }
        }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Slots<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(to)
    }
}
