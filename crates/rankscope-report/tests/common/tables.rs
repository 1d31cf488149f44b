//! A job of eight ranks with tables: kernels of each and of all, overlap, and process groups.

use rankscope_document::{AcrossRanks, AcrossRow, CollectiveTables, Document, GroupRow, KernelSummary, OverlapAcross, Tables};

pub(crate) fn document() -> Document {
    let mut document = super::eight_gpus();
    let last = document.ranks.len() as u32 - 1;
    for rank in document.ranks.iter_mut().take(2) {
        let kernels = (0..300).rev().map(kernel).collect();
        rank.tables = Some(Tables { kernel_summary: Some(kernels), ..Tables::default() });
    }
    let across = |at: u32| AcrossRow {
        name: format!("void kernel_{at}<float, at::native::detail::TensorListMetadata<2>>(int, float)"),
        median_ns: 1_000_000 + i64::from(at),
        min_ns: 900_000,
        max_ns: 1_300_000,
        max_rank: last,
        spread: (at > 0).then_some(0.4),
        ranks: 8,
        ..AcrossRow::default()
    };
    let overlap =
        OverlapAcross { name: "all".to_owned(), share: Some(0.734), comm_ns: 4_200_000, ranks: 8, ..OverlapAcross::default() };
    document.across_ranks = Some(AcrossRanks {
        kernels_across_ranks: Some((0..40).map(across).collect()),
        overlap_across_ranks: Some(vec![overlap]),
        ..AcrossRanks::default()
    });
    let group = GroupRow {
        process_group: "dp".to_owned(),
        count: 17,
        collective_ns: 900,
        wait_share: Some(0.25),
        ..GroupRow::default()
    };
    document.collective_tables = Some(CollectiveTables { by_group: Some(vec![group]), ..CollectiveTables::default() });
    document
}

fn kernel(at: i64) -> KernelSummary {
    KernelSummary {
        parent_op: (at % 3 > 0).then(|| "aten::mm".to_owned()),
        category: "GEMM".to_owned(),
        name: format!("ampere_sgemm_kernel_{at}"),
        stream: "7".to_owned(),
        count: 1 + at as u64,
        sum_ns: at * 10_000,
        mean_ns: at as f64 * 123.25,
        min_ns: at,
        max_ns: at * 9_000,
    }
}
