//! What is to be done in a step: times of computations and sizes of exchanges, by rank.

use rankscope_time::{Rank, Span};

use super::build::{Label, What};
use super::cost::Machine;
use crate::exchange::{Exchange, RankExchange, RowCopy, RowSum};
use crate::{Error, Traffic};

/// One exchange as far as time is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Who sends what to whom.
    pub traffic: Traffic,
    /// Bytes that packing reads and writes, by rank.
    pub pack_bytes: Vec<u64>,
    /// Bytes that unpacking reads and writes, by rank.
    pub unpack_bytes: Vec<u64>,
    /// Send buffers, by rank.
    pub send_buffer_bytes: Vec<u64>,
    /// Receive buffers, by rank.
    pub receive_buffer_bytes: Vec<u64>,
}

/// One pass through the attention of one layer, and the dense work around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerWork {
    /// Dense work before the exchange there, by rank.
    pub before: Vec<Span>,
    /// To where attention is computed.
    pub there: Transfer,
    /// Attention, by rank.
    pub attention: Vec<Span>,
    /// From there to where the tokens live.
    pub back: Transfer,
    /// Dense work after it, by rank.
    pub after: Vec<Span>,
}

/// What one microbatch takes in every layer: at least one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Microbatch {
    /// The forward pass; none where the backward pass is looked at by itself.
    pub forward: Option<LayerWork>,
    /// The backward pass; none for inference.
    pub backward: Option<LayerWork>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Microbatches in order. Every stage works through all of them, first forward then backward as far as its successors allow
    /// (one forward, one backward).
    pub microbatches: Vec<Microbatch>,
    /// Layers of one stage.
    pub layers: u32,
    /// Stages of the pipeline; each has all ranks of the plan for itself, placed like the first.
    pub stages: u32,
    /// What each rank hands to its counterpart in the next stage, in bytes, by rank.
    pub activation_bytes: Vec<u64>,
    /// How often the work of a microbatch is done side by side: nano-batches that take turns on a rank.
    pub nano_batches: u32,
    /// Whether one nano-batch may compute while another exchanges.
    pub overlap: bool,
}

impl Transfer {
    /// What `exchange` moves.
    #[must_use]
    pub fn of(exchange: &Exchange) -> Self {
        let by_rank = |bytes: &dyn Fn(&RankExchange) -> u64| exchange.ranks.iter().map(bytes).collect();
        let copied = |copies: &[RowCopy]| -> u64 {
            let row = |copy: &RowCopy| copy.rows.saturating_mul(exchange.tensors[copy.tensor as usize].row_bytes);
            // A copy reads and writes.
            copies.iter().map(row).fold(0, u64::saturating_add).saturating_mul(2)
        };
        let summed = |sums: &[RowSum]| -> u64 {
            let row = |sum: &RowSum| sum.rows.saturating_mul(exchange.tensors[sum.tensor as usize].row_bytes);
            // A sum reads two rows and writes one.
            sums.iter().map(row).fold(0, u64::saturating_add).saturating_mul(3)
        };
        Self {
            traffic: exchange.traffic(),
            pack_bytes: by_rank(&|rank| summed(&rank.sums_before).saturating_add(copied(&rank.pack))),
            unpack_bytes: by_rank(&|rank| copied(&rank.unpack).saturating_add(summed(&rank.sums_after))),
            send_buffer_bytes: by_rank(&|rank| rank.send_bytes),
            receive_buffer_bytes: by_rank(&|rank| rank.receive_bytes),
        }
    }

    /// Nothing to move between `world_size` ranks: a baseline without dispatch.
    #[must_use]
    pub fn nothing(world_size: u32) -> Self {
        let none = vec![0; world_size as usize];
        Self {
            traffic: Traffic::new(world_size, []),
            pack_bytes: none.clone(),
            unpack_bytes: none.clone(),
            send_buffer_bytes: none.clone(),
            receive_buffer_bytes: none,
        }
    }

    /// Bytes in both directions through a rank, the rank itself left out.
    #[must_use]
    pub fn remote_bytes(&self, rank: Rank) -> u64 {
        self.traffic
            .pairs()
            .iter()
            .filter(|pair| pair.0 != pair.1 && (pair.0 == rank || pair.1 == rank))
            .map(|pair| pair.2)
            .sum()
    }

