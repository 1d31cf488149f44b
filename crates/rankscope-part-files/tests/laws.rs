//! Files as their users meet them: what was written comes back, and what was changed since is refused.

use proptest::prelude::*;
use rankscope_part_files::{BLOCK_BYTES_MAX, ColumnFault, ColumnsWriter, Error, Kind, Reader, SCHEMA, Writer};

#[derive(Clone, Debug, PartialEq)]
struct Table {
    unsigned: Vec<u64>,
    signed: Vec<i64>,
    sorted: Vec<i64>,
    intervals: Vec<(i64, i64)>,
    enums: Vec<u8>,
    bits: Vec<bool>,
    strings: Vec<String>,
    wide: Vec<u128>,
}

impl Table {
    fn write(&self, columns: &mut ColumnsWriter) {
        columns.unsigned(&self.unsigned);
        columns.signed(&self.signed);
        columns.sorted(&self.sorted);
        columns.intervals(&self.intervals);
        columns.enums(&self.enums);
        columns.bits(&self.bits);
        columns.strings(self.strings.iter().map(String::as_str));
        columns.wide(&self.wide);
    }

    fn read(reader: &Reader<'_>, kind: Kind) -> Result<Self, Error> {
        let block = reader.block(kind)?;
        let mut columns = block.columns();
        let table = Self {
            unsigned: columns.unsigned()?,
            signed: columns.signed()?,
            sorted: columns.sorted()?,
            intervals: columns.intervals()?,
            enums: columns.enums(4)?.to_vec(),
            bits: columns.bits()?,
            strings: columns.strings()?.into_iter().map(str::to_owned).collect(),
            wide: columns.wide()?,
        };
        columns.end()?;
        Ok(table)
    }
}

fn table() -> impl Strategy<Value = Table> {
    let few = 0usize..12;
    let stamps = || prop::collection::vec(prop_oneof![any::<i64>(), -50i64..50], few.clone());
    (
        prop::collection::vec(any::<u64>(), few.clone()),
        stamps(),
        stamps(),
        prop::collection::vec(prop_oneof![any::<i64>(), -50i64..50], few.clone()),
        prop::collection::vec(0u8..4, few.clone()),
        prop::collection::vec(any::<bool>(), 0..20),
        prop::collection::vec("[a-c]{0,2}|é", few.clone()),
        prop::collection::vec(any::<u128>(), 0..4),
    )
        .prop_map(|(unsigned, signed, mut sorted, mut ends, enums, bits, strings, wide)| {
            sorted.sort_unstable();
            ends.sort_unstable();
            let (pairs, _) = ends.as_chunks::<2>();
            let intervals = pairs.iter().map(|[start, end]| (*start, *end)).collect();
            Table { unsigned, signed, sorted, intervals, enums, bits, strings, wide }
        })
}

fn file(tables: &[Table]) -> Vec<u8> {
    let mut writer = Writer::new();
    for (table, kind) in tables.iter().zip(1..) {
        writer.block(Kind(kind), |columns| table.write(columns)).expect("the columns are in order");
    }
    writer.finish()
}

proptest! {
    #[test]
    fn what_was_written_comes_back(tables in prop::collection::vec(table(), 0..4)) {
        let bytes = file(&tables);
        prop_assert_eq!(&bytes, &file(&tables), "the same columns give the same bytes");
        let reader = Reader::open(&bytes).unwrap();
        prop_assert_eq!(reader.kinds().count(), tables.len());
        for (table, kind) in tables.iter().zip(1..) {
            prop_assert_eq!(&Table::read(&reader, Kind(kind)).unwrap(), table);
        }
    }

    #[test]
    fn a_file_that_was_changed_is_refused(tables in prop::collection::vec(table(), 1..3), more in prop::collection::vec(any::<u8>(), 1..9)) {
        let bytes = file(&tables);
        for len in 0..bytes.len() {
            prop_assert!(Reader::open(&bytes[..len]).is_err(), "the first {len} bytes");
        }
        let mut flipped = bytes.clone();
        for bit in 0..8 * bytes.len() {
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Reader::open(&flipped).is_err(), "bit {bit}");
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
        let continued = [&bytes[..], &more].concat();
        prop_assert_eq!(Reader::open(&continued).unwrap_err(), Error::TrailingBytes { offset: bytes.len(), bytes: more.len() });
    }

    #[test]
    fn bytes_of_no_writer_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Reader::open(&bytes).is_err());
    }
}

