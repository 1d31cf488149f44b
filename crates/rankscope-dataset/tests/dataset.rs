//! What is written is what is read back, by Parquet's own reader.

use parquet::basic::Encoding;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::Field;
use proptest::prelude::*;
use rankscope_dataset::{Column, Frame, Kind, Table, Texts, Values, write};

/// What a row may lack where that is `optional`.
fn maybe<T: Clone + std::fmt::Debug + 'static>(optional: bool, value: BoxedStrategy<T>) -> BoxedStrategy<Option<T>> {
    if optional { prop::option::weighted(0.7, value).boxed() } else { value.prop_map(Some).boxed() }
}

/// Any values of `column`, a row each.
fn any_values(column: &Column, rows: usize) -> BoxedStrategy<Values> {
    let numbers = |number: BoxedStrategy<i64>| {
        prop::collection::vec(maybe(column.optional, number), rows).prop_map(Values::Integers).boxed()
    };
    match column.kind {
        Kind::Int32 => numbers(any::<i32>().prop_map(i64::from).boxed()),
        Kind::Int64 => numbers(any::<i64>().boxed()),
        Kind::Bool => prop::collection::vec(any::<bool>(), rows).prop_map(Values::Flags).boxed(),
        Kind::Name | Kind::Text => prop::collection::vec(maybe(column.optional, "[a-c\u{e9}\0]{0,3}".boxed()), rows)
            .prop_map(|texts| Values::Texts(Texts::of(texts.iter().map(Option::as_deref))))
            .boxed(),
    }
}

fn any_frame(table: Table) -> impl Strategy<Value = Frame> {
    (0usize..40).prop_flat_map(move |rows| {
        let columns: Vec<_> = table.columns().iter().map(|column| any_values(column, rows)).collect();
        columns.prop_map(move |values| {
            table.columns().iter().zip(values).fold(Frame::of(table), |frame, (column, values)| frame.with(column.name, values))
        })
    })
}

fn any_frames() -> impl Strategy<Value = (Table, Vec<Frame>)> {
    prop::sample::select(Table::ALL.to_vec())
        .prop_flat_map(|table| (Just(table), prop::collection::vec(any_frame(table), 0..4)))
}

fn written(table: Table, in_path: Option<&str>, frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = write(table, in_path, frames.iter().cloned(), &mut bytes).expect("a frame that fits");
    assert_eq!(written.bytes, bytes.len() as u64);
    assert_eq!(written.rows, frames.iter().map(|frame| frame.rows() as u64).sum::<u64>());
    bytes
}

/// The value of `row` as the reader gives it.
fn expected(column: &Column, values: &Values, row: usize) -> Field {
    match (values, column.kind) {
        (Values::Integers(values), Kind::Int32) => values[row].map_or(Field::Null, |value| Field::Int(value as i32)),
        (Values::Integers(values), _) => values[row].map_or(Field::Null, Field::Long),
        (Values::Flags(values), _) => Field::Bool(values[row]),
        (Values::Texts(texts), _) => texts.text(row).map_or(Field::Null, |text| Field::Str(text.to_owned())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back((table, frames) in any_frames()) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(written(table, None, &frames))).expect("a Parquet file");
        let mut rows = reader.get_row_iter(None).expect("rows");
        for frame in &frames {
            prop_assert_eq!(frame.flaw(), None);
            for row in 0..frame.rows() {
                let read = rows.next().expect("as many rows").expect("a row");
                for (column, (name, field)) in table.columns().iter().zip(read.get_column_iter()) {
                    prop_assert_eq!(column.name, name);
                    prop_assert_eq!(&expected(column, frame.values(column).expect("it fits"), row), field);
                }
            }
        }
        prop_assert!(rows.next().is_none());
    }

    #[test]
    fn equal_rows_are_equal_bytes((table, frames) in any_frames()) {
        prop_assert_eq!(written(table, None, &frames), written(table, None, &frames));
    }
}

/// So many events of one rank.
fn some_events(rows: i64) -> Frame {
    Table::Events.columns().iter().fold(Frame::of(Table::Events), |frame, column| {
        let values = match column.kind {
            Kind::Name | Kind::Text => Values::Texts(Texts::of((0..rows).map(|_| Some("name")))),
            _ => Values::Integers((0..rows).map(|row| Some(row * 7)).collect()),
        };
        frame.with(column.name, values)
    })
}

#[test]
fn integers_are_differences_names_have_dictionaries_and_correlations_a_filter() {
    let bytes = bytes::Bytes::from(written(Table::Events, Some("rank"), &[some_events(1_000)]));
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).expect("metadata");
    let file = metadata.file_metadata();
    assert_eq!(file.created_by(), Some("rankscope version 1.0.0 (build dataset)"));
    assert_eq!(file.key_value_metadata(), None);
    let group = metadata.row_group(0);
    assert_eq!(group.num_columns(), Table::Events.columns().len() - 1, "the rank is in the path");
    for (column, chunk) in Table::Events.columns()[1..].iter().zip(group.columns()) {
        let encodings: Vec<Encoding> = chunk.encodings().collect();
        let has = |encoding: &Encoding| encodings.contains(encoding);
        match column.kind {
            Kind::Int32 | Kind::Int64 => assert!(has(&Encoding::DELTA_BINARY_PACKED), "{}: {encodings:?}", column.name),
            Kind::Name => assert!(has(&Encoding::RLE_DICTIONARY), "{}: {encodings:?}", column.name),
            Kind::Bool | Kind::Text => assert!(!has(&Encoding::RLE_DICTIONARY), "{}: {encodings:?}", column.name),
        }
        assert_eq!(chunk.bloom_filter_offset().is_some(), column.name == "correlation");
        assert!(chunk.offset_index_offset().is_some(), "{} has an index of its pages", column.name);
        assert_eq!(chunk.column_index_offset().is_some(), column.kind != Kind::Text, "{}", column.name);
    }
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
    let reader = SerializedFileReader::new_with_options(bytes, options).expect("a Parquet file");
    let at = Table::Events.columns()[1..].iter().position(|column| column.name == "correlation").expect("a column");
    let group = reader.get_row_group(0).expect("a group");
    let filter = group.get_column_bloom_filter(at).expect("a filter");
    assert!((0..1_000i64).all(|row| filter.check(&(row * 7))), "what is there is found");
    let mistaken = (0..1_000i64).filter(|row| filter.check(&(row * 7 + 3))).count();
    assert!(mistaken < 300, "of 1000 that are not there {mistaken} are taken for some that are");
}

#[test]
fn a_frame_that_lacks_a_column_is_refused() {
    let frame = Frame::of(Table::Kernels).numbers("rank", [0]).texts("name", ["a"]);
    assert_eq!(frame.flaw(), Some("class"));
    let short = Frame::of(Table::Kernels)
        .numbers("rank", [0, 1])
        .texts("name", ["a", "b"])
        .texts("class", ["compute", "compute"])
        .numbers("count", [1, 2])
        .numbers("dur_ns", [5, 6]);
    assert_eq!(short.flaw(), None);
    let refused = write(Table::Kernels, None, [short.maybe_numbers("count", [Some(1), None])], &mut Vec::new());
    let said = refused.expect_err("a row lacks its count").to_string();
    assert!(said.contains("kernels") && said.contains("count"), "{said}");
}
