//! Structures that begin with their size, in and out. One that is larger than ours is from a later version: of it we know the
//! beginning. One that is smaller is from an earlier version: what it lacks is zero.

use std::mem::MaybeUninit;
use std::ptr;

use crate::status::Error;

/// No structure will ever have more bytes: a size beyond was never set.
const MOST: u32 = 1 << 16;

/// A structure of C, read; what it lacks is zero.
///
/// # Safety
/// `from` is null or points to a `u32` that says how many bytes follow it and are there; zeros are a `T`, and so is whatever C
/// puts there.
pub(crate) unsafe fn sized<T: Copy>(from: *const T, structure: &'static str, least: u32) -> Result<T, Error> {
    if from.is_null() || !from.is_aligned() {
        return Err(Error::Null { argument: structure });
    }
    // SAFETY: it begins with its size.
    let found = unsafe { from.cast::<u32>().read() };
    if found < least || found > MOST {
        return Err(Error::StructSize { structure, found, least });
    }
    let mut read = MaybeUninit::<T>::zeroed();
    let bytes = (found as usize).min(size_of::<T>());
    // SAFETY: both have as many bytes, and do not overlap.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), read.as_mut_ptr().cast::<u8>(), bytes) };
    // SAFETY: the caller says that zeros, and what C puts there, are one.
    Ok(unsafe { read.assume_init() })
}

/// Fills a structure of C as far as it goes, and says in its `struct_size` how far that was. What it has beyond ours becomes zero.
///
/// # Safety
/// `to` is null or points to a `u32` that says how many bytes there are and may be written; `from` begins with such a one.
pub(crate) unsafe fn fill<T: Copy>(to: *mut T, from: &T, structure: &'static str, least: u32) -> Result<(), Error> {
    if to.is_null() || !to.is_aligned() {
        return Err(Error::Null { argument: structure });
    }
    // SAFETY: it begins with its size.
    let found = unsafe { to.cast::<u32>().read() };
    if found < least || found > MOST {
        return Err(Error::StructSize { structure, found, least });
    }
    let bytes = (found as usize).min(size_of::<T>());
    // SAFETY: the caller says that there are `found` bytes.
    unsafe {
        ptr::write_bytes(to.cast::<u8>(), 0, found as usize);
        ptr::copy_nonoverlapping(ptr::from_ref(from).cast::<u8>(), to.cast::<u8>(), bytes);
        to.cast::<u32>().write(bytes as u32);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[repr(C)]
    struct Two {
        struct_size: u32,
        first: u32,
        second: u64,
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[repr(C)]
    struct Later {
        known: Two,
        third: u64,
    }

    #[test]
    fn an_earlier_structure_has_zeros_where_it_ends() {
        let earlier = Two { struct_size: 8, first: 7, second: 9 };
        // SAFETY: it has more bytes than it says.
        let read = unsafe { sized(&raw const earlier, "two", 8) };
        assert_eq!(read.expect("eight bytes are enough"), Two { struct_size: 8, first: 7, second: 0 });
    }

    #[test]
    fn a_later_structure_is_read_and_filled_as_far_as_it_is_known() {
        let mut later = Later { known: Two { struct_size: 24, first: 7, second: 9 }, third: 11 };
        // SAFETY: it has 24 bytes, and begins as ours does.
        unsafe {
            assert_eq!(sized((&raw const later).cast::<Two>(), "two", 8).expect("larger"), later.known);
            let ours = Two { struct_size: 16, first: 1, second: 2 };
            fill((&raw mut later).cast::<Two>(), &ours, "two", 8).expect("larger");
        }
        assert_eq!(later, Later { known: Two { struct_size: 16, first: 1, second: 2 }, third: 0 });
    }

    #[test]
    fn a_size_that_never_was_is_refused() {
        let mut empty = Two::default();
        // SAFETY: it has more bytes than it says, and null may be passed.
        unsafe {
            let refused = sized(&raw const empty, "two", 8);
            assert!(matches!(refused, Err(Error::StructSize { found: 0, least: 8, .. })));
            empty.struct_size = u32::MAX;
            assert!(sized(&raw const empty, "two", 8).is_err());
            assert!(fill(&raw mut empty, &Two::default(), "two", 8).is_err());
            assert!(sized(ptr::null::<Two>(), "two", 8).is_err());
        }
    }
}
