//! The files as they lie on disk: what was once written must be read for ever, and be written the same.

use std::path::Path;

use rankscope_clock::NodeId;
use rankscope_clock::files::{
    AlphaBeta, encode_offset, encode_offsets_header, encode_window, encode_windows_header, read_offsets, read_windows,
};

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn windows_of_schema_1_are_written_as_they_were() {
    let text = golden("windows-node1.jsonl");
    let file = read_windows("windows-node1.jsonl", text.as_bytes());
    assert_eq!(file.damaged, []);
    let header = file.header.expect("it has one");
    let again = encode_windows_header(&header) + &file.windows.iter().map(encode_window).collect::<String>();
    assert_eq!(again, text);
}

#[test]
fn offsets_of_schema_1_are_written_as_they_were() {
    let text = golden("offsets.jsonl");
    let file = read_offsets(text.as_bytes());
    assert_eq!(file.damaged, []);
    let header = file.header.expect("it has one");
    assert_eq!(encode_offsets_header(&header) + &file.rows.iter().map(encode_offset).collect::<String>(), text);
}

#[test]
fn windows_of_the_origin_are_read() {
    let file = read_windows("probe_windows_node0.jsonl", golden("probe_windows_node0.jsonl").as_bytes());
    assert!(file.foreign && file.damaged.is_empty());
    assert_eq!(file.header.and_then(|header| header.start_walltime_ns), Some(1_700_000_000_000_000_000));
    let edges: Vec<_> = file.windows.iter().flat_map(|window| &window.edges).collect();
    assert_eq!(edges.iter().filter(|record| record.fits[0].is_ok()).count(), 3);
    assert!(file.windows.iter().all(|window| window.node == NodeId(0)));
    let lost: Vec<_> =
        edges.iter().filter(|record| record.edge.dst == NodeId(1)).map(|record| record.counts.lost_forward).collect();
    assert_eq!(lost, [2, 0], "it counts from the start of the run");
}

#[test]
fn offsets_of_the_origin_are_read() {
    let file = read_offsets(golden("round_offsets.jsonl").as_bytes());
    assert_eq!(file.damaged, []);
    let offsets: Vec<_> = file.rows.iter().map(|row| row.estimate.map(|estimate| estimate.offset.as_nanos())).collect();
    assert_eq!(offsets, [Some(0), Some(5_000_010_000), None]);
}

#[test]
fn the_csv_has_the_last_line_and_all_counts() {
    let file = read_windows("probe_windows_node0.jsonl", golden("probe_windows_node0.jsonl").as_bytes());
    let mut table = AlphaBeta::default();
    file.windows.iter().for_each(|window| table.add(window));
    assert_eq!(table.csv(), golden("alpha_beta_node0.csv"));
}
