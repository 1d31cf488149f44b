//! What operators achieved, and what their device could have done at most.
//!
//! Work is that of the outermost operator around its launch that has a model and stands for all within it (a convolution, a product
//! of matrices, attention, normalisation, an embedding), else of the operator that launched it. Every operator is in the table;
//! those without a model, or whose inputs do not tell, have no figures, nor have those that copy from or to another memory than the
//! device's own, which is not what bounds them.

use std::collections::BTreeMap;

use rankscope_trace::{CategoryKind, CopyDirection, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::arguments::Called;
use crate::models::kernel_type;
use crate::{
    ArgumentRow, Attribution, Card, Category, Dtype, Engine, Inputs, Model, NoFigures, Owner, Params, Product, Spread, Work,
    arguments,
};

/// All operators of one name that were called with the same, and what each of them does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerformanceRow {
    /// The operators, and how long devices worked for each.
    pub operator: ArgumentRow,
    /// Their model, if they have one.
    pub model: Option<Model>,
    /// What they were called with, as the model names it.
    pub params: Params,
    /// What the model says of one of them.
    pub work: Option<Work>,
    /// Why that is nothing.
    pub why_none: Option<NoFigures>,
    /// The product of matrices that each is, and the recorded type of the first of them.
    pub product: Option<(Product, String)>,
    /// Whether they copy from or to another memory than the device's own, or may do so.
    pub leaves_device: bool,
    /// The type of the tensors in their lists, where their kernels name it.
    pub list_type: Option<Dtype>,
}

/// What inputs do not tell of an operator's work and what it launched does: a row is of operators that are alike in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Launched {
    leaves_device: bool,
    list_type: Option<Dtype>,
}

impl Launched {
    /// Of an operator that launched `work`; the model of some `takes_type` of the tensors in a list.
    fn of(trace: &Trace, takes_type: bool, work: &[SpanId]) -> Self {
        let name = |span: SpanId| trace.strings.text(trace.spans.name[span.0 as usize]);
        let leaves_device = work.iter().any(|one| leaves_device(trace, *one));
        // What only finishes what others began names no type.
        let mut types = work.iter().filter(|_| takes_type).filter_map(|one| kernel_type(name(*one)));
        let first = types.next();
        Self { leaves_device, list_type: first.filter(|first| types.all(|other| other == *first)) }
    }
}

/// Products of matrices of one size, for one operator.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmRow {
    /// The operator.
    pub name: String,
    /// The size.
    pub product: Product,
    /// The type of the first matrix, as recorded.
    pub dtype: String,
    /// Floating-point operations of one.
    pub flops: u64,
    /// What each of them does.
    pub work: Work,
    /// What all of them were called with alike.
    pub params: Params,
    /// How long devices worked for each.
    pub time: Spread,
}

/// What keeps an operator from being faster on a device that is used to the full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// Its operations.
    Compute,
    /// The bytes that it moves.
    Memory,
}

/// The least time that a device needs for some work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// In nanoseconds, for all operators together.
    pub ns: f64,
    /// What it is needed for.
    pub bound: Bound,
}

/// The operators of `trace`, those with most time first; [`RankTables`](crate::RankTables) has those with most to gain first.
pub fn performance(trace: &Trace, attribution: &Attribution) -> Vec<PerformanceRow> {
    let mut encloses: FxHashMap<StrId, bool> = FxHashMap::default();
    let mut known = |span: &SpanId| {
        let name = trace.spans.name[span.0 as usize];
        trace.kind(*span) == CategoryKind::CpuOp
            && *encloses.entry(name).or_insert_with(|| Model::encloses(trace.strings.text(name)))
    };
    type Key = (SpanId, StrId, Option<SpanId>);
    let mut work: FxHashMap<Key, (Category, Vec<SpanId>)> = FxHashMap::default();
    for owner in &attribution.owners.all {
        let outermost = attribution.around(owner.span).filter(&mut known).last();
        let name_of = |span: SpanId| trace.spans.name[span.0 as usize];
        // Each replay of a graph is an operator of its own.
        let replay = match owner.owner {
            Owner::Replayed(_, launch) => Some(launch),
            _ => None,
        };
        let key = outermost.map_or((owner.span, owner.name, replay), |span| (span, name_of(span), replay));
        let text = |span: SpanId| trace.strings.text(name_of(span));
        let category = outermost.map_or(owner.category, |span| Category::by(attribution.mode, text(span), text(owner.work[0])));
        work.entry(key).or_insert_with(|| (category, Vec::new())).1.extend_from_slice(&owner.work);
    }
    let mut alike: BTreeMap<Launched, Vec<Called<'_>>> = BTreeMap::new();
    let mut takes_type: FxHashMap<StrId, bool> = FxHashMap::default();
    for ((span, name, _), (category, work)) in &work {
        let (span, name, category) = (*span, *name, *category);
        let of_name = || Model::of(trace.strings.text(name)).is_some_and(Model::takes_kernel_type);
        let takes_type = *takes_type.entry(name).or_insert_with(of_name);
        let operators = alike.entry(Launched::of(trace, takes_type, work)).or_default();
        operators.push(Called { span, name, category, work, below: None });
    }
    of_all(alike.into_iter().map(|(launched, operators)| (launched, arguments::rows(trace, operators))))
}

