//! A rank's tables as its document has them. Translates; sums up nothing.

mod memory;

use rankscope_analyze::{Direction, Side};
use rankscope_document::{
    AccountingSide, AnnotationSummary, BackwardSummary, BandwidthPoint, CategorySummary, CopySummary, CounterSummary, Document,
    FunctionSummary, GemmSummary, HloInstruction, IdleBreakdown, IdleGapSummary, InferenceSteps, KernelOverlap, KernelSummary,
    LaunchSummary, ModuleSummary, OperatorArguments, OperatorPerformance, OperatorSummary, OverlapSummary, Params,
    PeriodSummary, QueuePoint, QueueSummary, RecomputeSummary, SequenceSummary, ShortKernelBin, ShortKernelSummary, StreamIdle,
    TableNote, Tables,
};
use rankscope_tables::{
    AnnotationRow, ArgumentRow, BackwardRow, Bound, CallRow, Card, CopyRow, CounterRow, FunctionRow, GemmRow, Idle, IdleGapRow,
    InferenceEngine, InferenceRow, InstructionRow, KernelRow, Level, ModuleRow, NoFigures, OperatorRow, Overlap, OverlapRow,
    PerformanceRow, PeriodRow, Phase, QueueRow, RankTables, RecomputeRow, Remarks, SequenceRow, ShortKernelRow, Table,
    by_category, gemm,
};

use crate::JobTable;

/// All `tables` of a rank.
pub(crate) fn tables(tables: &RankTables) -> Tables {
    Tables {
        kernel_ns: tables.kernel_ns,
        unattributed_kernel_ns: tables.unattributed_kernel_ns,
        notes: notes(tables),
        ops_summary: Some(tables.operators.iter().map(operator).collect()),
        ops_summary_by_category: Some(by_category(&tables.operators).iter().map(category).collect()),
        ops_unique_args: Some(tables.arguments.iter().map(arguments).collect()),
        kernel_summary: Some(tables.kernels.iter().map(kernel).collect()),
        short_kernels_summary: Some(short_kernels(tables)),
        short_kernel_histogram: Some(tables.short_kernels.histogram().map(short_kernel_bin).collect()),
        launches: Some(tables.calls.iter().map(launch).collect()),
        queue: Some(tables.queues.iter().map(queue).collect()),
        queue_timeline: tables.queue_levels.as_deref().map(queue_points),
        overlap: Some(overlap(&tables.overlap)),
        copies: Some(tables.copies.iter().map(copies).collect()),
        bandwidth_timeline: tables.bandwidth_levels.as_deref().map(bandwidth_points),
        annotations: Some(tables.annotations.iter().map(annotation).collect()),
        sequences: tables.sequences.as_ref().map(|rows| rows.iter().map(sequence).collect()),
        inference_steps: Some(tables.inference.iter().map(inference).collect()),
        periods: Some(tables.periods.iter().map(period).collect()),
        idle: Some(idle(&tables.idle)),
        idle_gaps: Some(tables.idle_gaps.iter().map(idle_gap).collect()),
        recompute: Some(recompute(tables)),
        memory: Some(memory::devices(&tables.memory)),
        memory_peak: Some(memory::holders(&tables.memory)),
        memory_timeline: memory::points(&tables.memory),
        counters: Some(tables.counters.iter().map(counter).collect()),
        card: tables.card.as_ref().map(|card| card.name.clone()),
        gemm: Some(gemm(&tables.performance).iter().map(|row| product(row, tables.card.as_ref())).collect()),
        unified_perf_summary: Some(tables.performance.iter().map(|row| performance(row, tables.card.as_ref())).collect()),
        backward: Some(tables.backward.iter().map(backward).collect()),
        modules: Some(tables.modules.iter().map(module).collect()),
        python_functions: Some(tables.python_functions.iter().map(function).collect()),
        hlo_ops: Some(instructions(&tables.instructions)),
    }
}

