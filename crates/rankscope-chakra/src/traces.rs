//! [`Traces`]: who is sent what and when, from the program of a step.

use rankscope_dispatch::events::{Label, LayerWork, Machine, Microbatch, Operation, Program, Step, Transfer, What};
use rankscope_dispatch::{Error, Traffic};
use rankscope_time::{Rank, Span};

use crate::file::{File, Id, Message, Node};

/// A step, ready to be written rank by rank.
#[derive(Debug)]
pub struct Traces<'a> {
    step: &'a Step,
    machine: &'a Machine,
    program: Program,
    /// What ranks receive in each exchange of each microbatch: those of the forward pass there and back, then of the backward pass.
    received: Vec<[Option<Traffic>; 4]>,
    /// By operation: the one of another stage that waits for its activations.
    handed_to: Vec<Option<usize>>,
}

impl<'a> Traces<'a> {
    /// The traces of `step` on ranks such as `machine`.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn new(step: &'a Step, machine: &'a Machine) -> Result<Self, Error> {
        let program = Program::new(step)?;
        let mut handed_to = vec![None; program.operations.len()];
        for (at, operation) in program.operations.iter().enumerate().filter(|(_, operation)| operation.handed_over) {
            if let Some(after) = operation.after {
                handed_to[after] = Some(at);
            }
        }
        Ok(Self { step, machine, program, received: step.microbatches.iter().map(received).collect(), handed_to })
    }

    /// What ranks receive in the exchange of `label`.
    fn received(&self, label: &Label) -> Option<&Traffic> {
        self.received[label.microbatch as usize][label.exchange()].as_ref()
    }

    /// How many files there are: one for each rank of each stage, all ranks of the first stage first.
    pub fn len(&self) -> usize {
        self.step.ranks() * self.step.stages as usize
    }

    /// No rank, no file.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file at `at`, which is that of the simulated processor with this number.
    ///
    /// # Panics
    /// From [`len`](Self::len) on.
    pub fn write(&self, at: usize) -> Vec<u8> {
        let (stage, rank) = (at / self.step.ranks(), at % self.step.ranks());
        let mut issue = Issue { traces: self, npu: at as u32, rank, file: File::new(), queues: Default::default() };
        // What later operations wait for, by operation.
        let mut done: Vec<Vec<Id>> = vec![Vec::new(); self.program.operations.len()];
        for &place in &self.program.issued[stage] {
            let operation = &self.program.operations[place];
            let needed = match operation.after {
                Some(after) if operation.handed_over => issue.receive_activations(after, place),
                Some(after) => done[after].clone(),
                None => Vec::new(),
            };
            let made = issue.operation(place, operation, &needed);
            if let Some(next) = self.handed_to[place] {
                issue.send_activations(place, next, &made);
            }
            done[place] = made;
        }
        issue.file.into_bytes()
    }

    fn npu(&self, stage: u32, rank: usize) -> u32 {
        (stage as usize * self.step.ranks() + rank) as u32
    }

    fn stage_of(&self, place: usize) -> u32 {
        self.program.operations[place].label.stage
    }
}

fn received(microbatch: &Microbatch) -> [Option<Traffic>; 4] {
    let received = |transfer: &Transfer| transfer.traffic.reversed();
    let there = |pass: &Option<LayerWork>| pass.as_ref().map(|work| received(&work.there));
    let back = |pass: &Option<LayerWork>| pass.as_ref().map(|work| received(&work.back));
    let Microbatch { forward, backward } = microbatch;
    [there(forward), back(forward), there(backward), back(backward)]
}

/// One rank's operations on their way into its file.
struct Issue<'a> {
    traces: &'a Traces<'a>,
    npu: u32,
    rank: usize,
    file: File,
    /// What was issued last: to the queue of computation, and to that of the network. Without overlap there is but the first.
    queues: [Vec<Id>; 2],
}