/// Whether `work` is a copy that is not known to be within a device. ROCm does some copies with kernels of its own, whatever the
/// direction.
fn leaves_device(trace: &Trace, work: SpanId) -> bool {
    let name = || trace.strings.text(trace.spans.name[work.0 as usize]);
    match trace.kind(work) {
        CategoryKind::Memcpy => {
            let told = trace.directions.get(work).filter(|direction| *direction != CopyDirection::Other);
            told.unwrap_or_else(|| CopyDirection::of_text(name())) != CopyDirection::DeviceToDevice
        }
        CategoryKind::Kernel => name().starts_with("__amd_rocclr_copy"),
        _ => false,
    }
}

/// Rows of operators that are alike in what they launched, with most time first.
fn of_all(alike: impl IntoIterator<Item = (Launched, Vec<ArgumentRow>)>) -> Vec<PerformanceRow> {
    let rows =
        alike.into_iter().flat_map(|(launched, rows)| rows.into_iter().map(move |row| PerformanceRow::of(row, launched)));
    let mut rows: Vec<PerformanceRow> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.operator.time.spread.sum_ns));
    rows
}

/// The products of matrices in `rows`, those with most time first.
pub fn gemm(rows: &[PerformanceRow]) -> Vec<GemmRow> {
    let mut sums: FxHashMap<(&str, Product, &str, Work), GemmRow> = FxHashMap::default();
    for row in rows {
        let (Some((product, dtype)), Some(work)) = (&row.product, row.work) else { continue };
        let Some(flops) = work.flops else { continue };
        let name = &row.operator.name;
        let sum = sums.entry((name, *product, dtype, work)).or_insert_with(|| GemmRow {
            name: name.clone(),
            product: *product,
            dtype: dtype.clone(),
            flops,
            work,
            params: row.params.clone(),
            time: Spread::default(),
        });
        sum.time.join(row.operator.time.spread);
        sum.params.retain(|param| row.params.contains(param));
    }
    let mut rows: Vec<GemmRow> = sums.into_values().collect();
    rows.sort_by(|a, b| {
        let key = |row: &GemmRow| (std::cmp::Reverse(row.time.sum_ns), row.product, row.work);
        key(a).cmp(&key(b)).then_with(|| (&a.name, &a.dtype).cmp(&(&b.name, &b.dtype)))
    });
    rows
}

impl PerformanceRow {
    fn of(operator: ArgumentRow, launched: Launched) -> Self {
        let Launched { leaves_device, list_type } = launched;
        let model = Model::of(&operator.name).filter(|_| !leaves_device);
        let inputs =
            operator.dims.as_deref().zip(operator.types.as_deref()).and_then(|(dims, types)| {
                Inputs::parse(dims, types, operator.strides.as_deref(), operator.concrete.as_deref())
            });
        let (mut params, mut work, mut product) = (Params::new(), None, None);
        let is_recorded = operator.dims.is_some() && operator.types.is_some();
        let lists = [&operator.dims, &operator.types, &operator.strides, &operator.concrete];
        let is_cut = || lists.into_iter().flatten().any(|list| Inputs::is_cut(list));
        let mut why_none = match model {
            None if leaves_device => Some(NoFigures::LeavesDevice),
            None => Some(NoFigures::NoModel),
            Some(_) if !is_recorded => Some(NoFigures::NotRecorded),
            Some(_) if is_cut() => Some(NoFigures::Cut),
            Some(_) => Some(NoFigures::Unfit),
        };
        if let Some((model, inputs)) = model.zip(inputs) {
            let inputs = inputs.with_lists_of(list_type);
            params = model.params(&operator.name, &inputs);
            work = model.work(&operator.name, &inputs);
            why_none = match work {
                Some(_) => None,
                None if inputs.has_cut_list() => Some(NoFigures::Cut),
                None if inputs.has_unknown_type() => Some(NoFigures::UnknownType),
                None => Some(NoFigures::Unfit),
            };
            product = model
                .product(&operator.name, &inputs)
                .and_then(|product| Some((product, inputs.recorded_type(product.first)?.to_owned())));
        }
        Self { operator, model, params, work, why_none, product, leaves_device, list_type }
    }

    /// Time that would be saved if all its operators were as fast as `card` allows, in nanoseconds; none where that is not known.
    pub fn saved_ns(&self, card: &Card) -> Option<i64> {
        let least = self.work?.roofline(self.operator.time.spread, card)?;
        Some((self.operator.time.spread.sum_ns as f64 - least.ns).max(0.0).round() as i64)
    }
}

impl Work {
    /// Operations in 10^12 a second that operators achieved which each did this and took `time`; none of work that took no time, nor
    /// where the operations are not known.
    pub fn tflops(&self, time: Spread) -> Option<f64> {
        rate(self.flops?, time)
    }

    /// Bytes in 10^12 a second, likewise.
    pub fn tb_per_s(&self, time: Spread) -> Option<f64> {
        rate(self.bytes, time)
    }

