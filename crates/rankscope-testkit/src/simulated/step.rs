//! One training step of one rank, from its batch to its optimizer, with whatever the job's cause changes in it.

use super::author::{Author, times};
use super::cause::Cause;
use super::layout::Dimension;
use super::model::{self, ATTENTION_BACKWARD_OPERATOR, Described, Part};
use super::program::{Instruction, Label, Operation, Stream};
use super::schedule::{Pass, passes};

/// Numbers of the forward operators of one microbatch, by which the backward pass finds them.
#[derive(Default)]
struct Sequences {
    embedding: Option<u64>,
    layers: Vec<Vec<u64>>,
    loss: Option<u64>,
}

impl Author<'_> {
    /// Writes a whole step.
    pub(super) fn step(&mut self, step: u32) {
        self.turn_to(step);
        self.open(Label::Step(step));
        self.frame("train.py(61): train_step", None, |author| {
            author.load();
            author.annotation("Optimizer.zero_grad#AdamW.zero_grad", |author| author.spend(12_000));
            author.compile();
            author.passes();
            author.optimize();
            author.fetch();
        });
        self.put(Instruction::Close);
        self.spend(3_000);
    }

    /// The batch: prefetched by other processes, then copied to the device, which waits for it.
    fn load(&mut self) {
        self.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", |author| {
            author.frame("torch/utils/data/dataloader.py(734): __next__", None, |author| {
                author.spend(15_000);
                if let Some(&Cause::DataLoader { rank, ns, every }) = author.job.cause.as_ref()
                    && author.is_slow(rank)
                    && author.step % every.max(1) == every.max(1) - 1
                {
                    author.add(|author| author.spend(ns));
                }
            });
        });
        let pageable = matches!(self.job.cause, Some(Cause::PageableCopies));
        let bytes = self.job.batch_bytes;
        self.within(copy_operator("aten::to"), |author| {
            author.within(copy_operator("aten::copy_"), |author| {
                author.copy(Stream::Copy, true, pageable, bytes);
            });
        });
        self.order(Stream::Copy, Stream::Compute);
    }

    /// What happens once: the first step compiles where the cause says so.
    fn compile(&mut self) {
        if let Some(Cause::FirstStep { ns }) = self.job.cause
            && self.step == 0
        {
            self.add(|author| {
                author.annotation("Torch-Compiled Region: 0/0", |author| {
                    author.frame("torch/_dynamo/convert_frame.py(1318): compile_inner", None, |author| author.spend(ns));
                });
            });
        }
    }

    fn passes(&mut self) {
        let layout = self.job.layout;
        let stage = layout.stage(self.rank);
        let passes = passes(stage, layout.pipeline, self.job.microbatches.max(1));
        let last = passes.len() - 1;
        let mut sequences: Vec<Sequences> = Vec::new();
        let mut reductions = Vec::new();
        for (at, pass) in passes.into_iter().enumerate() {
            match pass {
                Pass::Forward => {
                    let forward = self.forward(stage);
                    if sequences.is_empty() {
                        self.collect_garbage();
                    }
                    sequences.push(forward);
                }
                Pass::Backward(microbatch) => {
                    let forward = std::mem::take(&mut sequences[microbatch as usize]);
                    self.backward(stage, &forward, (at == last).then_some(&mut reductions));
                }
            }
        }
    }

    fn forward(&mut self, stage: u32) -> Sequences {
        let layout = self.job.layout;
        let mut sequences = Sequences::default();
        if stage > 0 {
            let received =
                self.message(Stream::FromPrevious, Operation::Recv, layout.in_stage(self.rank, stage - 1), ACTIVATIONS);
            self.await_event(received);
        }
        self.frame("nn.Module: Transformer_0", None, |author| {
            if stage == 0 {
                sequences.embedding = Some(author.operator(&model::EMBEDDING, &[model::EMBEDDING.ns]));
            }
            for layer in 0..author.layers(stage) {
                let extra = layer >= author.job.layers;
                let before = std::mem::replace(&mut author.adding, extra);
                author.frame("nn.Module: Block_", Some(layer), |author| {
                    let numbers = author.layer(true);
                    sequences.layers.push(numbers);
                });
                author.adding = before;
            }
            if stage + 1 == layout.pipeline {
                sequences.loss = Some(author.operator(&model::LOSS, &[model::LOSS.ns]));
            }
        });
        if stage + 1 < layout.pipeline {
            self.message(Stream::ToNext, Operation::Send, layout.in_stage(self.rank, stage + 1), ACTIVATIONS);
        }
        sequences
    }

    /// The forward pass of a layer; `first` where it is not computed again.
    fn layer(&mut self, first: bool) -> Vec<u64> {
        let mut numbers = Vec::new();
        for part in Part::ALL {
            if part == Part::Up {
                self.exchange_tokens();
            }
            let kernels = self.forward_kernels(part);
            numbers.push(self.operator(&part.described(), &kernels));
            match part {
                Part::Projection => self.sum_activations(),
                Part::Down => {
                    self.exchange_tokens();
                    self.sum_activations();
                }
                _ => {}
            }
            if first && matches!(self.job.cause, Some(Cause::Synchronization)) {
                self.add(Self::fetch);
            }
        }
        if let Some(Cause::TinyKernels { count }) = self.job.cause
            && first
        {
            self.add(|author| (0..count).for_each(|_| author.tiny()));
        }
        numbers
    }

    fn tiny(&mut self) {
        let (name, kernel, ns) = model::TINY;
        self.within(Label::Operator { name, dims: "[[4096], [4096]]", sequence: None }, |author| {
            author.spend(9_000);
            author.kernel(kernel, ns);
        });
    }

    fn backward(&mut self, stage: u32, forward: &Sequences, reductions: Option<&mut Vec<u32>>) {
        let layout = self.job.layout;
        if stage + 1 < layout.pipeline {
            let received = self.message(Stream::FromNext, Operation::Recv, layout.in_stage(self.rank, stage + 1), ACTIVATIONS);
            self.await_event(received);
        }
        self.frame("torch/_tensor.py(630): backward", None, |author| {
            author.on_autograd(|author| author.nodes(forward, reductions));
        });
        if stage > 0 {
            self.message(Stream::ToPrevious, Operation::Send, layout.in_stage(self.rank, stage - 1), ACTIVATIONS);
        }
    }

    /// The backward pass of a microbatch; with `reductions` it is the last one, and gradients are summed up.
    fn nodes(&mut self, forward: &Sequences, mut reductions: Option<&mut Vec<u32>>) {
        let late = matches!(self.job.cause, Some(Cause::LateReduction));
        if let Some(sequence) = forward.loss {
            self.described_node(&model::LOSS, sequence);
        }
        for (layer, numbers) in forward.layers.iter().enumerate().rev() {
            let before = std::mem::replace(&mut self.adding, layer as u32 >= self.job.layers);
            if matches!(self.job.cause, Some(Cause::Recompute)) {
                self.add(|author| {
                    author.within(operator("CheckpointFunctionBackward"), |author| {
                        author.layer(false);
                    });
                });
            }
            for (part, &sequence) in Part::ALL.iter().zip(numbers).rev() {
                self.part_node(*part, sequence);
                if let Some(events) = reductions.as_deref_mut().filter(|_| !late) {
                    self.reduce(*part, events);
                }
            }
            self.adding = before;
        }
        if let Some(sequence) = forward.embedding {
            self.described_node(&model::EMBEDDING, sequence);
        }
        let Some(events) = reductions else { return };
        if late {
            for _ in &forward.layers {
                Part::ALL.iter().rev().for_each(|part| self.reduce(*part, events));
            }
        }
        events.drain(..).for_each(|event| self.await_event(event));
    }

    fn part_node(&mut self, part: Part, sequence: u64) {
        match part {
            Part::Down => self.sum_and_exchange(),
            Part::Projection => self.sum_activations(),
            _ => {}
        }
        let described = part.described();
        let run = described.backward.iter().map(|one| (one.operator, one.kernel, self.backward_kernels(part, one.ns)));
        self.node(&described, sequence, &run.collect::<Vec<_>>());
        if part == Part::Up {
            self.exchange_tokens();
        }
    }

    fn sum_and_exchange(&mut self) {
        self.sum_activations();
        self.exchange_tokens();
    }

    fn described_node(&mut self, described: &Described, sequence: u64) {
        let run: Vec<_> = described.backward.iter().map(|one| (one.operator, one.kernel, vec![one.ns])).collect();
        self.node(described, sequence, &run);
    }

    /// Gradients are summed up in two buckets a layer, as soon as each is complete.
    fn reduce(&mut self, complete: Part, events: &mut Vec<u32>) {
        let elements = match complete {
            Part::Up => NETWORK_GRADIENTS,
            Part::Qkv => ATTENTION_GRADIENTS,
            _ => return,
        };
        if self.job.layout.data() > 1 {
            self.add(|author| {
                events.push(author.collective(Stream::Data, Operation::AllReduce, Dimension::Data, elements));
            });
        }
    }

    fn sum_activations(&mut self) {
        if self.job.layout.tensor > 1 {
            let end = self.collective(Stream::Tensor, Operation::AllReduce, Dimension::Tensor, ACTIVATIONS);
            self.await_event(end);
        }
    }

    fn exchange_tokens(&mut self) {
        if self.job.layout.experts && self.job.layout.data() > 1 {
            let end = self.collective(Stream::Expert, Operation::AllToAll, Dimension::Expert, ACTIVATIONS / 4);
            self.await_event(end);
        }
    }

    fn optimize(&mut self) {
        let (name, kernel, ns) = model::OPTIMIZER;
        self.annotation("Optimizer.step#AdamW.step", |author| {
            author.frame("torch/optim/adamw.py(220): step", None, |author| {
                author.within(Label::Operator { name, dims: "[]", sequence: None }, |author| {
                    author.spend(15_000);
                    author.kernel(kernel, ns);
                });
            });
        });
    }

    /// Fetches a value, for which the host waits.
    fn fetch(&mut self) {
        self.within(operator("aten::item"), |author| {
            author.within(operator("aten::_local_scalar_dense"), |author| {
                author.copy(Stream::Compute, false, false, 4);
                author.put(Instruction::Synchronize(Stream::Compute));
            });
        });
    }

    fn collect_garbage(&mut self) {
        if let Some(Cause::GarbageCollection { ns, every }) = self.job.cause
            && (self.step + self.rank).is_multiple_of(every.max(1))
        {
            self.add(|author| {
                author.frame("train.py(38): collect_garbage", None, |author| {
                    author.frame("<built-in function collect>", None, |author| author.spend(ns));
                });
            });
        }
    }

    fn layers(&self, stage: u32) -> u32 {
        match self.job.cause {
            Some(Cause::HeavyStage { stage: heavy, layers }) if heavy == stage => self.job.layers + layers,
            _ => self.job.layers,
        }
    }

    /// How long each kernel of a forward operator takes.
    fn forward_kernels(&self, part: Part) -> Vec<i64> {
        let ns = part.described().ns;
        match self.job.cause {
            Some(Cause::SlowKernel { rank, part: slow, factor }) if self.is_slow(rank) && part == slow => {
                vec![times(ns, factor)]
            }
            _ => self.uneven(part, part == Part::Attention, ns),
        }
    }

    fn backward_kernels(&self, part: Part, ns: i64) -> Vec<i64> {
        let is_attention = part.described().backward.iter().any(|one| one.operator == ATTENTION_BACKWARD_OPERATOR);
        self.uneven(part, is_attention, ns)
    }

    /// What uneven documents and experts make of an operator.
    fn uneven(&self, part: Part, is_attention: bool, ns: i64) -> Vec<i64> {
        let of_expert = matches!(part, Part::Up | Part::Gelu | Part::Down);
        match self.job.cause {
            Some(Cause::UnevenDocuments { rank, factor, more_kernels }) if self.is_slow(rank) && is_attention => {
                match more_kernels {
                    true => vec![ns; factor.round() as usize],
                    false => vec![times(ns, factor)],
                }
            }
            Some(Cause::UnevenExperts { rank, factor }) if self.is_slow(rank) && of_expert => vec![times(ns, factor)],
            _ => vec![ns],
        }
    }
}

fn operator(name: &'static str) -> Label {
    Label::Operator { name, dims: "[[]]", sequence: None }
}

fn copy_operator(name: &'static str) -> Label {
    Label::Operator { name, dims: "[[8, 512]]", sequence: None }
}

/// Elements of two bytes that go from layer to layer.
const ACTIVATIONS: u64 = 2 << 20;
const ATTENTION_GRADIENTS: u64 = 1 << 20;
const NETWORK_GRADIENTS: u64 = 6 << 20;
