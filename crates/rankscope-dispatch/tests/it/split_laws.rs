//! Keys and values that are split: every score is computed once, and what is merged is the attention over all keys.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use rankscope_dispatch::cost::{TimeTable, Work};
use rankscope_dispatch::planner::bounded::{self, Caps, Limits, Options, bounded, slowest};
use rankscope_dispatch::planner::split::{SplitPlan, split};
use rankscope_dispatch::planner::{Prices, Remote, cell_limits, place_in_order, place_on_ranks, split_lower_bound};
use rankscope_dispatch::{Batch, Error, Exchange, Pass, Rows, SplitBatch, SplitTask, TorchRandom, Traffic};

const LSE_BYTES: u64 = 128;

fn options(eps: f64, hidden_kv: u32) -> Options {
    let rows = Rows { hidden_kv, ..Rows::LLAMA_8B };
    Options { search_steps: Some(10), ..Options::new(eps, Prices::of(&rows)) }
}

/// Few documents, long for so few ranks, so that there is something to split.
fn layouts() -> impl Strategy<Value = Batch> {
    let length = || prop_oneof![2 => 0_u32..400, 3 => 400_u32..2500];
    let in_order = (prop::collection::vec(length(), 1..5), 1_u32..12).prop_map(|(lengths, world_size)| {
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        place_in_order(&lengths, world_size, tokens.div_ceil(world_size.into()).max(1)).expect("they fit")
    });
    let on_ranks = prop::collection::vec(prop::collection::vec(length(), 0..3), 1..8)
        .prop_map(|ranks| place_on_ranks(&ranks).expect("ranks"));
    prop_oneof![in_order, on_ranks]
}

/// Where each token of each document lives.
fn homes(layout: &Batch) -> Vec<Vec<u32>> {
    let document = |shards: &[rankscope_dispatch::Shard]| {
        shards.iter().flat_map(|shard| std::iter::repeat_n(shard.linear.0, shard.tokens as usize)).collect()
    };
    layout.documents().map(document).collect()
}

/// The keys of a task that the query at `position` attends to.
fn context(task: &SplitTask, position: u32) -> std::ops::Range<u32> {
    task.keys.start..task.keys.end.min(position + 1)
}

fn of_document(plan: &SplitPlan, document: usize) -> impl Iterator<Item = &SplitTask> {
    plan.batch.tasks().iter().filter(move |task| task.document == document)
}

/// What crosses between ranks, counted token by token.
fn bytes(plan: &SplitPlan, homes: &[Vec<u32>], prices: Prices) -> u64 {
    let mut bytes = 0;
    for (document, homes) in homes.iter().enumerate() {
        let (mut queries, mut keys) = (HashMap::<u32, HashSet<u32>>::new(), HashSet::new());
        for task in of_document(plan, document) {
            task.queries.clone().for_each(|query| {
                queries.entry(query).or_default().insert(task.rank.0);
            });
            keys.extend(task.keys.clone().map(|key| (key, task.rank.0)));
        }
        for (query, ranks) in queries {
            let away = ranks.iter().filter(|&&rank| rank != homes[query as usize]).count() as u64;
            bytes += away * (prices.query + if plan.batch.merges() { LSE_BYTES } else { 0 });
        }
        bytes += keys.iter().filter(|(key, rank)| homes[*key as usize] != *rank).count() as u64 * prices.key;
    }
    bytes
}

/// What ranks send each other in the pass.
fn traffic(plan: &SplitPlan, options: &Options) -> Traffic {
    let halves = if options.pass == Pass::Forward { 4 } else { 8 };
    let rows = Rows { hidden_kv: (options.prices.key / halves) as u32, ..Rows::LLAMA_8B };
    let rows = if plan.batch.merges() { rows.with_lse_of((LSE_BYTES / 4) as u32) } else { rows };
    let sent = |direction| Exchange::of_split(&plan.batch, &rows, direction).expect("an exchange").traffic();
    let [out, back] = options.pass.exchanges().map(sent);
    Traffic::new(plan.batch.world_size(), out.pairs().iter().chain(back.pairs()).copied())
}

