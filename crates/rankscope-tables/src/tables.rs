//! [`RankTables`]: all tables of one rank.

use rankscope_analyze::{Classes, Direction, Side};
use rankscope_trace::Trace;
use serde::{Deserialize, Serialize};

use crate::backward::{Tied, backward};
use crate::modules::modules;
use crate::python::python_functions;
use crate::{
    AnnotationRow, ArgumentRow, Attribution, BackwardRow, CallRow, Card, Cards, CopyRow, CounterRow, FunctionRow, Idle,
    IdleGapRow, InferenceRow, InstructionRow, KernelRow, Level, Memory, ModuleRow, OperatorRow, Overlap, PerformanceRow,
    PeriodRow, QueueRow, RecomputeRow, Remarks, SequenceRow, ShortKernels, annotations, arguments, bandwidth_levels, calls,
    copies, counters, idle, idle_gaps, inference, instructions, kernels, memory, operators, overlap, performance, periods,
    queue_levels, queues, recompute, sequences, short_kernels,
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
    /// Functions of Python; empty where their frames are not recorded.
    pub python_functions: Vec<FunctionRow>,
    /// What is missing or odd.
    pub remarks: Remarks,
    /// HLO instructions by module and name; none where the trace names none.
    pub instructions: Vec<InstructionRow>,
    /// The card that all devices of the rank's host are; none where it is not known.
    pub card: Option<Card>,
    /// The name of all its devices, where they have one that is no known card's.
    pub unknown_card: Option<String>,
}

impl RankTables {
    /// The tables of `trace`, by the usual classes and with the cards that are known here.
    pub fn of(trace: &Trace) -> Self {
        Self::with(trace, &Classes::default(), Cards::known())
    }

    /// The tables of `trace`, whose work is of `classes` and whose devices are among `cards`.
    pub fn with(trace: &Trace, classes: &Classes, cards: &Cards) -> Self {
        let attribution = Attribution::by(trace, classes.mode);
        let tied = Tied::of(trace, &attribution);
        let (side, mut classed) = classes.work(trace);
        if side == Side::Host {
            classed.clear();
        }
        let devices = &trace.provenance.devices;
        let card = cards.of_devices(devices).cloned();
        let unknown_card =
            devices.first().filter(|first| card.is_none() && devices.iter().all(|other| other.name == first.name));
        let mut performance = performance(trace, &attribution);
        crate::performance::sort(&mut performance, card.as_ref());
        Self {
            kernel_ns: attribution.kernel_ns(trace),
            unattributed_kernel_ns: attribution.unattributed_ns(trace),
            operators: operators(trace, &attribution),
            arguments: arguments(trace, &attribution),
            kernels: kernels(trace, &attribution),
            short_kernels: short_kernels(trace, &attribution),
            calls: calls(trace, &attribution),
            queues: queues(trace, &attribution),
            queue_levels: Some(queue_levels(trace, &attribution)),
            bandwidth_levels: Some(bandwidth_levels(trace, &classed)),
            overlap: overlap(trace, &classed),
            copies: copies(trace, &classed),
            annotations: annotations(trace, &attribution),
            sequences: Some(sequences(trace, &attribution)),
            inference: inference(trace, &attribution),
            periods: periods(trace, &attribution),
            idle: idle(trace, &attribution),
            idle_gaps: idle_gaps(trace, &attribution),
            recompute: recompute(trace, &attribution),
            memory: memory(trace, &attribution),
            counters: counters(trace, &attribution),
            performance,
            backward: backward(trace, &attribution, &tied),
            modules: modules(trace, &attribution, &tied),
            python_functions: python_functions(trace, &attribution),
            remarks: Remarks::of(trace, &attribution),
            instructions: instructions(trace, &attribution),
            card,
            unknown_card: unknown_card.map(|device| device.name.clone()),
        }
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
        crate::python::join(&mut self.python_functions, later.python_functions);
        self.remarks.join(later.remarks);
        crate::instructions::join(&mut self.instructions, later.instructions);
        crate::counters::join(&mut self.counters, later.counters);
        self.unknown_card = self.unknown_card.take().or(later.unknown_card);
        self.card = self.card.take().filter(|card| later.card.as_ref() == Some(card));
        crate::performance::join(&mut self.performance, later.performance, self.card.as_ref());
    }
}
