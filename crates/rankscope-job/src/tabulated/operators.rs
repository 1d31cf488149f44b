//! Operators, and what they achieved.

use rankscope_document::{
    BackwardSummary, CategorySummary, FunctionSummary, GemmSummary, HloInstruction, LaunchOrder, LaunchedKernel, ModuleKernel,
    ModuleSummary, OperatorArguments, OperatorPerformance, OperatorSummary, Params, RecomputeSummary,
};
use rankscope_tables::{
    ArgumentRow, BackwardRow, Bound, Card, FunctionRow, GemmRow, InstructionRow, ModuleKernelRow, ModuleRow, NoFigures,
    OperatorRow, OrderRow, PerformanceRow, RankTables, RecomputeRow,
};

use super::share;

pub(super) fn operator(row: &OperatorRow) -> OperatorSummary {
    OperatorSummary {
        name: row.name.clone(),
        category: row.category.name().to_owned(),
        count: row.count,
        direct_kernel_ns: row.direct_kernel_ns,
        subtree_kernel_ns: row.subtree_kernel_ns,
        kernel_sum_ns: row.kernel_sum_ns,
    }
}

pub(super) fn category(row: &rankscope_tables::CategoryRow) -> CategorySummary {
    CategorySummary {
        category: row.category.name().to_owned(),
        count: row.count,
        direct_kernel_ns: row.direct_kernel_ns,
        kernel_sum_ns: row.kernel_sum_ns,
    }
}

pub(super) fn arguments(row: &ArgumentRow) -> OperatorArguments {
    let (own, subtree) = (row.time.spread, row.subtree.spread);
    let thread = row.thread.clone().unwrap_or_default();
    OperatorArguments {
        name: row.name.clone(),
        category: row.category.name().to_owned(),
        input_dims: row.dims.clone(),
        input_types: row.types.clone(),
        input_strides: row.strides.clone(),
        concrete_inputs: row.concrete.clone(),
        count: own.count,
        direct_kernel_ns: own.sum_ns,
        mean_ns: own.mean_ns(),
        min_ns: own.min_ns,
        max_ns: own.max_ns,
        median_ns: row.time.median_ns(),
        std_ns: row.time.std_ns(),
        subtree_kernel_ns: Some(subtree.sum_ns),
        subtree_mean_ns: Some(subtree.mean_ns()),
        subtree_min_ns: Some(subtree.min_ns),
        subtree_max_ns: Some(subtree.max_ns),
        subtree_median_ns: row.subtree.median_ns(),
        subtree_std_ns: row.subtree.std_ns(),
        process_name: thread.process,
        process_label: thread.label,
        thread_name: thread.name,
        example_event: row.example,
        kernels: launched(row),
    }
}

fn launched(row: &ArgumentRow) -> Vec<LaunchedKernel> {
    let kernel = |kernel: &rankscope_tables::LaunchedKernel| LaunchedKernel {
        name: kernel.name.clone(),
        stream: kernel.stream.clone(),
        count: kernel.time.count,
        sum_ns: kernel.time.sum_ns,
        mean_ns: kernel.time.mean_ns(),
        min_ns: kernel.time.min_ns,
        max_ns: kernel.time.max_ns,
    };
    row.kernels.iter().map(kernel).collect()
}

pub(super) fn product(row: &GemmRow, card: Option<&Card>) -> GemmSummary {
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

pub(super) fn performance(row: &PerformanceRow, card: Option<&Card>) -> OperatorPerformance {
    let (operator, time) = (&row.operator, row.operator.time.spread);
    let thread = operator.thread.clone().unwrap_or_default();
    let host = Some(operator.host).filter(|host| host.spread.count > 0);
    let tflops = row.work.and_then(|work| operator.time.rates(work.flops?));
    let tb_per_s = row.work.and_then(|work| operator.time.rates(work.bytes));
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
        min_ns: Some(time.min_ns),
        max_ns: Some(time.max_ns),
        median_ns: operator.time.median_ns(),
        std_ns: operator.time.std_ns(),
        tflops_median: tflops.and_then(|rates| rates.median),
        tflops_min: tflops.map(|rates| rates.min),
        tflops_max: tflops.map(|rates| rates.max),
        tb_per_s_median: tb_per_s.and_then(|rates| rates.median),
        tb_per_s_min: tb_per_s.map(|rates| rates.min),
        tb_per_s_max: tb_per_s.map(|rates| rates.max),
        compute_spec: row.work.and_then(|work| work.spec()),
        host_ns: host.map(|host| host.spread.sum_ns),
        host_mean_ns: host.map(|host| host.spread.mean_ns()),
        host_min_ns: host.map(|host| host.spread.min_ns),
        host_max_ns: host.map(|host| host.spread.max_ns),
        host_median_ns: host.and_then(|host| host.median_ns()),
        host_std_ns: host.and_then(|host| host.std_ns()),
        process_name: thread.process,
        process_label: thread.label,
        thread_name: thread.name,
        example_event: operator.example,
        kernels: launched(operator),
    }
}

pub(super) fn backward(row: &BackwardRow) -> BackwardSummary {
    BackwardSummary {
        forward_op: row.forward_op.clone(),
        name: row.name.clone(),
        count: row.count,
        forward_kernel_ns: row.forward_kernel_ns,
        backward_kernel_ns: row.backward_kernel_ns,
    }
}

pub(super) fn module(row: &ModuleRow) -> ModuleSummary {
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

pub(super) fn module_kernel(row: &ModuleKernelRow) -> ModuleKernel {
    ModuleKernel {
        path: row.path.clone(),
        parent_op: row.parent_op.clone(),
        name: row.name.clone(),
        count: row.count,
        sum_ns: row.sum_ns,
    }
}

pub(super) fn launch_order(row: &OrderRow) -> LaunchOrder {
    LaunchOrder {
        parent: row.parent.clone(),
        names: row.names.clone(),
        length: row.length,
        order: format!("{:016x}", row.order),
        set: format!("{:016x}", row.set),
        count: row.count,
    }
}

pub(super) fn function(row: &FunctionRow) -> FunctionSummary {
    FunctionSummary {
        name: row.name.clone(),
        count: row.count,
        own_kernel_ns: row.own_kernel_ns,
        subtree_kernel_ns: row.subtree_kernel_ns,
    }
}

pub(super) fn params(params: &rankscope_tables::Params) -> Params {
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

pub(super) fn instructions(rows: &[InstructionRow]) -> Vec<HloInstruction> {
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

pub(super) fn recompute(tables: &RankTables) -> Vec<RecomputeSummary> {
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
