//! Comparisons as they would be made of runs, with every list filled.

use rankscope_document::*;

use super::{HOSTILE, MS};

/// A base and `tests` tests of so many ranks and steps.
pub(crate) fn document(ranks: u32, steps: usize, tests: usize) -> CompareDocument {
    let labels: Vec<String> = std::iter::once("base".to_owned()).chain((1..=tests).map(|test| format!("test{test}"))).collect();
    let mut pairs = labels[1..].iter().enumerate().map(|(at, test)| pair(ranks, test, at));
    let first = pairs.next().expect("a test");
    let side = |label: &String| ComparedSide {
        label: label.clone(),
        runs: vec![ComparedRun { path: format!("runs/{label}"), ranks: ranks as usize, steps, warm_up: 3, last_is_cut: false }],
        ranks: ranks as usize,
        steps: steps - 3,
    };
    CompareDocument {
        schema: 1,
        rankscope_version: "0.0.0".to_owned(),
        sides: labels.iter().map(side).collect(),
        notes: vec![Note { level: NoteLevel::Caution, text: "the devices differ: A in base, B in test".to_owned() }],
        first,
        others: pairs.collect(),
        side_by_side: labels[1..].iter().map(|test| beside(ranks, test)).collect(),
        series: series(ranks, steps, &labels),
        ranking: (tests > 1).then(|| ranking(&labels)),
        strips: Some(strips(ranks, &labels)),
        ..CompareDocument::default()
    }
}

fn pair(ranks: u32, test: &str, at: usize) -> Comparison {
    let of_ranks = (0..ranks).map(|rank| metric(&format!("step_ns@rank{rank}"), Over::OneRank, f64::from(rank) / 900.0));
    let classes = ["computation_ns", "exposed_comm_ns", "idle_ns"];
    let mut metrics = vec![metric("step_ns", Over::MaxOfRanks, 0.031)];
    metrics.extend(classes.iter().zip([0.05, -0.004, 0.0]).map(|(name, ratio)| metric(name, Over::MedianOfRanks, ratio)));
    metrics.extend(of_ranks);
    let mut rate = metric("comm.all_reduce.float32.1024.busbw", Over::MedianOfCollectives, -0.08);
    (rate.unit, rate.base, rate.test, rate.shift) = (MetricUnit::GigabytesPerSecond, Some(91.5), Some(84.2), Some(-7.3));
    (rate.lo, rate.hi, rate.direction) = (None, None, Direction::HigherIsBetter);
    metrics.push(rate);
    let part = |index: i64| Contribution {
        kind: if index % 2 == 0 { ContributionKind::Operator } else { ContributionKind::CollectiveWait },
        name: if index == 2 { HOSTILE.to_owned() } else { format!("aten::mm number {index}") },
        delta_ns: (7 - index) * 120_000 + 7,
        lo_ns: (index < 4).then_some((7 - index) * 100_000),
        hi_ns: (index < 4).then_some((7 - index) * 140_000),
        rank: Some(index as u32 % ranks),
        class: Some("computation".to_owned()),
        detail: (index == 0).then(|| "another kernel".to_owned()),
    };
    let contributions: Vec<Contribution> = (0..14).map(part).collect();
    Comparison {
        base: "base".to_owned(),
        test: test.to_owned(),
        unit: if at == 0 { Observation::Step } else { Observation::Run },
        metrics,
        step_delta_ns: contributions.iter().map(|part| part.delta_ns).sum(),
        contributions,
        structure: StructureChanges {
            swapped: vec![change("gemm_a", Some("gemm_b"), 4, 4)],
            new: vec![change("aten::add", None, 0, 12)],
            gone: vec![change(HOSTILE, None, 9, 0)],
            count_changed: vec![change("aten::mul", None, 3, 6)],
            reordered: vec![OrderChange {
                parent: Some("aten::block".to_owned()),
                base: "aten::mm → aten::add".to_owned(),
                test: "aten::add → aten::mm".to_owned(),
                ..OrderChange::default()
            }],
            varying: vec![StructureVariation {
                side: "base".to_owned(),
                name: HOSTILE.to_owned(),
                most: 3,
                ..StructureVariation::default()
            }],
            left_out: 0,
        },
        ..Comparison::default()
    }
}

fn metric(name: &str, over: Over, ratio: f64) -> MetricComparison {
    let base = 48.25 * MS as f64;
    let shift = (base * ratio).round();
    let verdict = match ratio {
        ratio if ratio > 0.01 => ChangeVerdict::Regressed,
        ratio if ratio < -0.01 => ChangeVerdict::Improved,
        _ => ChangeVerdict::Equivalent,
    };
    MetricComparison {
        name: name.to_owned(),
        unit: MetricUnit::Nanoseconds,
        direction: Direction::LowerIsBetter,
        over,
        base: Some(base),
        test: Some(base + shift),
        shift: Some(shift),
        lo: Some(shift - 200_000.0),
        hi: Some(shift + 300_000.0),
        ratio: Some(ratio),
        ratio_lo: Some(ratio - 0.004),
        ratio_hi: Some(ratio + 0.006),
        p: Some(0.012),
        p_adjusted: Some(0.036),
        verdict,
        margin: 0.01,
        is_measurable: true,
        observations: [37, 37],
        needed: None,
    }
}

fn change(name: &str, replaced_by: Option<&str>, base_count: u64, test_count: u64) -> StructureChange {
    StructureChange {
        kind: StructureKind::Kernel,
        name: name.to_owned(),
        within: Some("aten::linear".to_owned()),
        modules: vec!["Net/Linear_0".to_owned(), "Net/Linear_1".to_owned()],
        replaced_by: replaced_by.map(str::to_owned),
        base_count,
        test_count,
        base_ns: 3 * MS,
        test_ns: 4 * MS,
        ranks: vec![0],
    }
}