/// Leaves of the ranks' tables in `document` those that were `chosen`, and of the job's those in `of_job`; nothing where none is.
pub fn select_tables(document: &mut Document, chosen: &[Table], of_job: &[JobTable]) {
    crate::collective_tables::select(&mut document.collective_tables, of_job);
    if chosen.is_empty() {
        document.ranks.iter_mut().for_each(|rank| rank.tables = None);
    }
    let unless = |table: Table| !chosen.contains(&table);
    if let Some(across) = &mut document.across_ranks {
        across.ops_across_ranks.take_if(|_| unless(Table::OpsAcrossRanks));
        across.kernels_across_ranks.take_if(|_| unless(Table::KernelsAcrossRanks));
        across.annotations_across_ranks.take_if(|_| unless(Table::AnnotationsAcrossRanks));
        across.idle_across_ranks.take_if(|_| unless(Table::IdleAcrossRanks));
        across.overlap_across_ranks.take_if(|_| unless(Table::OverlapAcrossRanks));
    }
    document.across_ranks.take_if(|_| Table::ALL.iter().all(|table| table.across_ranks().is_none_or(unless)));
    for tables in document.ranks.iter_mut().filter_map(|rank| rank.tables.as_mut()) {
        tables.ops_summary.take_if(|_| unless(Table::OpsSummary));
        tables.ops_summary_by_category.take_if(|_| unless(Table::OpsSummaryByCategory));
        tables.ops_unique_args.take_if(|_| unless(Table::OpsUniqueArgs));
        tables.kernel_summary.take_if(|_| unless(Table::KernelSummary));
        tables.short_kernels_summary.take_if(|_| unless(Table::ShortKernelsSummary));
        tables.short_kernel_histogram.take_if(|_| unless(Table::ShortKernelHistogram));
        tables.launches.take_if(|_| unless(Table::Launches));
        tables.queue.take_if(|_| unless(Table::Queue));
        tables.queue_timeline.take_if(|_| unless(Table::QueueTimeline));
        tables.overlap.take_if(|_| unless(Table::Overlap));
        tables.copies.take_if(|_| unless(Table::Copies));
        tables.bandwidth_timeline.take_if(|_| unless(Table::BandwidthTimeline));
        tables.annotations.take_if(|_| unless(Table::Annotations));
        tables.sequences.take_if(|_| unless(Table::Sequences));
        tables.inference_steps.take_if(|_| unless(Table::InferenceSteps));
        tables.periods.take_if(|_| unless(Table::Periods));
        tables.idle.take_if(|_| unless(Table::Idle));
        tables.idle_gaps.take_if(|_| unless(Table::IdleGaps));
        tables.recompute.take_if(|_| unless(Table::Recompute));
        tables.memory.take_if(|_| unless(Table::Memory));
        tables.memory_peak.take_if(|_| unless(Table::MemoryPeak));
        tables.memory_timeline.take_if(|_| unless(Table::MemoryTimeline));
        tables.counters.take_if(|_| unless(Table::Counters));
        tables.gemm.take_if(|_| unless(Table::Gemm));
        tables.unified_perf_summary.take_if(|_| unless(Table::UnifiedPerfSummary));
        tables.backward.take_if(|_| unless(Table::Backward));
        tables.modules.take_if(|_| unless(Table::Modules));
        tables.python_functions.take_if(|_| unless(Table::PythonFunctions));
        tables.hlo_ops.take_if(|_| unless(Table::HloOps));
    }
}

fn inference(row: &InferenceRow) -> InferenceSteps {
    let engine = match row.engine {
        InferenceEngine::Vllm => "vllm",
        InferenceEngine::Sglang => "sglang",
        _ => "other",
    };
    let phase = match row.phase {
        Phase::Prefill => "prefill",
        Phase::Decode => "decode",
        _ => "mixed",
    };
    InferenceSteps {
        engine: engine.to_owned(),
        phase: phase.to_owned(),
        requests: row.requests,
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        tokens: row.tokens,
        ns_per_token: row.ns_per_token(),
        kernel_ns: row.kernel_ns,
    }
}

fn period(row: &PeriodRow) -> PeriodSummary {
    PeriodSummary {
        work: row.work,
        repetitions: row.repetitions,
        share: row.covered as f64 / row.all.max(1) as f64,
        at_ns: row.at_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        kernel_mean_ns: row.kernel.mean_ns(),
        first: row.first.clone(),
        marked_steps: row.marked_steps,
    }
}

fn idle(idle: &Idle) -> IdleBreakdown {
    let stream = |(stream, idle): &(String, rankscope_tables::IdleTime)| StreamIdle {
        stream: stream.clone(),
        host_wait_ns: idle.host_wait_ns,
        kernel_wait_ns: idle.kernel_wait_ns,
        other_ns: idle.other_ns,
    };
    IdleBreakdown {
        host_wait_ns: idle.whole.host_wait_ns,
        kernel_wait_ns: idle.whole.kernel_wait_ns,
        other_ns: idle.whole.other_ns,
        streams: idle.streams.iter().map(stream).collect(),
    }
}

