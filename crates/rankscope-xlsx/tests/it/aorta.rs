//! The tree of aorta: names, sheets, and figures side by side.

use std::io::Cursor;

use calamine::Data;
use rankscope_document::{CollectiveTables, Document, RankCollectiveSummary};
use rankscope_xlsx::aorta::{Workbook, workbooks};
use serde_json::json;

use crate::read::{Read, job, operator};

fn read(workbook: &Workbook<'_>, document: &Document) -> Read {
    let mut out = Cursor::new(Vec::new());
    workbook.write(document, &mut out).expect("written");
    Read::bytes(out.into_inner())
}

#[test]
fn every_workbook_has_the_name_that_scripts_look_for() {
    let document = job(2, &json!({}));
    let paths: Vec<_> = workbooks(&document).iter().map(Workbook::path).collect();
    let expected = [
        (Some("individual_reports"), "perf_rank0.xlsx"),
        (Some("individual_reports"), "perf_rank1.xlsx"),
        (Some("collective_reports"), "collective_all_ranks.xlsx"),
        (None, "gpu_timeline_summary_mean.xlsx"),
        (None, "gpu_timeline_summary_geomean.xlsx"),
    ];
    assert_eq!(paths, expected.map(|(folder, name)| (folder, name.to_owned())));
}

#[test]
fn the_report_of_a_rank_has_tracelens_columns_and_no_other_rank() {
    let document = job(2, &json!({"ops_summary": [operator("aten::mm", 3_000_000)]}));
    let mut book = read(&workbooks(&document)[1], &document);
    assert_eq!(book.names(), ["gpu_timeline", "ops_summary"]);
    assert_eq!(book.headers("gpu_timeline"), ["type", "time ms", "percent"]);
    assert_eq!(book.column("gpu_timeline", "time ms")[0], Data::Float(5.0));
    assert_eq!(book.headers("ops_summary")[0], "name");
    assert_eq!(book.column("ops_summary", "name").len(), 1);
}

#[test]
fn the_report_of_a_rank_has_its_collectives_and_those_of_no_other() {
    let mut document = job(2, &json!({}));
    let row = |rank: u32, sum_ns: i64| RankCollectiveSummary {
        rank,
        name: "allreduce".to_owned(),
        dtype: "Float".to_owned(),
        count: 2,
        sum_ns,
        ..RankCollectiveSummary::default()
    };
    let rows = vec![row(0, 4_000_000), row(1, 9_000_000)];
    document.collective_tables = Some(CollectiveTables { nccl_summary_long: Some(rows), ..CollectiveTables::default() });
    let mut book = read(&workbooks(&document)[1], &document);
    assert_eq!(book.names(), ["gpu_timeline", "coll_analysis"]);
    let headers = book.headers("coll_analysis");
    for header in
        ["rank", "Process Group Name", "Collective name", "Group size", "dtype", "In msg nelems", "dur_sum", "operation_count"]
    {
        assert!(headers.iter().any(|own| own == header), "{header} in {headers:?}");
    }
    assert_eq!(book.column("coll_analysis", "dur_sum"), [Data::Float(9_000.0)]);
}

#[test]
fn times_of_ranks_are_averaged_and_stand_side_by_side() {
    let mut document = job(2, &json!({}));
    document.ranks[1].time_ns.computation = 20_000_000;
    document.ranks[1].time_ns.total_memcpy = 0;
    let means: Vec<_> = workbooks(&document).into_iter().filter(|workbook| matches!(workbook, Workbook::Timeline(_))).collect();
    let (mut mean, mut geomean) = (read(&means[0], &document), read(&means[1], &document));
    for book in [&mut mean, &mut geomean] {
        assert_eq!(book.names(), ["Summary", "All_Ranks_Combined", "Per_Rank_Time_ms", "Per_Rank_Percent"]);
        assert_eq!(book.headers("Summary"), ["type", "time ms", "percent", "num_ranks"]);
        assert_eq!(book.column("Summary", "type")[1], Data::String("computation_time".to_owned()), "by name");
        assert_eq!(book.column("All_Ranks_Combined", "rank")[8], Data::Float(1.0));
        // Ranks are numbers also where they head a column.
        let time = book.sheet("Per_Rank_Time_ms");
        assert_eq!(time.get_value((0, 2)), Some(&Data::Float(1.0)));
        assert_eq!(time.get_value((2, 2)), Some(&Data::Float(20.0)));
    }
    assert_eq!(mean.column("Summary", "time ms")[1], Data::Float(12.5));
    let Data::Float(geometric) = geomean.column("Summary", "time ms")[1] else { panic!("a number") };
    assert!((geometric - 10.0).abs() < 1e-9, "{geometric}");
    let Data::Float(with_zero) = geomean.column("Summary", "time ms")[6] else { panic!("a number") };
    assert!((with_zero - (1.5_f64 * 1e-10).sqrt()).abs() < 1e-12, "zero counts as 1e-10: {with_zero}");
}

#[test]
fn collectives_have_their_sheets_and_units() {
    let mut document = job(2, &json!({}));
    document.collectives = serde_json::from_value(json!({
        "matched": 1, "unmatched": 0, "last_arrivals": {}, "unmatched_list": [],
        "groups": [{"name": "allreduce", "kind": "all_reduce", "dtype": "Float", "in_elements": 262_144, "bytes": 1_048_576, "ranks": 2,
            "process_group": "0", "count": 1, "matched": 1, "transfer_ns_mean": 4_000.0, "wait_ns_mean": 500.0, "start_skew_ns_mean": 1_000.0,
            "end_skew_ns_max": 20, "algbw_gbps_mean": 262.144, "busbw_gbps_mean": 262.144, "stay_ns_mean": 4_500.0, "exposed_ns": 0}],
        "ranks": [{"rank": 0, "counts": {}, "matched": 1, "last": 0, "first": 1, "wait_ns": 1_000, "delay_ns": 0},
            {"rank": 1, "counts": {}, "matched": 1, "last": 1, "first": 0, "wait_ns": 0, "delay_ns": 1_000}],
        "instances": [{"group": 0, "start_ns": 5, "arrival_order": [0, 1], "wait_ns": [1_000, 0], "transfer_ns": 4_000, "end_skew_ns": 20}],
    }))
    .expect("collectives");
    let mut book = read(&Workbook::Collectives, &document);
    assert_eq!(book.names(), ["nccl_summary_implicit_sync", "nccl_implicit_sync", "straggler_summary"]);
    assert_eq!(book.column("nccl_summary_implicit_sync", "Full msg size (MB)"), [Data::Float(1.0)]);
    assert_eq!(book.column("nccl_summary_implicit_sync", "comm_latency_mean"), [Data::Float(4.0)]);
    assert_eq!(book.column("nccl_implicit_sync", "collective_id"), [Data::String("0_0".to_owned())]);
    assert_eq!(book.column("straggler_summary", "rank"), [1.0, 0.0].map(Data::Float), "least waiting first");
    let nothing = job(1, &json!({}));
    assert_eq!(read(&Workbook::Collectives, &nothing).names(), ["empty"], "a workbook has a sheet");
}