#[test]
fn a_refusal_says_what_and_where() {
    let mut writer = Writer::new();
    writer.block(Kind(3), |columns| columns.unsigned(&[1, 2, 3])).unwrap();
    writer.block(Kind(4), |columns| columns.unsigned(&[4])).unwrap();
    writer.block(Kind(4), |columns| columns.unsigned(&[5])).unwrap();
    let bytes = writer.finish();
    let open = |bytes: &[u8]| Reader::open(bytes).map(|_| ()).unwrap_err();
    assert_eq!(open(b"{\"traceEvents\": []}"), Error::NotAPart);
    assert_eq!(open(&bytes[..40]), Error::Cut { offset: 40 });
    let mut changed = bytes.clone();
    changed[16 + 16 + 3] ^= 1;
    assert_eq!(open(&changed), Error::Checksum { kind: Kind(3), offset: 16 });

    let reader = Reader::open(&bytes).unwrap();
    let count = |kind, found| Error::Count { kind: Kind(kind), found };
    assert_eq!(reader.block(Kind(9)).unwrap_err(), count(9, 0));
    assert_eq!(reader.block(Kind(4)).unwrap_err(), count(4, 2));
    let all = reader.blocks(Kind(4)).map(|block| block.unwrap().columns().unsigned().unwrap());
    assert_eq!(all.collect::<Vec<_>>(), [vec![4], vec![5]]);
    let block = reader.block(Kind(3)).unwrap();
    let wrong = block.columns().intervals().unwrap_err();
    assert!(matches!(wrong, Error::Column { kind: Kind(3), column: 0, fault: ColumnFault::OtherCodec { found: 1, .. } }));
    assert_eq!(wrong.to_string(), "block 3, column 0: it holds 1, and Intervals is asked for");
}

#[test]
fn a_newer_schema_is_refused_by_name() {
    let mut bytes = Writer::new().finish();
    bytes[8..10].copy_from_slice(&(SCHEMA + 1).to_le_bytes());
    assert_eq!(Reader::open(&bytes).unwrap_err(), Error::Head, "a damaged number is no version");
    let sum = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(Reader::open(&bytes).unwrap_err(), Error::NewerSchema { found: SCHEMA + 1 });
}

#[test]
fn columns_out_of_order_are_not_written() {
    let mut writer = Writer::new();
    let refused = writer.block(Kind(1), |columns| {
        columns.unsigned(&[1]);
        columns.intervals(&[(5, 9), (8, 10)]);
    });
    assert_eq!(refused, Err(Error::Column { kind: Kind(1), column: 1, fault: ColumnFault::Order }));
    assert!(writer.block(Kind(1), |columns| columns.sorted(&[2, 1])).is_err());
    assert_eq!(writer.block(Kind(0), |_| ()), Err(Error::ReservedKind));
    assert_eq!(writer.finish(), Writer::new().finish(), "nothing was added");
}

#[test]
fn blocks_have_a_size_that_readers_accept() {
    let mut writer = Writer::new();
    let large = vec![3; BLOCK_BYTES_MAX / 2];
    writer.block(Kind(1), |columns| columns.enums(&large)).unwrap();
    let too_large = vec![3; BLOCK_BYTES_MAX];
    let refused = writer.block(Kind(1), |columns| columns.enums(&too_large)).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { kind: Kind(1), .. }), "{refused}");
    let bytes = writer.finish();
    let reader = Reader::open(&bytes).unwrap();
    assert_eq!(reader.block(Kind(1)).unwrap().columns().enums(4).unwrap().len(), large.len());
}

#[test]
fn an_interval_takes_few_bytes() {
    // Kernels of some tens of microseconds, with gaps of some microseconds.
    let mut state = 1u64;
    let mut end = 1_700_000_000_000_000_000i64;
    let mut random = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % most).cast_signed()
    };
    let intervals: Vec<(i64, i64)> = (0..10_000)
        .map(|_| {
            let start = end + random(4_000);
            end = start + random(16_000);
            (start, end)
        })
        .collect();
    let mut writer = Writer::new();
    writer.block(Kind(1), |columns| columns.intervals(&intervals)).unwrap();
    let each = writer.finish().len() as f64 / intervals.len() as f64;
    assert!(each < 4.0, "{each} bytes an interval");
}