fn idle_gap(row: &IdleGapRow) -> IdleGapSummary {
    let gap = row.gap.as_ref();
    IdleGapSummary {
        class: if row.is_macro { "macro" } else { "micro" }.to_owned(),
        cause: row.cause.name().to_owned(),
        count: row.count,
        sum_ns: row.sum_ns,
        max_ns: row.max_ns,
        at_ns: gap.map(|gap| gap.at_ns),
        before: gap.map(|gap| gap.before.clone()),
        after: gap.map(|gap| gap.after.clone()),
        annotation: gap.and_then(|gap| gap.annotation.clone()),
        host: row.host.as_ref().and_then(|host| host.name.clone()),
        host_ns: row.host.as_ref().map(|host| host.ns),
    }
}

fn notes(tables: &RankTables) -> Vec<TableNote> {
    let of = |about: &'static str| move |text: String| TableNote { about: about.to_owned(), text };
    let attribution = tables.remarks.sentences().into_iter().map(of("attribution"));
    let card = tables.unknown_card.iter().map(|device| Remarks::of_card(device));
    attribution.chain(card.chain(Remarks::of_figures(&tables.performance)).map(of("figures"))).collect()
}

fn operator(row: &OperatorRow) -> OperatorSummary {
    OperatorSummary {
        name: row.name.clone(),
        category: row.category.name().to_owned(),
        count: row.count,
        direct_kernel_ns: row.direct_kernel_ns,
        subtree_kernel_ns: row.subtree_kernel_ns,
        kernel_sum_ns: row.kernel_sum_ns,
    }
}

fn category(row: &rankscope_tables::CategoryRow) -> CategorySummary {
    CategorySummary {
        category: row.category.name().to_owned(),
        count: row.count,
        direct_kernel_ns: row.direct_kernel_ns,
        kernel_sum_ns: row.kernel_sum_ns,
    }
}

fn arguments(row: &ArgumentRow) -> OperatorArguments {
    OperatorArguments {
        name: row.name.clone(),
        category: row.category.name().to_owned(),
        input_dims: row.dims.clone(),
        input_types: row.types.clone(),
        input_strides: row.strides.clone(),
        concrete_inputs: row.concrete.clone(),
        count: row.time.count,
        direct_kernel_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
    }
}

fn kernel(row: &KernelRow) -> KernelSummary {
    KernelSummary {
        parent_op: row.parent_op.clone(),
        category: row.category.name().to_owned(),
        name: row.name.clone(),
        stream: row.stream.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
    }
}

fn short_kernels(tables: &RankTables) -> Vec<ShortKernelSummary> {
    let summary = |row: &ShortKernelRow| ShortKernelSummary {
        parent_op: row.parent_op.clone(),
        input_dims: row.dims.clone(),
        name: row.name.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        share: share(row.time.sum_ns, tables.kernel_ns),
    };
    tables.short_kernels.rows.iter().map(summary).collect()
}

fn short_kernel_bin((from_ns, to_ns, count): (i64, i64, u64)) -> ShortKernelBin {
    ShortKernelBin { from_ns, to_ns, count }
}

/// `part` of `whole`, 0 to 1; 0 of nothing.
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn launch(row: &CallRow) -> LaunchSummary {
    LaunchSummary {
        name: row.name.clone(),
        count: row.call.spread.count,
        work: row.work.spread.count,
        call_min_ns: row.call.spread.min_ns,
        call_median_ns: row.call.median_ns,
        call_mean_ns: row.call.spread.mean_ns(),
        call_max_ns: row.call.spread.max_ns,
        delay_min_ns: row.delay.spread.min_ns,
        delay_median_ns: row.delay.median_ns,
        delay_mean_ns: row.delay.spread.mean_ns(),
        delay_max_ns: row.delay.spread.max_ns,
        work_min_ns: row.work.spread.min_ns,
        work_median_ns: row.work.median_ns,
        work_mean_ns: row.work.spread.mean_ns(),
        work_max_ns: row.work.spread.max_ns,
        shorter_work: row.shorter_work,
        long_calls: row.long_calls,
        late_starts: row.late_starts,
    }
}

fn queue(row: &QueueRow) -> QueueSummary {
    QueueSummary {
        stream: row.stream.clone(),
        count: row.count,
        most: row.most,
        mean: row.mean(),
        waited_ns: row.waited_ns,
        window_ns: row.window_ns,
        blocked_ns: row.blocked_ns,
    }
}

