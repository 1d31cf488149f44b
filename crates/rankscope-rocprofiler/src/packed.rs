//! Records as they are copied out of rocprofiler's buffers, which are its own again when a callback returns: category, kind, length, the
//! record, one behind the other in a buffer of the pool.
#![expect(unsafe_code, reason = "what lies in buffers is read and written where it lies")]

use rankscope_devices::bytes_at;

use crate::abi::{Header, TRACING};

/// What lies in front of each.
pub(crate) const FRONT_BYTES: usize = 16;

/// The longest that is read of is shorter; of longer ones the rest is left out.
pub(crate) const RECORD_MAX: usize = 256;

/// How much of a record is to be kept. Of other categories than tracing not even the length is known.
///
/// # Safety
/// It is one of rocprofiler's.
pub(crate) unsafe fn kept_bytes(header: &Header) -> usize {
    if header.category != TRACING || header.payload.is_null() {
        return 0;
    }
    // SAFETY: records of this category begin with their length.
    let bytes = unsafe { header.payload.cast::<u64>().read_unaligned() };
    usize::try_from(bytes).map_or(RECORD_MAX, |bytes| bytes.min(RECORD_MAX))
}

/// Bytes that a record of so many takes, with what lies in front of it.
pub(crate) fn packed_bytes(kept: usize) -> usize {
    FRONT_BYTES + kept.next_multiple_of(8)
}

/// Puts a record at `to`.
///
/// # Safety
/// There are [`packed_bytes`] of room, and the record has so many bytes.
pub(crate) unsafe fn pack(to: *mut u8, header: &Header, kept: usize) {
    let front = [header.category, header.kind, u32::try_from(kept).unwrap_or(0), 0];
    // SAFETY: the caller says so; buffers do not overlap with rocprofiler's.
    unsafe {
        to.cast::<[u32; 4]>().write_unaligned(front);
        if kept > 0 {
            header.payload.copy_to_nonoverlapping(to.add(FRONT_BYTES), kept);
        }
    }
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed<'b> {
    pub(crate) category: u32,
    pub(crate) kind: u32,
    pub(crate) record: &'b [u8],
}

/// The records of a buffer.
pub(crate) fn unpacked(mut buffer: &[u8]) -> impl Iterator<Item = Packed<'_>> {
    std::iter::from_fn(move || {
        let word = |at| bytes_at(buffer, at).map(u32::from_ne_bytes);
        let (category, kind, kept) = (word(0)?, word(4)?, word(8)? as usize);
        let record = buffer.get(FRONT_BYTES..FRONT_BYTES.checked_add(kept)?)?;
        buffer = buffer.get(packed_bytes(kept)..).unwrap_or_default();
        Some(Packed { category, kind, record })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(records in prop::collection::vec((any::<u32>(), 16_usize..400), 0..20)) {
            let (mut memory, mut expected) = (vec![0_u64; 20 * 40], Vec::new());
            let mut used = 0;
            for (at, (kind, bytes)) in records.iter().enumerate() {
                let mut record = vec![at as u64 + 1; bytes.div_ceil(8)];
                record[0] = *bytes as u64;
                let header = Header { category: TRACING, kind: *kind, payload: record.as_ptr().cast() };
                // SAFETY: the record is as long as it says, and there is room for twenty.
                unsafe {
                    let kept = kept_bytes(&header);
                    prop_assert_eq!(kept, (*bytes).min(RECORD_MAX));
                    pack(memory.as_mut_ptr().cast::<u8>().add(used), &header, kept);
                    used += packed_bytes(kept);
                    expected.push((*kind, std::slice::from_raw_parts(header.payload, kept).to_vec()));
                }
            }
            // SAFETY: so much was written.
            let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr().cast::<u8>(), used) };
            let got: Vec<(u32, Vec<u8>)> = unpacked(bytes).map(|packed| (packed.kind, packed.record.to_vec())).collect();
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(unpacked(&bytes).count() <= bytes.len() / FRONT_BYTES);
        }
    }

    #[test]
    fn of_a_record_that_is_no_tracing_nothing_is_read() {
        let header = Header { category: 3, kind: 1, payload: 8 as *const u8 };
        // SAFETY: the address is not looked at.
        assert_eq!(unsafe { kept_bytes(&header) }, 0);
    }
}
