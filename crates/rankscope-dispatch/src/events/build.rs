//! The program of a step: the operations of every stage, in the order in which its ranks issue them.
//!
//! A pass through a layer falls into three phases of computation with an exchange behind the first and the second. Nano-batches
//! take turns phase by phase, so that one's exchange lies beside the other's phase.

use std::fmt;

use super::work::{LayerWork, Microbatch, Step, Transfer};
use crate::Error;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Dense work before attention.
    Before,
    /// Into the send buffer of the exchange there.
    PackThere,
    /// Queries, keys and values, or what their gradients need, to where attention is computed.
    ExchangeThere,
    /// Out of its receive buffer.
    UnpackThere,
    /// Attention.
    Attention,
    /// Into the send buffer of the exchange back.
    PackBack,
    /// Outputs, or gradients, to where the tokens live.
    ExchangeBack,
    /// Out of its receive buffer.
    UnpackBack,
    /// Dense work after attention.
    After,
}

/// Which operation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// What it does.
    pub what: What,
    /// Whether in the backward pass.
    pub backward: bool,
    /// The stage that does it.
    pub stage: u32,
    /// For which microbatch.
    pub microbatch: u32,
    /// For which nano-batch of it.
    pub nano_batch: u32,
    /// In which layer of the stage, counted in the order of the pass.
    pub layer: u32,
}

impl What {
    /// Whether it is on the network.
    #[must_use]
    pub fn is_exchange(self) -> bool {
        matches!(self, Self::ExchangeThere | Self::ExchangeBack)
    }

    /// Whether it is a copy on the rank.
    #[must_use]
    pub fn is_copy(self) -> bool {
        matches!(self, Self::PackThere | Self::UnpackThere | Self::PackBack | Self::UnpackBack)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::PackThere => "pack",
            Self::ExchangeThere => "exchange there",
            Self::UnpackThere => "unpack",
            Self::Attention => "attention",
            Self::PackBack => "pack output",
            Self::ExchangeBack => "exchange back",
            Self::UnpackBack => "unpack output",
            Self::After => "after",
        }
    }

    /// The exchange of `work` that it belongs to.
    #[must_use]
    pub fn transfer(self, work: &LayerWork) -> Option<&Transfer> {
        match self {
            Self::PackThere | Self::ExchangeThere | Self::UnpackThere => Some(&work.there),
            Self::PackBack | Self::ExchangeBack | Self::UnpackBack => Some(&work.back),
            Self::Before | Self::Attention | Self::After => None,
        }
    }
}

impl Label {
    /// Which of the four exchanges of a microbatch it belongs to: forward there and back, then those of the backward pass.
    #[must_use]
    pub fn exchange(&self) -> usize {
        let is_back = matches!(self.what, What::PackBack | What::ExchangeBack | What::UnpackBack);
        usize::from(self.backward) * 2 + usize::from(is_back)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pass = if self.backward { " backward" } else { "" };
        write!(f, "{}{pass} m{} n{} l{}", self.what.name(), self.microbatch, self.nano_batch, self.layer)
    }
}

/// One operation, done by every rank of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Which.
    pub label: Label,
    /// The one of the same nano-batch before it, by its place in the program.
    pub after: Option<usize>,
    /// Whether that one is of another stage, whose activations have to come over.
    pub handed_over: bool,
}

/// Operations of a step, and the order in which each stage issues them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// Stage by stage; the first of a pass after the last of the pass that it follows.
    pub operations: Vec<Operation>,
    /// By stage, places in `operations`.
    pub issued: Vec<Vec<usize>>,
}

/// Computation up to the next exchange, and that.
const FIRST: [What; 3] = [What::Before, What::PackThere, What::ExchangeThere];
const MIDDLE: [What; 4] = [What::UnpackThere, What::Attention, What::PackBack, What::ExchangeBack];
const LAST: [What; 2] = [What::UnpackBack, What::After];

