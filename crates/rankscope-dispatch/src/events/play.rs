//! Playing a program: every operation of every rank gets its start and its end.
//!
//! All ranks of a stage issue the same operations, so one operation is done for all of them at once as soon as it heads its queue
//! and what it needs has been done. Which head is taken first does not matter: each start is a maximum over ends that are known.

use rankscope_time::{Rank, Span};

use super::account::Outcome;
use super::build::{Label, Operation, Program};
use super::cost::Machine;
use super::flows;
use super::work::{Step, Transfer};
use crate::Error;
use crate::network::{Network, Prediction};

/// How exchanges are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// Every rank stays what the network model predicts, once all it talks to are there.
    #[default]
    Model,
    /// Messages are flows that start when both ends are there and share links fairly. Slower to play; sees a message that goes
    /// out early or late. Tables of small sizes are of no use to it.
    Flows,
}

/// One operation as it was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Which.
    pub label: Label,
    /// When each rank of the stage began it, after the start of the step. Of an exchange: when it was posted.
    pub start: Vec<Span>,
    /// When each rank had done it.
    pub end: Vec<Span>,
    /// Of an exchange: when the last of those a rank talks to had come. Empty otherwise.
    pub met: Vec<Span>,
}

/// Plays `step`.
///
/// # Errors
/// [`Error::BadStep`]; [`Error::BadNetwork`].
pub fn play(step: &Step, machine: &Machine, network: &Network, wire: Wire) -> Result<Outcome, Error> {
    step.validate()?;
    network.validate()?;
    let program = Program::of(step);
    let mut player = Player::new(step, machine, network, wire, &program)?;
    let mut queues = Queue::all(step, &program);
    // Every round takes what heads a queue and can start; a program without cycles always has such a head.
    while queues.iter().any(|queue| queue.head().is_some()) {
        let mut moved = false;
        for queue in &mut queues {
            while let Some(at) = queue.head().filter(|at| player.can_start(&program.operations[*at])) {
                player.operation(&program, at, queue)?;
                queue.next += 1;
                moved = true;
            }
        }
        if !moved {
            return Err(Error::BadStep { what: "its operations wait for each other" });
        }
    }
    let played = player.played.into_iter().flatten().collect();
    Ok(Outcome::of(step, played))
}

/// One queue of one stage.
#[derive(Debug)]
struct Queue {
    issued: Vec<usize>,
    next: usize,
    /// When each rank is through with what came before.
    free: Vec<Span>,
}

impl Queue {
    /// Two queues a stage where exchanges may overlap, else one for everything.
    fn all(step: &Step, program: &Program) -> Vec<Self> {
        let queue = |issued: Vec<usize>| Self { issued, next: 0, free: vec![Span::ZERO; step.ranks()] };
        let mut queues = Vec::new();
        for issued in &program.issued {
            if !step.overlap {
                queues.push(queue(issued.clone()));
                continue;
            }
            let is_exchange = |at: &usize| program.operations[*at].label.what.is_exchange();
            let (network, computation) = issued.iter().copied().partition(is_exchange);
            queues.extend([queue(computation), queue(network)]);
        }
        queues
    }

    fn head(&self) -> Option<usize> {
        self.issued.get(self.next).copied()
    }
}

struct Player<'a> {
    step: &'a Step,
    machine: &'a Machine,
    network: &'a Network,
    wire: Wire,
    /// What the exchanges of each microbatch take: forward there and back, backward there and back.
    predictions: Vec<[Option<Prediction>; 4]>,
    /// How long activations are on the way to the next stage, by rank.
    hand_over: Vec<Span>,
    played: Vec<Option<Played>>,
}

impl<'a> Player<'a> {
    fn new(step: &'a Step, machine: &'a Machine, network: &'a Network, wire: Wire, program: &Program) -> Result<Self, Error> {
        let predict = |transfer: Option<&Transfer>| transfer.map(|one| network.predict(&one.traffic)).transpose();
        let mut predictions = Vec::with_capacity(step.microbatches.len());
        for microbatch in &step.microbatches {
            let (forward, backward) = (microbatch.forward.as_ref(), microbatch.backward.as_ref());
            predictions.push([
                predict(forward.map(|work| &work.there))?,
                predict(forward.map(|work| &work.back))?,
                predict(backward.map(|work| &work.there))?,
                predict(backward.map(|work| &work.back))?,
            ]);
        }
        let ranks = u32::try_from(step.ranks()).unwrap_or(u32::MAX);
        let hand_over = |(rank, bytes): (u32, &u64)| match rank.checked_add(ranks) {
            Some(next) if *bytes > 0 => network.message(Rank(rank), Rank(next), *bytes),
            _ => Span::ZERO,
        };
        let hand_over = (0..ranks).zip(&step.activation_bytes).map(hand_over).collect();
        Ok(Self { step, machine, network, wire, predictions, hand_over, played: vec![None; program.operations.len()] })
    }

    fn can_start(&self, operation: &Operation) -> bool {
        operation.after.is_none_or(|after| self.played[after].is_some())
    }

    fn operation(&mut self, program: &Program, at: usize, queue: &mut Queue) -> Result<(), Error> {
        let operation = &program.operations[at];
        let mut start = queue.free.clone();
        if let Some(before) = operation.after.and_then(|after| self.played[after].as_ref()) {
            for (rank, start) in start.iter_mut().enumerate() {
                let way = if operation.handed_over { self.hand_over[rank] } else { Span::ZERO };
                *start = (*start).max(before.end[rank] + way);
            }
        }
        let (end, met) = if operation.label.what.is_exchange() {
            self.exchange(&operation.label, &start)?
        } else {
            let takes = |rank: usize| self.step.takes(&operation.label, rank, self.machine);
            (start.iter().enumerate().map(|(rank, start)| *start + takes(rank)).collect(), Vec::new())
        };
        queue.free.clone_from(&end);
        self.played[at] = Some(Played { label: operation.label, start, end, met });
        Ok(())
    }

    /// Ends of an exchange that the ranks post at `posted`, and when each had met its peers.
    fn exchange(&self, label: &Label, posted: &[Span]) -> Result<(Vec<Span>, Vec<Span>), Error> {
        let transfer = self.step.work(label).and_then(|work| label.what.transfer(work));
        let Some(transfer) = transfer else { return Ok((posted.to_vec(), posted.to_vec())) };
        let mut met = posted.to_vec();
        for &(from, to, _) in transfer.traffic.pairs() {
            let (from, to) = (from.0 as usize, to.0 as usize);
            met[from] = met[from].max(posted[to]);
            met[to] = met[to].max(posted[from]);
        }
        if self.wire == Wire::Flows {
            return Ok((flows::ends(self.network, &transfer.traffic, posted), met));
        }
        let stays = self.predictions[label.microbatch as usize][label.exchange()].as_ref();
        let stay = |rank: usize| stays.map_or(Span::ZERO, |prediction| prediction.ranks[rank].stay);
        Ok((met.iter().enumerate().map(|(rank, met)| *met + stay(rank)).collect(), met))
    }
}
