//! A plan's exchanges, executed one after the other with fresh inputs, as often as is wanted.

use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use rankscope_dispatch::movement::{self, ElementType, noise};
use rankscope_dispatch::{Assignment, Direction, Error, Exchange, RankExchange, Rows};

use super::{ExecuteError, Expected, Input, Timing, execute};
use crate::{Transport, TransportError};

/// What is executed.
#[derive(Clone, Debug)]
pub struct Trial {
    exchanges: Vec<(Direction, Exchange)>,
    element: ElementType,
    repeat: u32,
    seed: u64,
}

/// What came of one exchange of a trial: it was executed and every byte was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Which exchange.
    pub direction: Direction,
    /// Messages between different ranks.
    pub messages: u64,
    /// Bytes between different ranks.
    pub remote_bytes: u64,
    /// Bytes that ranks keep.
    pub kept_bytes: u64,
    /// By repetition: how long the slowest rank took over each part.
    pub timings: Vec<Timing>,
}

impl Trial {
    /// The four exchanges of a layer: queries, keys and values out; outputs back; their gradients out; all gradients back.
    ///
    /// # Errors
    /// [`Error`] when the plan cannot be given to kernels with these rows.
    pub fn new<'a>(
        plan: impl Into<Assignment<'a>>,
        rows: &Rows,
        element: ElementType,
        repeat: u32,
        seed: u64,
    ) -> Result<Self, Error> {
        Self::of(plan, rows, element, &Direction::LAYER, repeat, seed)
    }

    /// These exchanges, one after the other.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn of<'a>(
        plan: impl Into<Assignment<'a>>,
        rows: &Rows,
        element: ElementType,
        directions: &[Direction],
        repeat: u32,
        seed: u64,
    ) -> Result<Self, Error> {
        let plan = plan.into();
        let exchange = |&direction: &Direction| {
            let exchange = plan.exchange(rows, direction)?;
            exchange.validate()?;
            Ok((direction, exchange))
        };
        let exchanges = directions.iter().map(exchange).collect::<Result<_, Error>>()?;
        Ok(Self { exchanges, element, repeat, seed })
    }

    /// Ranks of the plan.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.exchanges.first().map_or(0, |(_, exchange)| exchange.world_size())
    }

    /// How often each exchange is executed.
    #[must_use]
    pub fn repeat(&self) -> u32 {
        self.repeat
    }

    /// Runs all ranks in threads of this process, each with its end of `job`.
    ///
    /// # Errors
    /// [`ExecuteError`]: what went wrong first at any rank, not what others saw of it.
    pub fn run_threads<T: Transport + Send>(&self, job: Vec<T>) -> Result<Vec<Outcome>, ExecuteError> {
        self.matches(job.len() as u32)?;
        let mut ends: Vec<Option<T>> = job.into_iter().map(Some).collect();
        self.run(|round| {
            let inputs = round.all_inputs();
            let expected = movement::execute(round.exchange, self.element, &inputs)?;
            let timings = round.execute_all(&mut ends, &inputs, &expected)?;
            Ok(timings.into_iter().fold(Timing::default(), slower))
        })
    }

    /// Runs one rank in this process; the others run elsewhere. `slowest` is handed this rank's times and gives those of the
    /// slowest rank, which takes another exchange, of numbers.
    ///
    /// # Errors
    /// [`ExecuteError`]: what went wrong at this rank.
    pub fn run_process<T: Transport>(
        &self,
        end: &mut T,
        slowest: impl Fn(&T, Timing) -> Timing,
    ) -> Result<Vec<Outcome>, ExecuteError> {
        self.matches(end.world_size())?;
        self.run(|round| {
            let part = &round.exchange.ranks[end.rank().0 as usize];
            let input = round.inputs_of(part.rank.0 as usize);
            let expected = round.expected_of(part.rank.0 as usize)?;
            let timing = execute(end, part, &round.exchange.tensors, self.element, Input(&input), Expected(&expected))?;
            Ok(slowest(end, timing))
        })
    }

    fn matches(&self, backend: u32) -> Result<(), ExecuteError> {
        let plan = self.world_size();
        match plan == backend {
            true => Ok(()),
            false => Err(TransportError::WorldSize { plan, backend, advice: "they must be the same" }.into()),
        }
    }

    fn run(&self, mut round: impl FnMut(&Round<'_>) -> Result<Timing, ExecuteError>) -> Result<Vec<Outcome>, ExecuteError> {
        let mut outcomes: Vec<Outcome> =
            self.exchanges.iter().map(|(direction, exchange)| idle(*direction, exchange)).collect();
        for repetition in 0..u64::from(self.repeat) {
            for (number, ((_, exchange), outcome)) in self.exchanges.iter().zip(&mut outcomes).enumerate() {
                let seed = self.seed.wrapping_add(repetition * self.exchanges.len() as u64 + number as u64);
                outcome.timings.push(round(&Round { exchange, element: self.element, seed })?);
            }
        }
        Ok(outcomes)
    }
}