/// What every rank sends, receives and holds.
fn used(plan: &SplitPlan, options: &Options) -> Vec<[u64; 3]> {
    let mut used = vec![[0; 3]; plan.batch.world_size() as usize];
    for &(from, to, bytes) in traffic(plan, options).pairs().iter().filter(|pair| pair.0 != pair.1) {
        used[from.0 as usize][0] += bytes;
        used[to.0 as usize][1] += bytes;
    }
    let tokens = |range: fn(&SplitTask) -> std::ops::Range<u32>| -> HashSet<(u32, usize, u32)> {
        let of_task = |task| range(task).map(move |token| (task.rank.0, task.document, token));
        plan.batch.tasks().iter().flat_map(of_task).collect()
    };
    // A backward pass takes in three rows of a query and what it has beside them, and as much of keys as a forward one.
    let (query, key) = match options.pass {
        Pass::Forward => (options.prices.query / 2, options.prices.key),
        Pass::Backward => {
            (options.prices.query / 4 * 3 + if plan.batch.merges() { LSE_BYTES } else { 0 }, options.prices.key / 2)
        }
    };
    tokens(|task| task.queries.clone()).into_iter().for_each(|(rank, _, _)| used[rank as usize][2] += query);
    tokens(|task| task.keys.clone()).into_iter().for_each(|(rank, _, _)| used[rank as usize][2] += key);
    used
}

/// The work of every rank, task by task.
fn loads(plan: &SplitPlan, work: &Work) -> Vec<u64> {
    let mut loads = vec![0; plan.batch.world_size() as usize];
    for task in plan.batch.tasks() {
        let (queries, keys) = (task.queries.len() as u32, task.keys.len() as u32);
        loads[task.rank.0 as usize] += match work {
            Work::Cells => task.queries.clone().map(|query| context(task, query).len() as u64).sum(),
            Work::Time(table) if task.keys.end == task.queries.end => table.nanoseconds(queries, keys),
            Work::Time(table) if queries <= 2 * keys => table.nanoseconds(queries, keys + queries / 2),
            Work::Time(table) => (table.nanoseconds(2 * keys, 2 * keys) * u64::from(queries)).div_ceil(2 * u64::from(keys)),
        };
    }
    loads
}

fn check(layout: &Batch, options: &Options) -> Result<(), TestCaseError> {
    let plan = match bounded(layout, options) {
        // With a table there need not be one.
        Err(Error::CannotBalance { .. }) if options.work != Work::Cells => return Ok(()),
        plan => plan.expect("a plan"),
    };
    let divided = split(layout, &plan, options, LSE_BYTES).expect("a plan");
    prop_assert_eq!(&split(layout, &plan, options, LSE_BYTES).expect("a plan"), &divided, "the same plan again");
    let homes = homes(layout);
    for (document, homes) in homes.iter().enumerate() {
        let mut seen: Vec<Vec<std::ops::Range<u32>>> = vec![Vec::new(); homes.len()];
        for task in of_document(&divided, document) {
            let shape = task.keys.end <= task.queries.start || task.keys.end == task.queries.end;
            prop_assert!(shape && task.keys.start <= task.queries.start, "kernels know no {:?}", task);
            for query in task.queries.clone() {
                prop_assert_eq!(homes[query as usize], homes[task.queries.start as usize], "one home each");
                seen[query as usize].push(context(task, query));
            }
        }
        for (query, ranges) in seen.iter_mut().enumerate() {
            ranges.sort_unstable_by_key(|range| range.start);
            let end = ranges.iter().try_fold(0, |end, range| (range.start == end && !range.is_empty()).then_some(range.end));
            prop_assert_eq!(end, Some(query as u32 + 1), "document {}, query {}: {:?}", document, query, ranges);
        }
    }
    let cells: Vec<u64> = divided.batch.cells().expect("cells");
    prop_assert_eq!(cells.iter().sum::<u64>(), layout.cells_at_home().expect("cells").iter().sum::<u64>());
    let (before, after) = (bounded::loads(&plan, &options.work).expect("loads"), loads(&divided, &options.work));
    prop_assert_eq!(&divided.loads(&options.work).expect("loads"), &after);
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights).expect("limits");
    let kept = (0..after.len()).all(|rank| after[rank] <= limits.target[rank].max(before[rank]));
    prop_assert!(kept || options.work != Work::Cells, "a rank is above its share and the tolerance, and has more than before");
    let no_slower = slowest(&after, &options.weights) <= slowest(&before, &options.weights);
    prop_assert!(no_slower || options.work == Work::Cells, "the slowest rank is slower by the table");
    let least = cell_limits(layout, &options.work, &limits.kept_by(&after));
    let least = split_lower_bound(layout, options.prices, LSE_BYTES, &least).expect("a bound");
    prop_assert!(least <= divided.bytes, "{} bytes, and {} at least", divided.bytes, least);
    prop_assert_eq!(divided.bytes, bytes(&divided, &homes, options.prices));
    prop_assert_eq!(divided.bytes, traffic(&divided, options).remote_bytes(), "what is exchanged");
    prop_assert!(divided.bytes <= Remote::of(&plan).bytes(options.prices));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_score_is_computed_once_and_the_bytes_are_those_of_the_tokens(
        layout in layouts(),
        eps in prop_oneof![Just(0.0), 0.0..0.5_f64],
        hidden_kv in prop_oneof![Just(1024_u32), Just(4096)],
    ) {
        check(&layout, &options(eps, hidden_kv))?;
    }

    #[test]
    fn a_slow_rank_and_one_that_is_gone_stay_so(layout in layouts(), slow in 0.1..1.0_f64) {
        let mut weights = vec![1.0; layout.world_size() as usize];
        weights[0] = slow;
        if let Some(gone) = weights.get_mut(2) {
            *gone = 0.0;
        }
        check(&layout, &Options { weights, ..options(0.05, 1024) })?;
    }
}