    fn is_of(&self, ranks: usize) -> bool {
        let lists = [&self.pack_bytes, &self.unpack_bytes, &self.send_buffer_bytes, &self.receive_buffer_bytes];
        self.traffic.world_size() as usize == ranks && lists.iter().all(|list| list.len() == ranks)
    }
}

impl Microbatch {
    /// The passes that there are, forward first.
    pub fn passes(&self) -> impl Iterator<Item = &LayerWork> {
        self.forward.iter().chain(&self.backward)
    }
}

impl Step {
    /// Ranks of one stage.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.activation_bytes.len()
    }

    /// What the pass of `label` takes in every layer, if its microbatch has that pass.
    #[must_use]
    pub fn work(&self, label: &Label) -> Option<&LayerWork> {
        let microbatch = self.microbatches.get(label.microbatch as usize)?;
        if label.backward { microbatch.backward.as_ref() } else { microbatch.forward.as_ref() }
    }

    /// How long the operation of `label` keeps `rank` by itself; nothing for an exchange, which depends on others.
    #[must_use]
    pub fn takes(&self, label: &Label, rank: usize, machine: &Machine) -> Span {
        let Some(work) = self.work(label) else { return Span::ZERO };
        match label.what {
            What::Before => work.before[rank],
            What::Attention => work.attention[rank],
            What::After => work.after[rank],
            What::ExchangeThere | What::ExchangeBack => Span::ZERO,
            What::PackThere | What::UnpackThere | What::PackBack | What::UnpackBack => {
                machine.memory(self.copied_bytes(label, rank))
            }
        }
    }

    /// What the operation of `label` reads and writes, if it is a copy.
    #[must_use]
    pub fn copied_bytes(&self, label: &Label, rank: usize) -> u64 {
        let Some(work) = self.work(label) else { return 0 };
        match label.what {
            What::PackThere => work.there.pack_bytes[rank],
            What::UnpackThere => work.there.unpack_bytes[rank],
            What::PackBack => work.back.pack_bytes[rank],
            What::UnpackBack => work.back.unpack_bytes[rank],
            What::Before | What::Attention | What::After | What::ExchangeThere | What::ExchangeBack => 0,
        }
    }

    /// # Errors
    /// [`Error::BadStep`] where a list is not one value a rank, or something is none that has to be.
    pub fn validate(&self) -> Result<(), Error> {
        let ranks = self.ranks();
        for pass in self.microbatches.iter().flat_map(Microbatch::passes) {
            if [&pass.before, &pass.attention, &pass.after].iter().any(|times| times.len() != ranks) {
                return Err(Error::BadStep { what: "computation times must be one a rank" });
            }
            if [&pass.before, &pass.attention, &pass.after].iter().any(|times| times.iter().any(|time| *time < Span::ZERO)) {
                return Err(Error::BadStep { what: "no computation takes less than no time" });
            }
            if !pass.there.is_of(ranks) || !pass.back.is_of(ranks) {
                return Err(Error::BadStep { what: "exchanges must be between the ranks of the step" });
            }
        }
        let has = |microbatch: &Microbatch| [microbatch.forward.is_some(), microbatch.backward.is_some()];
        if self.microbatches.windows(2).any(|two| has(&two[0]) != has(&two[1])) {
            return Err(Error::BadStep { what: "either all microbatches go backward or none, and forward as well" });
        }
        if self.microbatches.iter().any(|microbatch| has(microbatch) == [false; 2]) {
            return Err(Error::BadStep { what: "a microbatch has at least one pass" });
        }
        if self.layers == 0 || self.stages == 0 || self.nano_batches == 0 {
            return Err(Error::BadStep { what: "layers, stages and nano-batches are at least one each" });
        }
        let operations = [u64::from(self.layers) * 9, u64::from(self.stages), u64::from(self.nano_batches) * 2]
            .iter()
            .try_fold(self.microbatches.len() as u64 * ranks.max(1) as u64, |product, many| product.checked_mul(*many));
        match operations {
            Some(operations) if operations <= OPERATIONS_MAX => Ok(()),
            _ => Err(Error::BadStep {
                what: "a step of more than 100 million operations does not fit into memory; play fewer layers",
            }),
        }
    }
}

/// Two instants each: about 2 GB.
const OPERATIONS_MAX: u64 = 100_000_000;
