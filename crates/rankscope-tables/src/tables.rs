//! [`RankTables`]: all tables of one rank.

use rankscope_analyze::{Classes, Direction, Side};
use rankscope_trace::Trace;
use rayon::Scope;
use serde::{Deserialize, Serialize};

use crate::backward::{Tied, backward};
use crate::cards::name_of_all;
use crate::graphs::with_captures;
use crate::launch_order::launch_order;
use crate::module_kernels::module_kernels;
use crate::modules::modules;
use crate::python::python_functions;
use crate::{
    AnnotationRow, ArgumentRow, Attribution, BackwardRow, CallRow, Captures, Card, Cards, CopyRow, CounterRow, FunctionRow,
    Idle, IdleGapRow, InferenceRow, InstructionRow, JaxStepRow, KernelRow, Level, Memory, ModuleKernelRow, ModuleRow,
    OperatorRow, OrderRow, Overlap, PerformanceRow, PeriodRow, QueueRow, RecomputeRow, Remarks, SequenceRow, ShortKernels,
    Table, TableSet, annotations, arguments, bandwidth_levels, calls, copies, counters, idle, idle_gaps, inference,
    instructions, jax_steps, kernels, memory, operators, overlap, performance, periods, queue_levels, queues, recompute,
    sequences, short_kernels,
};

/// All tables of one rank. Times are in nanoseconds, on its own clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RankTables {
    /// Sum of the lengths of all device work.
    pub kernel_ns: i64,
    /// Sum of the lengths of the work that no call and no operator is known of.
    pub unattributed_kernel_ns: i64,
    /// Operators by name.
    pub operators: Vec<OperatorRow>,
    /// Operators by name and arguments.
    pub arguments: Vec<ArgumentRow>,
    /// Kernels by name, stream and operator.
    pub kernels: Vec<KernelRow>,
    /// Kernels that took less than 50 us.
    pub short_kernels: ShortKernels,
    /// Calls that launch work, by name.
    pub calls: Vec<CallRow>,
    /// Work that was launched and had not started, by stream.
    pub queues: Vec<QueueRow>,
    /// How long they were over time, by stream; none of several exports, between which nothing is known. So is the next.
    pub queue_levels: Option<Vec<(String, Vec<Level>)>>,
    /// How fast copies and fills were over time, by direction, in bytes a second.
    #[serde(with = "crate::stored::by_direction")]
    pub bandwidth_levels: Option<Vec<(Option<Direction>, Vec<Level>)>>,
    /// Communication, and how much of it compute hides.
    pub overlap: Overlap,
    /// Copies and fills by direction and name.
    pub copies: Vec<CopyRow>,
    /// Annotations of devices and of the host by name.
    pub annotations: Vec<AnnotationRow>,
    /// Sequences of kernels that occur most often; none of several exports, of which the most frequent do not add up.
    pub sequences: Option<Vec<SequenceRow>>,
    /// Steps of an inference engine by what they do.
    pub inference: Vec<InferenceRow>,
    /// Device work that repeats.
    pub periods: Vec<PeriodRow>,
    /// Why devices had nothing to do.
    pub idle: Idle,
    /// The gaps in which they had nothing to do.
    pub idle_gaps: Vec<IdleGapRow>,
    /// Forward operators that ran again during backward.
    pub recompute: Vec<RecomputeRow>,
    /// Memory of devices and of the host.
    pub memory: Memory,
    /// Hardware counters of kernels.
    pub counters: Vec<CounterRow>,
    /// Operators by name and arguments, with what their models say; those with most to gain first.
    pub performance: Vec<PerformanceRow>,
    /// Backward operators and their forward ones.
    pub backward: Vec<BackwardRow>,
    /// Modules of the model; empty where they are not recorded.
    pub modules: Vec<ModuleRow>,
    /// Kernels by module and operator; empty where no modules are recorded.
    pub module_kernels: Vec<ModuleKernelRow>,
    /// In which order steps, modules and operators launch.
    pub launch_order: Vec<OrderRow>,
    /// Functions of Python; empty where their frames are not recorded.
    pub python_functions: Vec<FunctionRow>,
    /// What is missing or odd.
    pub remarks: Remarks,
    /// HLO instructions by module and name; none where the trace names none.
    pub instructions: Vec<InstructionRow>,
    /// Steps, of traces that XLA's profiler wrote; else none.
    pub jax_steps: Vec<JaxStepRow>,
    /// The card that all devices of the rank's host are; none where it is not known.
    pub card: Option<Card>,
    /// The name that drivers have for all its devices; none where it is not recorded, or they differ.
    #[serde(alias = "unknown_card")]
    pub device: Option<String>,
}

impl RankTables {
    /// The tables of `trace`, by the usual classes and with the cards that are known here.
    pub fn of(trace: &Trace) -> Self {
        Self::with(trace, &Classes::default(), Cards::known())
    }

