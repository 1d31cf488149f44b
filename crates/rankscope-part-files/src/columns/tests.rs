//! Columns from bytes that no writer made.

use proptest::prelude::*;

use super::{Columns, ColumnsWriter};
use crate::error::{Codec, ColumnFault, Error};
use crate::frame::Kind;

const KIND: Kind = Kind(7);

/// Reads the column in `bytes` as whatever it says it is, and writes what came out.
fn again(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut columns = Columns::new(KIND, bytes);
    let mut writer = ColumnsWriter::default();
    match bytes.first().copied().unwrap_or(0) {
        codec if codec == Codec::Unsigned as u8 => writer.unsigned(&columns.unsigned()?),
        codec if codec == Codec::Signed as u8 => writer.signed(&columns.signed()?),
        codec if codec == Codec::Sorted as u8 => writer.sorted(&columns.sorted()?),
        codec if codec == Codec::Intervals as u8 => writer.intervals(&columns.intervals()?),
        codec if codec == Codec::Enums as u8 => writer.enums(columns.enums(9)?),
        codec if codec == Codec::Bits as u8 => writer.bits(&columns.bits()?),
        codec if codec == Codec::Strings as u8 => writer.strings(columns.strings()?),
        _ => writer.wide(&columns.wide()?),
    }
    columns.end()?;
    Ok(writer.into_bytes().expect("what was read is in order"))
}

fn fault(bytes: &[u8]) -> ColumnFault {
    match again(bytes) {
        Err(Error::Column { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn what_can_be_read_has_one_spelling(
        codec in 1u8..9, rows in 0u8..40, body in prop::collection::vec(prop_oneof![9 => 0u8..4, 1 => any::<u8>()], 0..40),
    ) {
        let bytes = [&[codec, rows, body.len() as u8][..], &body].concat();
        if let Ok(spelled) = again(&bytes) {
            prop_assert_eq!(spelled, bytes);
        }
    }
}

proptest! {
    #[test]
    fn numbers_come_back_however_many_are_small(numbers in prop::collection::vec(prop_oneof![20 => 0u64..128, 1 => any::<u64>()], 0..90)) {
        let mut sums: Vec<i64> = numbers.iter().map(|number| (number >> 8).cast_signed()).collect();
        sums.sort_unstable();
        let pairs: Vec<(i64, i64)> = sums.as_chunks().0.iter().map(|[start, end]| (*start, *end)).collect();
        let signed: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        let mut writer = ColumnsWriter::default();
        writer.unsigned(&numbers);
        writer.signed(&signed);
        writer.sorted(&sums);
        writer.intervals(&pairs);
        let bytes = writer.into_bytes().expect("all of it is in order");
        let mut columns = Columns::new(KIND, &bytes);
        prop_assert_eq!(columns.unsigned(), Ok(numbers));
        prop_assert_eq!(columns.signed(), Ok(signed));
        prop_assert_eq!(columns.sorted(), Ok(sums));
        prop_assert_eq!(columns.intervals(), Ok(pairs));
        prop_assert_eq!(columns.end(), Ok(()));
    }
}

#[test]
fn damage_is_called_by_its_name() {
    assert_eq!(fault(&[]), ColumnFault::Cut);
    assert_eq!(fault(&[1, 2, 1, 5]), ColumnFault::Cut);
    assert_eq!(fault(&[1, 1, 2, 5, 6]), ColumnFault::TrailingBytes);
    assert_eq!(fault(&[1, 1, 2, 0x85, 0]), ColumnFault::Number);
    assert_eq!(fault(&[99, 0, 0]), ColumnFault::OtherCodec { found: 99, wanted: Codec::Wide });
    assert_eq!(fault(&[5, 1, 1, 9]), ColumnFault::Variant { found: 9, known: 9 });
    assert_eq!(fault(&[6, 3, 1, 0b1000]), ColumnFault::TrailingBytes);
    assert_eq!(fault(&[7, 1, 3, 1, 0, 4]), ColumnFault::Variant { found: 4, known: 1 });
    assert_eq!(fault(&[7, 1, 4, 1, 1, 0xff, 0]), ColumnFault::Dictionary);
    assert_eq!(fault(&[7, 2, 7, 2, 1, b'a', 1, b'a', 0, 1]), ColumnFault::Dictionary);
    // The greatest number, and then one more.
    let most = [&[3, 2, 11, 0xfe][..], &[0xff; 8], &[1, 1]].concat();
    assert_eq!(fault(&most), ColumnFault::Number);
}

#[test]
fn a_claim_of_many_rows_takes_no_memory() {
    let many = [0xff, 0xff, 0xff, 0xff, 0x7f];
    for codec in 1..9 {
        let bytes = [&[codec][..], &many, &[1, 0]].concat();
        assert_eq!(fault(&bytes), ColumnFault::Cut, "codec {codec}");
    }
}

#[test]
fn a_string_that_comes_often_takes_no_more_memory_than_a_block() {
    let column = |len: usize, rows: usize| {
        let mut body = vec![1];
        crate::varint::put(&mut body, len as u64);
        body.resize(body.len() + len, b'x');
        body.resize(body.len() + rows, 0);
        let mut bytes = vec![Codec::Strings as u8];
        crate::varint::put(&mut bytes, rows as u64);
        crate::varint::put(&mut bytes, body.len() as u64);
        [bytes, body].concat()
    };
    assert_eq!(fault(&column(1 << 20, 65)), ColumnFault::TooLong);
    assert_eq!(fault(&column((8 << 20) + 1, 1)), ColumnFault::TooLong);
    assert!(again(&column(1 << 20, 64)).is_ok());
}