fn queue_points(queues: &[(String, Vec<Level>)]) -> Vec<QueuePoint> {
    let points = queues.iter().flat_map(|(stream, levels)| levels.iter().map(move |level| (stream, level)));
    points.map(|(stream, level)| QueuePoint { stream: stream.clone(), at_ns: level.at_ns, queued: level.level }).collect()
}

fn bandwidth_points(directions: &[(Option<Direction>, Vec<Level>)]) -> Vec<BandwidthPoint> {
    let points = directions.iter().flat_map(|(way, levels)| levels.iter().map(move |level| (way, level)));
    let point = |(way, level): (&Option<Direction>, &Level)| BandwidthPoint {
        direction: way.map_or("memset", direction).to_owned(),
        at_ns: level.at_ns,
        gb_per_s: level.level as f64 / 1e9,
    };
    points.map(point).collect()
}

fn overlap(overlap: &Overlap) -> OverlapSummary {
    let kernel = |row: &OverlapRow| KernelOverlap {
        name: row.name.clone(),
        count: row.count,
        comm_ns: row.time.comm_ns,
        hidden_ns: row.time.hidden_ns,
        share: row.time.share(),
    };
    OverlapSummary {
        comm_ns: overlap.whole.comm_ns,
        hidden_ns: overlap.whole.hidden_ns,
        share: overlap.whole.share(),
        kernels: overlap.kernels.iter().map(kernel).collect(),
    }
}

fn copies(row: &CopyRow) -> CopySummary {
    CopySummary {
        direction: row.direction.map_or("memset", direction).to_owned(),
        name: row.name.clone(),
        count: row.count,
        bytes: row.bytes,
        sum_ns: row.sum_ns,
        sized: row.bandwidth.count,
        gb_per_s: row.bandwidth.of_all(),
        mean_gb_per_s: row.bandwidth.mean(),
        max_gb_per_s: row.bandwidth.greatest(),
    }
}

/// The words of the keys of a rank's copies.
fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "host_to_device",
        Direction::DeviceToHost => "device_to_host",
        Direction::DeviceToDevice => "device_to_device",
        Direction::PeerToPeer => "peer_to_peer",
        Direction::Other => "other",
    }
}

fn annotation(row: &AnnotationRow) -> AnnotationSummary {
    AnnotationSummary {
        side: match row.side {
            Side::Device => AccountingSide::Device,
            Side::Host => AccountingSide::Host,
        },
        name: row.name.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        kernel_ns: row.kernel_ns,
    }
}

fn sequence(row: &SequenceRow) -> SequenceSummary {
    SequenceSummary { names: row.names.clone(), count: row.count, kernel_ns: row.kernel_ns }
}

fn recompute(tables: &RankTables) -> Vec<RecomputeSummary> {
    let summary = |row: &RecomputeRow| RecomputeSummary {
        name: row.name.clone(),
        category: row.category.name().to_owned(),
        evidence: row.evidence.name().to_owned(),
        count: row.count,
        matched: row.matched,
        kernel_ns: row.kernel_ns,
        share: share(row.kernel_ns, tables.kernel_ns),
    };
    tables.recompute.iter().map(summary).collect()
}

fn counter(row: &CounterRow) -> CounterSummary {
    CounterSummary {
        operator: row.operator.clone(),
        name: row.name.clone(),
        counter: row.counter.clone(),
        count: row.count,
        sum: row.sum,
        mean: row.mean(),
        min: row.min,
        max: row.max,
    }
}

fn product(row: &GemmRow, card: Option<&Card>) -> GemmSummary {
    let least = card.and_then(|card| row.work.roofline(row.time, card));
    GemmSummary {
        name: row.name.clone(),
        m: row.product.m,
        n: row.product.n,
        k: row.product.k,
        batch: row.product.batch,
        dtype: row.dtype.clone(),
        count: row.time.count,
        flops: row.flops,
        bytes: row.work.bytes,
        kernel_ns: row.time.sum_ns,
        tflops: row.work.tflops(row.time),
        roofline_share: least.and_then(|least| least.share(row.time)),
        params: params(&row.params),
    }
}

