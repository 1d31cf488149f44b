//! The tables of two exports of a rank are those of one, with every count and sum twice.

use rankscope_tables::RankTables;
use rankscope_testkit::{Need, given};

use super::tables;

#[test]
fn an_export_joined_to_itself_has_each_row_once_and_twice_the_time() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let one = tables(&corpus.join("traces/kineto/mi300x_resnet_act_checkpoint.json.gz"));
    let mut two = one.clone();
    two.join(one.clone());
    let rows = |tables: &RankTables| {
        let named = [tables.operators.len(), tables.arguments.len(), tables.kernels.len(), tables.idle.streams.len()];
        let of_calls = [tables.calls.len(), tables.queues.len(), tables.copies.len(), tables.annotations.len()];
        (named, of_calls, [tables.short_kernels.rows.len(), tables.overlap.kernels.len()])
    };
    assert_eq!(rows(&two), rows(&one));
    let times = |tables: &RankTables| {
        [
            tables.kernel_ns,
            tables.operators.iter().map(|row| row.direct_kernel_ns).sum(),
            tables.arguments.iter().map(|row| row.time.spread.sum_ns).sum(),
            tables.kernels.iter().map(|row| row.time.sum_ns).sum(),
            tables.short_kernels.rows.iter().map(|row| row.time.sum_ns).sum(),
            tables.calls.iter().map(|row| row.delay.spread.sum_ns).sum(),
            tables.queues.iter().map(|row| row.waited_ns).sum(),
            tables.overlap.whole.hidden_ns,
            tables.copies.iter().map(|row| row.sum_ns).sum(),
            tables.annotations.iter().filter_map(|row| row.kernel_ns).sum(),
            tables.idle.whole.sum_ns(),
        ]
    };
    assert_eq!(times(&two), times(&one).map(|ns| 2 * ns));
    assert_eq!(two.sequences, None);
}