fn figure(base: f64, test: f64) -> Beside {
    let diff = test - base;
    Beside {
        base: Some(base),
        test: Some(test),
        diff: Some(diff),
        percent_change: Some(diff / base * 100.0),
        ratio: Some(test / base),
    }
}

fn beside(ranks: u32, test: &str) -> SideBySide {
    let names = ["busy_time", "computation_time", "exposed_comm_time", "idle_time", "total_comm_time", "total_time"];
    let time = |rank: Option<u32>, (at, name): (usize, &&str)| {
        let base = (12.0 + at as f64) * MS as f64;
        TimeBeside {
            rank,
            name: (*name).to_owned(),
            time: figure(base, base * (0.94 + 0.03 * at as f64 + 0.002 * f64::from(rank.unwrap_or(0) % 7))),
            base_percent: Some(40.0),
            test_percent: Some(41.5),
            diff_percent: Some(1.5),
            status: BesideStatus::Inconclusive,
        }
    };
    let group = |at: u32| CollectiveBeside {
        name: "allreduce".to_owned(),
        dtype: "BFloat16".to_owned(),
        in_elements: Some(1 << (10 + 3 * at)),
        bytes: Some(2 << (10 + 3 * at)),
        latency: figure(400_000.0, 380_000.0),
        algbw: figure(40.0 + f64::from(at), 42.0 + f64::from(at)),
        busbw: figure(70.0 + f64::from(at), 73.5 + f64::from(at)),
        total: figure(4_000_000.0, 3_800_000.0),
        count: figure(10.0, 10.0),
        status: BesideStatus::Improved,
        ..CollectiveBeside::default()
    };
    let mut collectives: Vec<CollectiveBeside> = (0..4).map(group).collect();
    collectives[3].latency.base = None;
    collectives[3].busbw.base = None;
    collectives[3].status = BesideStatus::New;
    SideBySide {
        base: "base".to_owned(),
        test: test.to_owned(),
        convention: Convention::Rankscope,
        ranks: (0..ranks).flat_map(|rank| names.iter().enumerate().map(move |name| time(Some(rank), name))).collect(),
        summary: names.iter().enumerate().map(|name| time(None, name)).collect(),
        collectives,
        rank_collectives: Vec::new(),
    }
}

fn series(ranks: u32, steps: usize, labels: &[String]) -> Vec<MetricSeries> {
    let names = std::iter::once("step_ns".to_owned()).chain((0..ranks).map(|rank| format!("step_ns@rank{rank}")));
    let values = |side: usize| -> Vec<f64> {
        (3..steps).map(|step| (48.0 + side as f64 * 1.5 + ((step * 7 + side * 3) % 11) as f64 * 0.2) * MS as f64).collect()
    };
    let side = |(at, label): (usize, &String)| SideSeries { label: label.clone(), runs: vec![values(at)], count: steps - 3 };
    names.map(|name| MetricSeries { name, sides: labels.iter().enumerate().map(side).collect() }).collect()
}

/// Four steps, in each of which a rank is late to two collectives, in the test by more.
fn strips(ranks: u32, labels: &[String]) -> StepStrips {
    let instance = |side: i64, step: i64, at: i64, begin: i64| {
        let (late, wait) = ((step as u32 * 3 + 1) % ranks, (3 + 2 * side) * MS);
        let others = (0..ranks).filter(|rank| *rank != late);
        let listed: Vec<u32> = if ranks > 64 { others.take(15).collect() } else { others.collect() };
        let waits = listed.iter().map(|rank| wait - i64::from(*rank % 5) * MS / 4);
        CollectiveInstance {
            group: at as usize,
            start_ns: begin + (at + 1) * 15 * MS,
            members: (ranks > 64).then_some(u64::from(ranks)),
            wait_ns: waits.chain([0]).collect(),
            arrival_order: listed.into_iter().chain([late]).collect(),
            transfer_ns: 2 * MS + step,
            end_skew_ns: 4_000,
        }
    };
    let strip = |side: i64, step: i64| {
        let (start_ns, length_ns) = (1_700_000_000_000_000_000 + step * 60 * MS, (48 + 3 * side) * MS + step);
        let instances = (0..2).map(|at| instance(side, step, at, start_ns)).collect();
        StepStrip { step, start_ns, length_ns, instances }
    };
    let side = |(side, label): (usize, &String)| SideStrips {
        label: label.clone(),
        run: format!("runs/{label}"),
        ranks: (0..ranks).collect(),
        names: vec![HOSTILE.to_owned(), "all_reduce".to_owned()],
        steps: (4..8).map(|step| strip(side as i64, step)).collect(),
        left_out: side,
    };
    StepStrips { typical: 5, sides: labels.iter().enumerate().map(side).collect() }
}

fn ranking(labels: &[String]) -> Ranking {
    let place = |label: &String| Place {
        label: label.clone(),
        step_ns: Some(48.25 * MS as f64),
        shift: Some(0.0),
        lo: Some(0.0),
        hi: Some(0.0),
        verdict: ChangeVerdict::Equivalent,
    };
    let pair = PairOfSides {
        base: labels[0].clone(),
        test: labels[1].clone(),
        shift: Some(200_000.0),
        lo: Some(100_000.0),
        hi: None,
        ratio: Some(0.0041),
        p_adjusted: Some(0.3),
        verdict: ChangeVerdict::Inconclusive,
    };
    Ranking { places: labels.iter().map(place).collect(), winner: None, pairs: vec![pair] }
}