impl Outcome {
    /// The shortest time of a part over all repetitions.
    #[must_use]
    pub fn fastest(&self, part: impl Fn(&Timing) -> Duration) -> Duration {
        self.timings.iter().map(part).min().unwrap_or_default()
    }

    /// The median time of a part over all repetitions.
    #[must_use]
    pub fn median(&self, part: impl Fn(&Timing) -> Duration) -> Duration {
        let mut times: Vec<Duration> = self.timings.iter().map(part).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// One exchange, executed once.
struct Round<'a> {
    exchange: &'a Exchange,
    element: ElementType,
    seed: u64,
}

impl Round<'_> {
    fn inputs_of(&self, rank: usize) -> Vec<Vec<u8>> {
        noise::draw(&self.exchange.ranks[rank], &self.exchange.tensors, self.element, self.seed)
    }

    fn all_inputs(&self) -> Vec<Vec<Vec<u8>>> {
        (0..self.exchange.ranks.len()).map(|rank| self.inputs_of(rank)).collect()
    }

    /// What the simulator gives one rank, with the memory of two: its peers are packed one after the other.
    fn expected_of(&self, rank: usize) -> Result<Vec<Vec<u8>>, Error> {
        let Self { exchange: Exchange { ranks, tensors }, element, .. } = *self;
        let part = &ranks[rank];
        let mut received = vec![0; part.receive_bytes as usize];
        for message in &part.receives {
            let peer = message.peer.0 as usize;
            let sent = movement::pack(&ranks[peer], tensors, element, &self.inputs_of(peer))?;
            let bytes = message.bytes as usize;
            received[message.at as usize..][..bytes].copy_from_slice(&sent[message.peer_at as usize..][..bytes]);
        }
        movement::unpack(part, tensors, element, &received)
    }

    /// A thread per rank. One that fails gives up its end of the job, so that nobody waits for it.
    fn execute_all<T: Transport + Send>(
        &self,
        ends: &mut [Option<T>],
        inputs: &[Vec<Vec<u8>>],
        expected: &[Vec<Vec<u8>>],
    ) -> Result<Vec<Timing>, ExecuteError> {
        let Exchange { ranks, tensors } = self.exchange;
        let run = |slot: &mut Option<T>, part: &RankExchange, input: Input<'_>, expected: Expected<'_>| {
            let end = slot.as_mut().expect("a trial ends with its first error");
            let result = execute(end, part, tensors, self.element, input, expected);
            if result.is_err() {
                *slot = None;
            }
            result
        };
        let results: Vec<_> = thread::scope(|scope| {
            let parts = ends.iter_mut().zip(ranks).zip(inputs.iter().zip(expected));
            let threads = parts.map(|((slot, part), (input, expected))| {
                let run = &run;
                (part.rank, scope.spawn(move || run(slot, part, Input(input), Expected(expected))))
            });
            let threads: Vec<_> = threads.collect();
            let join =
                |(rank, thread): (_, ScopedJoinHandle<'_, _>)| thread.join().unwrap_or(Err(ExecuteError::Panicked(rank)));
            threads.into_iter().map(join).collect()
        });
        let (timings, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        match errors.into_iter().filter_map(Result::err).min_by_key(is_consequence) {
            Some(error) => Err(error),
            None => timings.into_iter().collect(),
        }
    }
}

/// Whether an error says no more than that another rank had one.
fn is_consequence(error: &ExecuteError) -> bool {
    matches!(error, ExecuteError::Transport(TransportError::PeerLeft { .. } | TransportError::Timeout { .. }))
}

fn slower(a: Timing, b: Timing) -> Timing {
    Timing {
        pack: a.pack.max(b.pack),
        exchange: a.exchange.max(b.exchange),
        unpack: a.unpack.max(b.unpack),
        keep: a.keep.max(b.keep),
    }
}

fn idle(direction: Direction, exchange: &Exchange) -> Outcome {
    let traffic = exchange.traffic();
    let (kept, remote): (Vec<_>, Vec<_>) = traffic.pairs().iter().partition(|pair| pair.0 == pair.1);
    let bytes = |pairs: &[(_, _, u64)]| pairs.iter().map(|pair| pair.2).sum();
    let messages = remote.len() as u64;
    Outcome { direction, messages, remote_bytes: bytes(&remote), kept_bytes: bytes(&kept), timings: Vec::new() }
}
