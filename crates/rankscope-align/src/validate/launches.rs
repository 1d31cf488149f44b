//! Kernels and the calls that launch them, tied by external id as torch's validator ties them: the first launch of an id and
//! the first kernel of it. A trace without such ids (JAX's) has them tied by correlation, where one launch has the id. A device
//! clock that is not well tied to its host's shows here first.

use rankscope_trace::{CategoryKind, SpanId, Trace};
use rustc_hash::FxHashMap;

use super::args::Names;
use super::{Check, Finding, Rule};

pub(super) fn check(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::KernelAfterLaunch);
    let launches = Names::that(trace, is_launch);
    let mut first_launch: FxHashMap<u64, SpanId> = FxHashMap::default();
    let mut first_kernel: FxHashMap<u64, SpanId> = FxHashMap::default();
    // Zero is what old releases write for work of no operator.
    for (span, id) in trace.external_ids.iter().filter(|(_, id)| *id != 0) {
        let firsts = match trace.kind(span) {
            CategoryKind::Kernel => &mut first_kernel,
            kind if kind.is_launch() && launches.contain(trace.spans.row(span).name) => &mut first_launch,
            _ => continue,
        };
        let first = firsts.entry(id).or_insert(span);
        if trace.spans.start_ns(span) < trace.spans.start_ns(*first) {
            *first = span;
        }
    }
    let mut pairs: Vec<(SpanId, SpanId)> =
        first_kernel.iter().filter_map(|(id, kernel)| Some((*kernel, *first_launch.get(id)?))).collect();
    if trace.external_ids.is_empty() {
        pairs = correlated(trace);
    }
    pairs.sort_unstable();
    for (kernel, launch) in pairs {
        check.judged += 1;
        let early_ns = trace.spans.start_ns(launch).saturating_sub(trace.spans.start_ns(kernel));
        if early_ns > 0 {
            let why = || format!("starts before its launch by {}", trace.name(launch));
            check.find(1, || Finding::about(trace, kernel, Some(early_ns), why()));
        }
    }
    check
}

/// Kernels and their launches, by the id that both share and no other launch has.
fn correlated(trace: &Trace) -> Vec<(SpanId, SpanId)> {
    let mut launches: FxHashMap<u64, Option<SpanId>> = FxHashMap::default();
    for (span, id) in trace.correlations.iter().filter(|(span, _)| trace.kind(*span).is_launch()) {
        launches.entry(id).and_modify(|launch| *launch = None).or_insert(Some(span));
    }
    let kernels = trace.correlations.iter().filter(|(span, _)| trace.kind(*span) == CategoryKind::Kernel);
    kernels.filter_map(|(kernel, id)| Some((kernel, (*launches.get(&id)?)?))).collect()
}

/// Calls that launch one kernel: `cudaLaunchKernel`, `cudaLaunchKernelExC`, `hipModuleLaunchKernel`, `cuLaunchKernel`.
fn is_launch(name: &str) -> bool {
    name.contains("LaunchKernel") || name == "hipExtLaunchMultiKernelMultiDevice"
}