impl Issue<'_> {
    /// Appends the nodes of an operation; returns what has to be done before it is.
    fn operation(&mut self, place: usize, operation: &Operation, needed: &[Id]) -> Vec<Id> {
        let Traces { step, machine, .. } = self.traces;
        let label = &operation.label;
        let queue = usize::from(step.overlap && label.what.is_exchange());
        let order: Vec<Id> = self.queues[queue].iter().copied().filter(|id| !needed.contains(id)).collect();
        let name = label.to_string();
        let made = if label.what.is_exchange() {
            self.exchange(place, operation, needed, &order, &name)
        } else {
            let time = step.takes(label, self.rank, machine);
            let bytes = step.copied_bytes(label, self.rank);
            let node = if label.what.is_copy() {
                Node::Copy { time, bytes }
            } else {
                Node::Compute { time, operations: operations(time, rate(label.what, machine)) }
            };
            // What takes no time is no work, and what waits for it waits for what it would have waited for.
            if time == Span::ZERO { Vec::new() } else { vec![self.file.node(&name, &node, needed, &order)] }
        };
        let made = if made.is_empty() { [needed, &order].concat() } else { made };
        self.queues[queue].clone_from(&made);
        made
    }

    fn exchange(&mut self, place: usize, operation: &Operation, needed: &[Id], order: &[Id], name: &str) -> Vec<Id> {
        let step = self.traces.step;
        let transfer = step.work(&operation.label).and_then(|work| operation.label.what.transfer(work));
        let (Some(transfer), Some(received)) = (transfer, self.traces.received(&operation.label)) else { return Vec::new() };
        let stage = operation.label.stage;
        let own = Rank(self.rank as u32);
        let between = |src: Rank, dst: Rank, bytes: u64| Message {
            src: self.traces.npu(stage, src.0 as usize),
            dst: self.traces.npu(stage, dst.0 as usize),
            bytes,
            tag: place as u32,
        };
        let is_moved = |(src, dst, bytes): &&(Rank, Rank, u64)| src != dst && *bytes > 0;
        let sends = transfer.traffic.sends(own).iter().filter(is_moved).map(|(src, dst, bytes)| between(*src, *dst, *bytes));
        let received = received.sends(own).iter().filter(is_moved);
        let receives = received.map(|(dst, src, bytes)| between(*src, *dst, *bytes));
        let (sends, receives): (Vec<Message>, Vec<Message>) = (sends.collect(), receives.collect());
        let mut made = Vec::with_capacity(sends.len() + receives.len());
        for message in &sends {
            made.push(self.file.node(&format!("{name} to {}", message.dst), &Node::Send(message), needed, order));
        }
        for message in &receives {
            made.push(self.file.node(&format!("{name} from {}", message.src), &Node::Receive(message), needed, order));
        }
        made
    }

    /// Activations of this rank that the operation at `next` of another stage waits for.
    fn send_activations(&mut self, place: usize, next: usize, made: &[Id]) {
        if let Some(message) = self.activations(place, next) {
            self.file.node(&format!("activations to {}", message.dst), &Node::Send(&message), made, &[]);
        }
    }

    fn receive_activations(&mut self, after: usize, place: usize) -> Vec<Id> {
        let Some(message) = self.activations(after, place) else { return Vec::new() };
        vec![self.file.node(&format!("activations from {}", message.src), &Node::Receive(&message), &[], &[])]
    }

    /// From the operation at `from` to the one at `to`; a byte where nothing is said, as one still waits for the other.
    fn activations(&self, from: usize, to: usize) -> Option<Message> {
        let traces = self.traces;
        let npu = |place| traces.npu(traces.stage_of(place), self.rank);
        let message =
            Message { src: npu(from), dst: npu(to), bytes: traces.step.activation_bytes[self.rank].max(1), tag: to as u32 };
        (message.src == self.npu || message.dst == self.npu).then_some(message)
    }
}

/// Operations in a second.
fn rate(what: What, machine: &Machine) -> u64 {
    match what {
        What::Attention => machine.attention_flops_per_second,
        _ => machine.dense_flops_per_second,
    }
}

/// What `rate` does within `time`.
fn operations(time: Span, rate: u64) -> u64 {
    let operations = u128::from(time.as_nanos().max(0) as u64) * u128::from(rate) / 1_000_000_000;
    u64::try_from(operations).unwrap_or(u64::MAX).min(i64::MAX as u64)
}