fn performance(row: &PerformanceRow, card: Option<&Card>) -> OperatorPerformance {
    let (operator, time) = (&row.operator, row.operator.time);
    let least = row.work.zip(card).and_then(|(work, card)| work.roofline(time, card));
    let bound = |bound: Bound| match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    };
    OperatorPerformance {
        name: operator.name.clone(),
        category: operator.category.name().to_owned(),
        model: row.model.map(|model| model.name().to_owned()),
        input_dims: operator.dims.clone(),
        input_types: operator.types.clone(),
        input_strides: operator.strides.clone(),
        concrete_inputs: operator.concrete.clone(),
        count: time.count,
        kernel_ns: time.sum_ns,
        params: params(&row.params),
        flops: row.work.and_then(|work| work.flops),
        bytes: row.work.map(|work| work.bytes),
        figures: row.work.map(|work| work.figures.name()).or(row.why_none.map(NoFigures::name)).map(str::to_owned),
        intensity: row.work.and_then(|work| work.intensity()),
        tflops: row.work.and_then(|work| work.tflops(time)),
        tb_per_s: row.work.and_then(|work| work.tb_per_s(time)),
        bound: least.map(|least| bound(least.bound).to_owned()),
        roofline_ns: least.map(|least| least.ns),
        roofline_share: least.and_then(|least| least.share(time)),
        saved_ns: card.and_then(|card| row.saved_ns(card)),
    }
}

fn backward(row: &BackwardRow) -> BackwardSummary {
    BackwardSummary {
        forward_op: row.forward_op.clone(),
        name: row.name.clone(),
        count: row.count,
        forward_kernel_ns: row.forward_kernel_ns,
        backward_kernel_ns: row.backward_kernel_ns,
    }
}

fn module(row: &ModuleRow) -> ModuleSummary {
    ModuleSummary {
        path: row.path.clone(),
        name: row.name.clone(),
        depth: row.depth,
        count: row.count,
        forward_kernel_ns: row.forward_kernel_ns,
        backward_kernel_ns: row.backward_kernel_ns,
        subtree_kernel_ns: row.subtree_kernel_ns,
    }
}

fn function(row: &FunctionRow) -> FunctionSummary {
    FunctionSummary {
        name: row.name.clone(),
        count: row.count,
        own_kernel_ns: row.own_kernel_ns,
        subtree_kernel_ns: row.subtree_kernel_ns,
    }
}

fn params(params: &rankscope_tables::Params) -> Params {
    Params(params.iter().map(|(name, value)| (name.clone().into_owned(), param(value))).collect())
}

fn param(value: &rankscope_tables::Param) -> rankscope_document::Param {
    use rankscope_document::Param as To;
    use rankscope_tables::Param as From;
    match value {
        From::Flag(flag) => To::Flag(*flag),
        From::Whole(number) => To::Whole(*number),
        From::Real(number) => To::Real(*number),
        From::Text(text) => To::Text(text.clone()),
        From::List(values) => To::List(values.iter().map(param).collect()),
        _ => To::Unknown,
    }
}

fn instructions(rows: &[InstructionRow]) -> Vec<HloInstruction> {
    let all_ns = rows.iter().map(|row| row.time.sum_ns).fold(0, i64::saturating_add);
    rows.iter().map(|row| instruction(row, all_ns)).collect()
}

fn instruction(row: &InstructionRow, all_ns: i64) -> HloInstruction {
    HloInstruction {
        name: row.name.clone(),
        module: row.module.clone(),
        category: row.category.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        share: share(row.time.sum_ns, all_ns),
        flops: row.flops.sum,
        bytes: row.bytes.sum,
        tflops: row.flops.tera_per_s(),
        tb_per_s: row.bytes.tera_per_s(),
    }
}

#[cfg(test)]
mod tests {
    use rankscope_document::Rank;
    use rankscope_trace::Trace;

    use super::*;

    #[test]
    fn every_table_can_be_chosen_and_is_left_out_where_another_is() {
        for table in Table::ALL {
            let tabulated = RankTables::of(&Trace::default());
            let rank = || Rank { tables: Some(tables(&tabulated)), ..Rank::default() };
            let across_ranks = crate::across::across(&[(0, &tabulated), (1, &tabulated)]);
            let mut document = Document { ranks: vec![rank(), rank()], across_ranks, ..Document::default() };
            select_tables(&mut document, &[*table], &[]);
            let json = serde_json::to_value(&document).expect("it is JSON");
            let places = [&json["ranks"][1]["tables"], &json["across_ranks"]];
            let mut keys: Vec<&str> =
                places.iter().filter_map(|place| place.as_object()).flatten().map(|(key, _)| key.as_str()).collect();
            // What is said beside the tables is always there.
            keys.retain(|key| !["card", "notes", "kernel_ns", "unattributed_kernel_ns"].contains(key));
            assert_eq!(keys, [table.name()]);
        }
    }
}