    /// The tables of `trace`, whose work is of `classes` and whose devices are among `cards`.
    pub fn with(trace: &Trace, classes: &Classes, cards: &Cards) -> Self {
        Self::wanted(trace, classes, cards, TableSet::ALL)
    }

    /// The same, but of the tables only those that are `wanted`; the others are empty. What is said of all work is there in any case.
    pub fn wanted(trace: &Trace, classes: &Classes, cards: &Cards, wanted: TableSet) -> Self {
        Self::of_work(trace, Attribution::of_work(trace), classes, cards, wanted)
    }

    /// The same, where `work` is [`Attribution::of_work`] of `trace`.
    pub fn of_work(trace: &Trace, work: Attribution, classes: &Classes, cards: &Cards, wanted: TableSet) -> Self {
        let attribution = work.completed(trace, classes.mode, &[]);
        Self::attributed(trace, &attribution, classes, cards, wanted)
    }

    /// The same, where graphs that `trace` launches may have been captured in other files of its rank.
    pub fn with_captures(trace: &Trace, elsewhere: &[Captures], classes: &Classes, cards: &Cards, wanted: TableSet) -> Self {
        let (trace, captures) = with_captures(trace, elsewhere);
        let attribution = Attribution::with_captures(&trace, classes.mode, &captures);
        let mut tables = Self::attributed(&trace, &attribution, classes, cards, wanted);
        tables.remarks.capture_files = elsewhere.iter().map(Captures::about).collect();
        for (file, tied) in tables.remarks.capture_files.iter_mut().zip(&attribution.elsewhere) {
            file.tied = *tied;
        }
        tables
    }

    fn attributed(trace: &Trace, attribution: &Attribution, classes: &Classes, cards: &Cards, wanted: TableSet) -> Self {
        let (side, mut classed) = classes.work(trace);
        let jax_steps = made(wanted.has_any(&[Table::JaxSteps]), || jax_steps(trace, side, &classed));
        if side == Side::Host {
            classed.clear();
        }
        let mut tables = Self {
            kernel_ns: attribution.kernel_ns(trace),
            unattributed_kernel_ns: attribution.unattributed_ns(trace),
            jax_steps,
            device: name_of_all(&trace.provenance.devices).map(str::to_owned),
            ..Self::default()
        };
        // None of them looks at another one.
        rayon::scope(|all| tables.make(all, trace, attribution, &classed, wanted));
        tables.use_cards(cards);
        tables
    }