/// A launch, and a rate that rises with the queries of a task.
fn tables() -> impl Strategy<Value = TimeTable> {
    (0.0..0.2_f64, 1e6..1e8_f64, 0.0..500.0_f64).prop_map(|(launch_ms, cells_per_ms, tile)| {
        let axis = vec![1_u32, 64, 256, 1024, 4096];
        let time = |queries: u32, context: u32| {
            let queries = f64::from(queries.min(context)).max(tile);
            launch_ms + queries * (f64::from(context) - 0.5 * queries.min(f64::from(context))) / cells_per_ms + 1e-6
        };
        let times: Vec<Vec<f64>> =
            axis.iter().map(|&queries| axis.iter().map(|&context| time(queries, context)).collect()).collect();
        TimeTable::new(axis.clone(), axis, &times).expect("a table")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn measured_time_is_kept_to_as_cells_are(
        layout in layouts(),
        table in tables(),
        eps in 0.0..0.5_f64,
        hidden_kv in prop_oneof![Just(1024_u32), Just(4096)],
        slow in prop::option::of(0.3..1.0_f64),
    ) {
        let mut weights = vec![1.0; layout.world_size() as usize];
        weights[0] = slow.unwrap_or(1.0);
        check(&layout, &Options { work: Work::Time(table), weights, ..options(eps, hidden_kv) })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_backward_pass_is_split_by_what_it_sends(layout in layouts(), hidden_kv in prop_oneof![Just(1024_u32), Just(4096)]) {
        check(&layout, &options(0.05, hidden_kv).of_pass(Pass::Backward, &Rows { hidden_kv, ..Rows::LLAMA_8B }))?;
    }

    /// Sent, received and held, counted by what is exchanged and token by token.
    #[test]
    fn caps_are_kept_to(
        layout in layouts(),
        pass in prop_oneof![Just(Pass::Forward), Just(Pass::Backward)],
        hidden_kv in prop_oneof![Just(1024_u32), Just(4096)],
        parts in prop::array::uniform3(prop::option::of(0.6..1.1_f64)),
    ) {
        let free = options(0.1, hidden_kv).of_pass(pass, &Rows { hidden_kv, ..Rows::LLAMA_8B });
        let plan = bounded(&layout, &free).expect("a plan");
        let whole = SplitPlan { batch: SplitBatch::of_whole(&plan), bytes: Remote::of(&plan).bytes(free.prices), lse_bytes: 0 };
        let most = used(&whole, &free).into_iter().reduce(|a, b| std::array::from_fn(|kind| a[kind].max(b[kind])));
        let most = most.expect("ranks");
        let cap = |kind: usize| parts[kind].map(|part| (most[kind] as f64 * part) as u64);
        let caps = Caps { send_bytes: cap(0), receive_bytes: cap(1), buffer_bytes: cap(2) };
        let options = Options { caps, ..free };
        let Ok(plan) = bounded(&layout, &options) else { return Ok(()) };
        let caps = [0, 1, 2].map(|kind| cap(kind).unwrap_or(u64::MAX));
        for plan in [SplitPlan { batch: SplitBatch::of_whole(&plan), bytes: 0, lse_bytes: 0 }, split(&layout, &plan, &options, LSE_BYTES)?] {
            for (rank, used) in used(&plan, &options).into_iter().enumerate() {
                prop_assert!((0..3).all(|kind| used[kind] <= caps[kind]), "rank {}: {:?} of {:?}", rank, used, caps);
            }
        }
        check(&layout, &options)?;
    }
}

#[test]
fn a_long_document_on_many_ranks_costs_much_less() {
    let layout = place_in_order(&[64 * 1024], 64, 1024).expect("it fits");
    let options = options(0.05, 1024);
    let plan = bounded(&layout, &options).expect("a plan");
    let before = Remote::of(&plan).bytes(options.prices);
    let divided = split(&layout, &plan, &options, LSE_BYTES).expect("a plan");
    assert!(divided.bytes * 10 < before * 8, "{} of {before}", divided.bytes);
    assert!(divided.batch.tasks().iter().any(|task| task.keys.start > 0));
}

/// Half of what cells save is saved by a table of a kernel whose launches cost something.
#[test]
fn a_long_document_costs_less_by_a_table_of_times_as_well() {
    let layout = place_in_order(&[128 * 1024], 16, 8192).expect("it fits");
    let cells = Options { search_steps: Some(10), ..options(0.05, 4096) };
    let axis: Vec<u32> = (0..=17).map(|power| 1 << power).collect();
    let time = |queries: u32, context: u32| {
        let queries = f64::from(queries.min(context));
        0.003 + queries.max(128.0) * (f64::from(context) - queries / 2.0) / 5e7
    };
    let times: Vec<Vec<f64>> = axis.iter().map(|&q| axis.iter().map(|&context| time(q, context)).collect()).collect();
    let timed = Options { work: Work::Time(TimeTable::new(axis.clone(), axis, &times).expect("a table")), ..cells.clone() };
    let saved = |options: &Options| {
        let plan = bounded(&layout, options).expect("a plan");
        let before = Remote::of(&plan).bytes(options.prices);
        1.0 - split(&layout, &plan, options, LSE_BYTES).expect("a plan").bytes as f64 / before as f64
    };
    let (by_cells, by_time) = (saved(&cells), saved(&timed));
    assert!(by_cells > 0.1 && by_time > by_cells / 2.0, "{by_time} of {by_cells}");
}

#[test]
fn a_long_document_costs_less_within_caps_as_well() {
    let layout = place_in_order(&[32 * 1024], 32, 1024).expect("it fits");
    for pass in [Pass::Forward, Pass::Backward] {
        let free = options(0.05, 1024).of_pass(pass, &Rows::LLAMA_8B);
        let plan = bounded(&layout, &free).expect("a plan");
        let whole = SplitPlan { batch: SplitBatch::of_whole(&plan), bytes: Remote::of(&plan).bytes(free.prices), lse_bytes: 0 };
        let most = used(&whole, &free).into_iter().map(|used| used[0]).max().expect("ranks");
        let caps = Caps { send_bytes: Some(most), ..Caps::default() };
        let capped = split(&layout, &plan, &Options { caps, ..free.clone() }, LSE_BYTES).expect("a plan");
        assert!(used(&capped, &free).into_iter().all(|used| used[0] <= most));
        assert!(capped.bytes * 10 < whole.bytes * 8, "{pass:?}: {} of {}", capped.bytes, whole.bytes);
    }
}

/// Rows of as many numbers between -1 and 1.
fn random_rows(random: &mut TorchRandom, rows: usize, width: usize) -> Vec<Vec<f64>> {
    let mut number = || f64::from(random.below(1 << 24)) / f64::from(1 << 23) - 1.0;
    (0..rows).map(|_| (0..width).map(|_| number()).collect()).collect()
}

/// The output of one query over some keys, and the log-sum-exp of its scores.
fn attend(query: &[f64], keys: &[Vec<f64>], values: &[Vec<f64>]) -> (Vec<f64>, f64) {
    let scores: Vec<f64> = keys.iter().map(|key| 8.0 * query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>()).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let output = (0..query.len()).map(|column| weights.iter().zip(values).map(|(w, v)| w * v[column]).sum::<f64>() / sum);
    (output.collect(), most + sum.ln())
}

/// Partial outputs, weighed by their log-sum-exps.
fn merged(parts: &[(Vec<f64>, f64)]) -> Vec<f64> {
    let most = parts.iter().map(|part| part.1).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = parts.iter().map(|part| (part.1 - most).exp()).sum();
    let column = |column: usize| parts.iter().map(|part| part.0[column] * (part.1 - most).exp()).sum::<f64>() / sum;
    (0..parts[0].0.len()).map(column).collect()
}

#[test]
fn merged_outputs_are_those_of_the_whole_context() {
    let options = options(0.05, 4096);
    let layout = place_in_order(&[1700, 300], 8, 256).expect("they fit");
    let plan = bounded(&layout, &options).expect("a plan");
    let divided = split(&layout, &plan, &options, LSE_BYTES).expect("a plan");
    let mut random = TorchRandom::new(0);
    let mut most_parts = 0;
    for (document, homes) in homes(&layout).iter().enumerate() {
        let [queries, keys, values] = [(); 3].map(|()| random_rows(&mut random, homes.len(), 4));
        for (position, query) in queries.iter().enumerate() {
            let parts: Vec<_> = of_document(&divided, document)
                .filter(|task| task.queries.contains(&(position as u32)))
                .map(|task| context(task, position as u32))
                .map(|range| range.start as usize..range.end as usize)
                .map(|range| attend(query, &keys[range.clone()], &values[range]))
                .collect();
            let (whole, _) = attend(query, &keys[..=position], &values[..=position]);
            let far = whole.iter().zip(merged(&parts)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-12, "document {document}, query {position}: {far}");
            most_parts = most_parts.max(parts.len());
        }
    }
    assert!(most_parts > 1, "some outputs are merged");
}
