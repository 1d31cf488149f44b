//! When every rank enters and leaves every collective, in true time: the part of a job that couples its ranks.
//!
//! All ranks walk phase by phase. At a collective each rank arrives when its own work lets it; the group leaves together, a
//! transfer after its last arrival. A second walk over one rank then needs only the ends from here to come out the same.

use crate::Job;
use crate::Rng;
use crate::schedule::{self, Exchange};
use crate::walk::{Sink, Walk};

/// Arrivals and ends of one collective slot; `[rank]` holds that rank's.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) exchange: Exchange,
    pub(crate) step: u32,
    pub(crate) arrival_ns: Vec<i64>,
    pub(crate) end_ns: Vec<i64>,
}

/// All collective slots in order. Every rank takes part in every slot once, so a slot's index is its ordinal on each rank.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) slots: Vec<Slot>,
}

impl Timeline {
    pub(crate) fn of(job: &Job) -> Self {
        let mut walks: Vec<Walk> = (0..job.ranks).map(|rank| Walk::new(job, rank)).collect();
        let mut ends = Ends::new(job);
        let mut slots: Vec<Slot> = Vec::new();
        for step in 0..job.steps {
            for walk in &mut walks {
                walk.begin_step(step, &mut Unheard);
            }
            for phase in schedule::phases(job) {
                let exchange = schedule::exchange(job, phase);
                let arrival_ns: Vec<i64> = walks.iter_mut().map(|walk| walk.run(phase, &mut Unheard)).collect();
                let Some(exchange) = exchange else { continue };
                let end_ns = ends.of(job, &exchange, &arrival_ns);
                for (walk, &end_ns) in walks.iter_mut().zip(&end_ns) {
                    walk.leave(&exchange, slots.len() as u32, end_ns, &mut Unheard);
                }
                slots.push(Slot { exchange, step, arrival_ns, end_ns });
            }
            for walk in &mut walks {
                walk.end_step(&mut Unheard);
            }
        }
        Self { slots }
    }

    /// The sequence number of a slot within its communicator: every rank has one group of each scope, so counting the slots of
    /// the scope will do.
    pub(crate) fn sequence(&self, slot: u32) -> u32 {
        let scope = self.slots[slot as usize].exchange.scope;
        self.slots[..slot as usize].iter().filter(|earlier| earlier.exchange.scope == scope).count() as u32
    }
}

struct Unheard;

impl Sink for Unheard {}

struct Ends {
    rng: Rng,
    lateness_ns: Vec<i64>,
}

impl Ends {
    fn new(job: &Job) -> Self {
        let mut rng = Rng::lane(job.seed, LANE);
        let lateness_ns = (0..job.ranks).map(|_| rng.below(job.end_noise_ns.saturating_add(1)) as i64).collect();
        Self { rng, lateness_ns }
    }

    fn of(&mut self, job: &Job, exchange: &Exchange, arrival_ns: &[i64]) -> Vec<i64> {
        let transfer_ns = self.rng.around(exchange.transfer_ns, 3);
        (0..job.ranks)
            .map(|rank| {
                let group = schedule::members(job, rank, exchange.scope);
                let last = group.map(|member| arrival_ns[member as usize]).max().unwrap_or_default();
                let late = if exchange.large { self.lateness_ns[rank as usize] } else { 0 };
                last + transfer_ns + late + self.rng.below(TIE_NS) as i64
            })
            .collect()
    }
}

/// How far apart ranks leave a collective they leave "together".
const TIE_NS: u64 = 1_500;

/// Apart from every rank's own stream, which is numbered from 0.
const LANE: u64 = u64::MAX;