    /// Makes the tables that are `wanted`, each by itself, for whichever thread has nothing else to do.
    fn make<'s>(
        &'s mut self,
        all: &Scope<'s>,
        trace: &'s Trace,
        attribution: &'s Attribution,
        classed: &'s [rankscope_analyze::Work],
        wanted: TableSet,
    ) {
        use Table as Of;
        let is_wanted = move |tables: &[Table]| wanted.has_any(tables);
        let (of_modules, module_rows, of_backward) = (&mut self.module_kernels, &mut self.modules, &mut self.backward);
        if is_wanted(&[Of::Backward, Of::Modules, Of::ModuleKernels]) {
            all.spawn(move |_| {
                let tied = Tied::of(trace, attribution);
                *of_backward = made(is_wanted(&[Of::Backward]), || backward(trace, attribution, &tied));
                *module_rows = made(is_wanted(&[Of::Modules]), || modules(trace, attribution, &tied));
                *of_modules = made(is_wanted(&[Of::ModuleKernels]), || module_kernels(trace, attribution, &tied));
            });
        }
        make(all, is_wanted(&[Of::OpsSummary, Of::OpsSummaryByCategory, Of::OpsAcrossRanks]), &mut self.operators, move || {
            operators(trace, attribution)
        });
        make(all, is_wanted(&[Of::OpsUniqueArgs]), &mut self.arguments, move || arguments(trace, attribution));
        make(all, is_wanted(&[Of::KernelSummary, Of::KernelsAcrossRanks]), &mut self.kernels, move || {
            kernels(trace, attribution)
        });
        make(all, is_wanted(&[Of::ShortKernelsSummary, Of::ShortKernelHistogram]), &mut self.short_kernels, move || {
            short_kernels(trace, attribution)
        });
        make(all, is_wanted(&[Of::Launches]), &mut self.calls, move || calls(trace, attribution));
        make(all, is_wanted(&[Of::Queue]), &mut self.queues, move || queues(trace, attribution));
        make(all, is_wanted(&[Of::QueueTimeline]), &mut self.queue_levels, move || Some(queue_levels(trace, attribution)));
        make(all, is_wanted(&[Of::BandwidthTimeline]), &mut self.bandwidth_levels, move || {
            Some(bandwidth_levels(trace, classed))
        });
        make(all, is_wanted(&[Of::Overlap, Of::OverlapAcrossRanks]), &mut self.overlap, move || overlap(trace, classed));
        make(all, is_wanted(&[Of::Copies]), &mut self.copies, move || copies(trace, classed));
        make(all, is_wanted(&[Of::Annotations, Of::AnnotationsAcrossRanks]), &mut self.annotations, move || {
            annotations(trace, attribution)
        });
        make(all, is_wanted(&[Of::Sequences]), &mut self.sequences, move || Some(sequences(trace, attribution)));
        make(all, is_wanted(&[Of::InferenceSteps]), &mut self.inference, move || inference(trace, attribution));
        make(all, is_wanted(&[Of::Periods]), &mut self.periods, move || periods(trace, attribution));
        make(all, is_wanted(&[Of::Idle, Of::IdleAcrossRanks]), &mut self.idle, move || idle(trace, attribution));
        make(all, is_wanted(&[Of::IdleGaps]), &mut self.idle_gaps, move || idle_gaps(trace, attribution));
        make(all, is_wanted(&[Of::Recompute]), &mut self.recompute, move || recompute(trace, attribution));
        make(all, is_wanted(&[Of::Memory, Of::MemoryPeak, Of::MemoryTimeline]), &mut self.memory, move || {
            memory(trace, attribution)
        });
        make(all, is_wanted(&[Of::Counters]), &mut self.counters, move || counters(trace, attribution));
        make(all, is_wanted(&[Of::UnifiedPerfSummary, Of::Gemm]), &mut self.performance, move || {
            performance(trace, attribution)
        });
        make(all, is_wanted(&[Of::LaunchOrder]), &mut self.launch_order, move || launch_order(trace, attribution));
        make(all, is_wanted(&[Of::PythonFunctions]), &mut self.python_functions, move || python_functions(trace, attribution));
        make(all, is_wanted(&[Of::HloOps]), &mut self.instructions, move || instructions(trace, attribution));
        make(all, true, &mut self.remarks, move || Remarks::of(trace, attribution));
    }

    /// Takes the card of the rank's devices from `cards`, and orders by it what a card orders. Where the name of the devices is not
    /// known, the card stays.
    pub fn use_cards(&mut self, cards: &Cards) {
        if let Some(device) = &self.device {
            self.card = cards.of_device(device).cloned();
        }
        crate::performance::sort(&mut self.performance, self.card.as_ref());
    }

    /// The name of all its devices, where it is no known card's.
    pub fn unknown_card(&self) -> Option<&str> {
        self.device.as_deref().filter(|_| self.card.is_none())
    }

    /// Adds those of a later export of the same rank.
    pub fn join(&mut self, later: Self) {
        self.kernel_ns = self.kernel_ns.saturating_add(later.kernel_ns);
        self.unattributed_kernel_ns = self.unattributed_kernel_ns.saturating_add(later.unattributed_kernel_ns);
        crate::operators::join(&mut self.operators, later.operators);
        crate::arguments::join(&mut self.arguments, later.arguments);
        crate::kernels::join(&mut self.kernels, later.kernels);
        self.short_kernels.join(later.short_kernels);
        crate::calls::join(&mut self.calls, later.calls);
        crate::queue::join(&mut self.queues, later.queues);
        (self.queue_levels, self.bandwidth_levels) = (None, None);
        self.overlap.join(later.overlap);
        crate::copies::join(&mut self.copies, later.copies);
        crate::annotations::join(&mut self.annotations, later.annotations);
        self.sequences = None;
        crate::inference::join(&mut self.inference, later.inference);
        // Each export has its own: what lies between them is not recorded.
        self.periods.extend(later.periods);
        self.idle.join(later.idle);
        crate::idle_gaps::join(&mut self.idle_gaps, later.idle_gaps);
        crate::recompute::join(&mut self.recompute, later.recompute);
        self.memory.join(later.memory);
        crate::backward::join(&mut self.backward, later.backward);
        crate::modules::join(&mut self.modules, later.modules);
        crate::module_kernels::join(&mut self.module_kernels, later.module_kernels);
        crate::launch_order::join(&mut self.launch_order, later.launch_order);
        crate::python::join(&mut self.python_functions, later.python_functions);
        self.remarks.join(later.remarks);
        crate::instructions::join(&mut self.instructions, later.instructions);
        crate::jax_steps::join(&mut self.jax_steps, later.jax_steps);
        crate::counters::join(&mut self.counters, later.counters);
        self.device = self.device.take().filter(|device| later.device.as_ref() == Some(device));
        self.card = self.card.take().filter(|card| later.card.as_ref() == Some(card));
        crate::performance::join(&mut self.performance, later.performance, self.card.as_ref());
    }
}

/// Has `table` made where it is wanted.
fn make<'s, T: Send>(all: &Scope<'s>, is_wanted: bool, table: &'s mut T, make: impl FnOnce() -> T + Send + 's) {
    if is_wanted {
        all.spawn(move |_| *table = make());
    }
}

/// What `make` makes where it is wanted, else nothing.
fn made<T: Default>(is_wanted: bool, make: impl FnOnce() -> T) -> T {
    if is_wanted { make() } else { T::default() }
}
