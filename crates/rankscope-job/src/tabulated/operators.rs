//! Operators, and what they achieved.

use rankscope_document::{
    BackwardSummary, CategorySummary, FunctionSummary, GemmSummary, HloInstruction, ModuleSummary, OperatorArguments,
    OperatorPerformance, OperatorSummary, Params, RecomputeSummary,
};
use rankscope_tables::{
    ArgumentRow, BackwardRow, Bound, Card, FunctionRow, GemmRow, InstructionRow, ModuleRow, NoFigures, OperatorRow,
    PerformanceRow, RankTables, RecomputeRow,
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
