//! Records as a profiler lays them out: for each, which fields are read and where they lie.
//!
//! Structures of profilers grow at their ends from version to version, so that a table is good for all of them: reading checks that the
//! record is long enough for the fields, and what later versions added is a table of its own, which a shorter record does not have.
//! No table says anything about what is not read.

/// A field that is read: its name, where it begins and how many bytes it has.
pub type Field = (&'static str, usize, usize);

/// So many bytes from there; none where a record is too short.
pub fn bytes_at<const BYTES: usize>(record: &[u8], at: usize) -> Option<[u8; BYTES]> {
    record.get(at..)?.first_chunk().copied()
}

/// A stamp of a record in nanoseconds; one beyond what the recorder can hold is none, which is zero.
pub fn stamp_ns(stamp: u64) -> i64 {
    i64::try_from(stamp).unwrap_or(0)
}

/// Declares records: a struct of the fields, how they are read out of bytes, and `layouts`, which has every table, for tests.
///
/// ```
/// rankscope_devices::records! {
///     /// How every record begins.
///     RecordKind { kind: u32 = 0 }
/// }
/// assert_eq!(RecordKind::read(&7_u32.to_ne_bytes()), Some(RecordKind { kind: 7 }));
/// assert_eq!(RecordKind::read(&[0; 3]), None);
/// assert_eq!(layouts(), [("RecordKind", vec![("kind", 0, 4)])]);
/// ```
#[macro_export]
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $at:literal),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)+
            }

            impl $name {
                /// Out of a record; none if it is too short.
                pub(crate) fn read(record: &[u8]) -> Option<Self> {
                    Some(Self { $($field: <$type>::from_ne_bytes($crate::bytes_at(record, $at)?),)+ })
                }
            }
        )+

        /// Every table, for tests.
        #[doc(hidden)]
        pub fn layouts() -> Vec<(&'static str, Vec<$crate::Field>)> {
            vec![$((stringify!($name), vec![$((stringify!($field), $at, size_of::<$type>()),)+]),)+]
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_a_record() {
        let mut record = [0_u8; 112];
        record[104..].copy_from_slice(&77_u64.to_ne_bytes());
        assert_eq!(bytes_at(&record, 104), Some(77_u64.to_ne_bytes()));
        assert_eq!(bytes_at::<8>(&record[..111], 104), None);
        assert_eq!(bytes_at::<4>(&[], 0), None);
        assert_eq!(bytes_at::<1>(&record, usize::MAX), None);
    }
}