    /// Which units of a device compute it, and in which type, as TraceLens spells both: `matrix_bf16`. None of what computes nothing.
    pub fn spec(&self) -> Option<String> {
        self.flops.filter(|flops| *flops > 0)?;
        let engine = match self.engine {
            Engine::Matrix => "matrix",
            Engine::Vector => "vector",
        };
        Some(format!("{engine}_{}", self.dtype.spec()))
    }

    /// Operations for each byte; none of work that moves nothing.
    pub fn intensity(&self) -> Option<f64> {
        self.flops.filter(|_| self.bytes > 0).map(|flops| flops as f64 / self.bytes as f64)
    }

    /// The least time that `card` needs for as many operators as took `time`; none where one of its figures is not known. Operations
    /// that are not known take none.
    pub fn roofline(&self, time: Spread, card: &Card) -> Option<Roofline> {
        let memory_ns = self.bytes as f64 / card.memory() / 1e3;
        let flops = self.flops.unwrap_or(0);
        let compute_ns = if flops == 0 { 0.0 } else { flops as f64 / card.peak(self.engine, self.dtype)? / 1e3 };
        let (one_ns, bound) = if compute_ns > memory_ns { (compute_ns, Bound::Compute) } else { (memory_ns, Bound::Memory) };
        Some(Roofline { ns: one_ns * time.count as f64, bound })
    }
}

impl Roofline {
    /// The share of `time` that the device needed at least: 1 is as fast as it can be. None of work that took no time. More than 1
    /// means that the data were in a cache already.
    pub fn share(&self, time: Spread) -> Option<f64> {
        (time.sum_ns > 0).then(|| self.ns / time.sum_ns as f64)
    }
}

fn rate(each: u64, time: Spread) -> Option<f64> {
    (time.sum_ns > 0).then(|| each as f64 * time.count as f64 / time.sum_ns as f64 / 1e3)
}

/// Those with most to gain first, then those of which that is not known; ties by time and name.
pub(crate) fn sort(rows: &mut [PerformanceRow], card: Option<&Card>) {
    // Rows come in order of time and name, which stays where there is nothing to gain.
    rows.sort_by_cached_key(|row| std::cmp::Reverse(card.and_then(|card| row.saved_ns(card))));
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<PerformanceRow>, later: Vec<PerformanceRow>, card: Option<&Card>) {
    let mut alike: BTreeMap<Launched, [Vec<ArgumentRow>; 2]> = BTreeMap::new();
    for (stretch, rows) in [std::mem::take(rows), later].into_iter().enumerate() {
        for PerformanceRow { operator, leaves_device, list_type, .. } in rows {
            alike.entry(Launched { leaves_device, list_type }).or_default()[stretch].push(operator);
        }
    }
    let joined = alike.into_iter().map(|(launched, [mut rows, later])| {
        arguments::join(&mut rows, later);
        (launched, rows)
    });
    *rows = of_all(joined);
    sort(rows, card);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cards;

    const TABLE: &str = "[[card]]\nname = \"x\"\ndevices = [\"X\"]\nsource = \"me\"\nmemory = 2.0\nmatrix = { bf16 = 100 }\n";

    fn card() -> Card {
        let device = rankscope_trace::DeviceInfo { index: 0, name: "X".to_owned() };
        Cards::parse(TABLE).unwrap().of_devices(&[device]).unwrap().clone()
    }

    #[test]
    fn the_roofline_is_the_slower_of_computing_and_moving() {
        let work = Work::of_matrices(Dtype::Bf16, 3_000_000, 40_000);
        // Two of them took 100 ns: 3e6 operations take 30 ns at 100 TFLOP/s, 4e4 bytes 20 ns at 2 TB/s.
        let time = Spread { count: 2, sum_ns: 100, min_ns: 50, max_ns: 50 };
        let least = work.roofline(time, &card()).unwrap();
        assert_eq!((least.ns, least.bound, least.share(time)), (60.0, Bound::Compute, Some(0.6)));
        assert_eq!((work.tflops(time), work.tb_per_s(time), work.intensity()), (Some(60.0), Some(0.8), Some(75.0)));
        let moving = Work { flops: Some(1_000_000), ..work };
        let least = moving.roofline(time, &card()).unwrap();
        assert_eq!((least.ns, least.bound), (40.0, Bound::Memory));
        // What is not known of the card is not guessed; what computes nothing needs no such figure.
        assert_eq!(Work { dtype: Dtype::Fp16, ..work }.roofline(time, &card()), None);
        assert!(Work { flops: Some(0), dtype: Dtype::Int64, ..work }.roofline(time, &card()).is_some());
    }

    #[test]
    fn work_that_took_no_time_has_no_rate() {
        let work = Work::of_matrices(Dtype::Bf16, 1, 0);
        let time = Spread { count: 1, ..Spread::default() };
        assert_eq!((work.tflops(time), work.tb_per_s(time), work.intensity()), (None, None, None));
        assert_eq!(work.roofline(time, &card()).unwrap().share(time), None);
    }
}
