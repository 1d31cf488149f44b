//! Memory and recomputation in public traces, beside figures of a script that shares nothing with what it judges.

use rankscope_tables::Evidence;
use rankscope_testkit::{Need, given};

use super::{tables, traces};

#[test]
fn only_the_job_that_checkpoints_activations_recomputes() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for path in traces(&corpus) {
        let own = tables(&path);
        let again_ns: i64 = own.recompute.iter().map(|row| row.kernel_ns).sum();
        if !path.to_string_lossy().contains("act_checkpoint") {
            assert_eq!(own.recompute, [], "{path:?}");
            continue;
        }
        // The kernels that were launched within the Python frames of it.
        assert_eq!(again_ns, RECOMPUTED_NS);
        assert!(own.recompute.iter().all(|row| row.evidence == Evidence::Frame && row.matched == row.count), "{path:?}");
    }
}

const RECOMPUTED_NS: i64 = 4_209_958;

#[test]
fn totals_of_memory_are_those_of_the_events() {
    let Some(corpus) = given(Need::Corpus) else { return };
    // Peak, most reserved, worst fragmentation; allocations, releases, and what was kept.
    type Figures = ([Option<i64>; 3], [u64; 3]);
    let host = |bytes: i64, count: u64| -> Figures { ([Some(bytes), None, None], [count, count, 0]) };
    let device = |bytes: [i64; 3], count: u64| -> Figures { (bytes.map(Some), [count, count, 0]) };
    let h100 = [2_088_508_416, 2_629_828_608, 1_645_086_208];
    let mi300x = [2_219_047_936, 2_533_359_616, 1_447_953_920];
    let expected = [
        ("h100_qwen1.5", [("cuda:0", device(h100, 1_125)), ("cpu", host(16, 100))]),
        ("mi300x_qwen1.5", [("hip:0", device(mi300x, 1_294)), ("cpu", host(8, 52))]),
    ];
    for (name, expected) in expected {
        let own = tables(&corpus.join(format!("traces/kineto/{name}.json.gz"))).memory.devices;
        let figures = own.iter().map(|row| {
            let totals = [row.peak_allocated, row.peak_reserved, row.fragmentation_worst];
            (row.device.to_string(), (totals, [row.allocated.count, row.freed.count, row.kept.count]))
        });
        assert!(figures.eq(expected.map(|(device, figures)| (device.to_owned(), figures))), "{name}: {own:?}");
    }
}

#[test]
fn what_held_a_peak_adds_up_to_it_in_every_trace() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let gloo = (0..4).map(|rank| corpus.join(format!("traces/torch-gloo-4ranks/rank{rank}.json.gz")));
    for path in traces(&corpus).into_iter().chain(gloo) {
        let memory = tables(&path).memory;
        for row in &memory.devices {
            let held = memory.peaks.iter().filter(|held| held.device == row.device).map(|held| held.held.bytes);
            assert_eq!(Some(held.sum()), row.peak_allocated, "{path:?}: {row:?}");
            assert_eq!(
                row.before.zip(row.after).map(|(before, after)| after - before),
                Some(row.allocated.bytes - row.freed.bytes)
            );
            let points = || memory.timeline.iter().flatten().filter(|point| point.device == row.device).map(|row| row.point);
            assert_eq!(points().map(|point| point.allocated).max(), row.peak_allocated, "{path:?}");
            for point in points() {
                assert_eq!(point.by_category.map(|bytes| bytes.iter().sum()), Some(point.allocated), "{path:?}");
            }
        }
    }
}