impl Program {
    /// The program of `step`.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn new(step: &Step) -> Result<Self, Error> {
        step.validate()?;
        Ok(Self::of(step))
    }

    pub(super) fn of(step: &Step) -> Self {
        let mut program = Self { operations: Vec::new(), issued: Vec::new() };
        for stage in 0..step.stages {
            let mut issued = Vec::new();
            for (microbatch, backward) in one_forward_one_backward(step, stage) {
                program.pass(step, stage, microbatch, backward, &mut issued);
            }
            program.issued.push(issued);
        }
        program.link(step);
        program
    }

    /// One microbatch through all layers of a stage, nano-batches taking turns.
    fn pass(&mut self, step: &Step, stage: u32, microbatch: u32, backward: bool, issued: &mut Vec<usize>) {
        let mut previous: Vec<Option<usize>> = vec![None; step.nano_batches as usize];
        let mut phase = |operations: &[(What, u32)]| {
            for nano_batch in 0..step.nano_batches {
                for &(what, layer) in operations {
                    let label = Label { what, backward, stage, microbatch, nano_batch, layer };
                    let after = previous[nano_batch as usize].replace(self.operations.len());
                    issued.push(self.operations.len());
                    self.operations.push(Operation { label, after, handed_over: false });
                }
            }
        };
        let in_layer = |whats: &[What], layer: u32| -> Vec<(What, u32)> { whats.iter().map(|what| (*what, layer)).collect() };
        phase(&in_layer(&FIRST, 0));
        for layer in 0..step.layers {
            phase(&in_layer(&MIDDLE, layer));
            // The next layer begins on the same rank, so its first phase needs no turn of its own.
            let next = if layer + 1 < step.layers { in_layer(&FIRST, layer + 1) } else { Vec::new() };
            phase(&[in_layer(&LAST, layer), next].concat());
        }
    }

    /// Ties the first operation of each pass to the last of the pass before it: of the stage before, or for the backward pass of
    /// the stage behind; the last stage turns round.
    fn link(&mut self, step: &Step) {
        let key = |label: &Label| (label.stage, label.microbatch, label.nano_batch, label.backward);
        let is_last = |label: &Label| label.what == What::After && label.layer + 1 == step.layers;
        let lasts: std::collections::BTreeMap<_, usize> = self
            .operations
            .iter()
            .enumerate()
            .filter(|(_, operation)| is_last(&operation.label))
            .map(|(at, operation)| (key(&operation.label), at))
            .collect();
        for operation in self.operations.iter_mut().filter(|operation| operation.after.is_none()) {
            let Label { stage, microbatch, nano_batch, backward, .. } = operation.label;
            let turns = stage + 1 == step.stages;
            let source = match (backward, turns) {
                (false, _) => stage.checked_sub(1).map(|before| (before, false)),
                (true, true) => Some((stage, false)),
                (true, false) => Some((stage + 1, true)),
            };
            let Some((from, pass)) = source else { continue };
            operation.after = lasts.get(&(from, microbatch, nano_batch, pass)).copied();
            operation.handed_over = from != stage;
        }
    }
}

/// The order of passes of a stage: one after the other where there is one of each microbatch; else as many forward passes as there are
/// stages behind it, then one backward for each forward.
fn one_forward_one_backward(step: &Step, stage: u32) -> Vec<(u32, bool)> {
    let many = u32::try_from(step.microbatches.len()).unwrap_or(u32::MAX);
    let none = |pass: fn(&Microbatch) -> &Option<LayerWork>| step.microbatches.iter().all(|one| pass(one).is_none());
    let (no_forward, no_backward) = (none(|one| &one.forward), none(|one| &one.backward));
    if no_forward || no_backward {
        return (0..many).map(|microbatch| (microbatch, no_forward && !no_backward)).collect();
    }
    let ahead = (step.stages - stage).min(many);
    let mut order: Vec<(u32, bool)> = (0..ahead).map(|microbatch| (microbatch, false)).collect();
    for microbatch in 0..many {
        order.push((microbatch, true));
        if let Some(next) = microbatch.checked_add(ahead).filter(|next| *next < many) {
            order.push((next, false));
        }
    }
    order
}
