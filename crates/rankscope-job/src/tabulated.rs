//! A rank's tables as its document has them. Translates; sums up nothing.

mod device;
mod memory;
mod operators;
mod time;

use rankscope_document::{Document, TableNote, Tables};
use rankscope_tables::{RankTables, Remarks, Table, by_category, gemm};

use self::device::{bandwidth_points, copies, counter, kernel, overlap, period, sequence, short_kernel_bin, short_kernels};
use self::operators::{
    arguments, backward, category, function, instructions, launch_order, module, module_kernel, operator, performance, product,
    recompute,
};
use self::time::{annotation, idle, idle_gap, inference, jax_step, launch, queue, queue_points};
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
        module_kernels: Some(tables.module_kernels.iter().map(module_kernel).collect()),
        launch_order: Some(tables.launch_order.iter().map(launch_order).collect()),
        python_functions: Some(tables.python_functions.iter().map(function).collect()),
        hlo_ops: Some(instructions(&tables.instructions)),
        jax_steps: Some(tables.jax_steps.iter().map(jax_step).collect()),
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
        tables.module_kernels.take_if(|_| unless(Table::ModuleKernels));
        tables.launch_order.take_if(|_| unless(Table::LaunchOrder));
        tables.python_functions.take_if(|_| unless(Table::PythonFunctions));
        tables.hlo_ops.take_if(|_| unless(Table::HloOps));
        tables.jax_steps.take_if(|_| unless(Table::JaxSteps));
    }
}

fn notes(tables: &RankTables) -> Vec<TableNote> {
    let of = |about: &'static str| move |text: String| TableNote { about: about.to_owned(), text };
    let attribution = tables.remarks.sentences().into_iter().map(of("attribution"));
    let card = tables.unknown_card().map(Remarks::of_card);
    attribution.chain(card.into_iter().chain(Remarks::of_figures(&tables.performance)).map(of("figures"))).collect()
}

/// `part` of `whole`, 0 to 1; 0 of nothing.
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use rankscope_analyze::Classes;
    use rankscope_document::Rank;
    use rankscope_formats::{ArgsPolicy, ReadOptions, read};
    use rankscope_tables::{Cards, TableSet};
    use rankscope_testkit::{Dialect, Job};
    use rankscope_trace::Trace;

    use super::*;

    #[test]
    fn a_table_that_is_made_alone_is_the_one_that_is_made_with_all() {
        let json = Job { ranks: 2, steps: 3, ..Job::default() }.rank_bytes(1, &Dialect::default());
        let options = ReadOptions::default().with_args(ArgsPolicy::All);
        let trace = read(Cursor::new(json), &options).expect("it is a trace").remove(0).trace.expect("and can be read");
        let told = |wanted: TableSet, table: Table| {
            let made = RankTables::wanted(&trace, &Classes::default(), Cards::known(), wanted);
            let rank = serde_json::to_value(tables(&made)).expect("it is JSON");
            let across = serde_json::to_value(crate::across::across(&[(0, &made), (1, &made)])).expect("it is JSON");
            let sums = ["kernel_ns", "unattributed_kernel_ns", "card"].map(|key| rank[key].clone());
            (sums, rank[table.name()].clone(), across[table.name()].clone())
        };
        for table in Table::ALL {
            assert_eq!(told(TableSet::of([*table]), *table), told(TableSet::ALL, *table), "{table}");
        }
    }

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
