//! Days of running jobs, step by step, with what is planted in them: for who judges alarms.
//!
//! Each rank's work is a second that scatters by two per cent, resembles the step before, and now and then takes much longer. Every
//! so many steps all of them take three times as long, every hour they save for minutes and every two hours they evaluate. Five
//! [`DayShape`]s differ in what makes a healthy job look ill. What is true is said by [`Planted`]; nothing of how alarms are
//! raised is known here.

use rankscope_clock::Rng;

/// What a healthy job does that alarms must bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayShape {
    /// Nothing else.
    Steady,
    /// All ranks become slower and faster by 3 % over the day.
    Drift,
    /// Sequences differ in length from step to step, for all ranks alike.
    Lengths,
    /// Two stages of a pipeline: ranks of one wait for those of the other before they meet their own group.
    Pipeline,
    /// The job is started again three times.
    Restarts,
}

impl DayShape {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Steady, Self::Drift, Self::Lengths, Self::Pipeline, Self::Restarts];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Drift => "drift of 3 %",
            Self::Lengths => "sequence lengths",
            Self::Pipeline => "pipeline",
            Self::Restarts => "restarts",
        }
    }
}

/// What is wrong from some step on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Planted {
    /// One rank's work takes so many times as long.
    Straggler {
        /// Which.
        rank: usize,
        /// From this step on.
        step: u64,
        /// Times as long.
        factor: f64,
    },
    /// Everybody's does.
    Slow {
        /// From this step on.
        step: u64,
        /// Times as long.
        factor: f64,
    },
    /// Nothing moves any more.
    Hang {
        /// After this step.
        step: u64,
    },
}

/// Why nothing moves for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It begins.
    Start,
    /// It saves.
    Checkpoint,
    /// It evaluates.
    Evaluation,
    /// It hangs.
    Hang,
}

/// What is seen of a day.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// The job begins, or begins again.
    Begins,
    /// All ranks did a step.
    Step {
        /// Since the job first began.
        number: u64,
        /// When it ended.
        time_ns: i64,
        /// How long it took.
        duration_ns: i64,
        /// When each rank came to its group's collective, by clocks that are a little off.
        arrived_ns: &'a [i64],
        /// What each had waited in this step before.
        waited_ns: &'a [i64],
    },
    /// Nothing moves between two instants.
    Stands {
        /// From.
        from_ns: i64,
        /// Until.
        until_ns: i64,
        /// Why.
        why: Pause,
    },
}

/// Ranks of a job, and of a group that meets.
pub const RANKS: usize = 8;

/// How far clocks may be off at most.
pub const CLOCK_ERROR_NS: i64 = 50_000;

const SECOND_NS: f64 = 1e9;
const DAY_NS: f64 = 86_400e9;
const SCATTER: f64 = 0.02;
const RESEMBLANCE: f64 = 0.3;
const LONG_EVERY: u64 = 600;
const COMMUNICATION: f64 = 0.03;

/// A day, or some of it.
#[derive(Clone, Copy, Debug)]
pub struct JobDay {
    /// What is odd about it.
    pub shape: DayShape,
    /// Of everything that is drawn.
    pub seed: u64,
    /// How long it is.
    pub length_ns: i64,
    /// What is wrong.
    pub planted: Option<Planted>,
    /// When it is started again, beside when its shape says so.
    pub restart_ns: Option<i64>,
}

impl JobDay {
    /// How many ranks meet in one collective: those that follow each other.
    pub fn group(&self) -> usize {
        if self.shape == DayShape::Pipeline { RANKS / 2 } else { RANKS }
    }

    /// Plays it; what happens is shown to `see`, which says whether it has seen enough.
    pub fn play(&self, mut see: impl FnMut(Moment<'_>) -> bool) {
        let mut playing = Playing::new(self);
        let mut restarts = playing.restarts();
        restarts.push(i64::MAX);
        playing.begin(&mut see);
        for restart_ns in restarts {
            while playing.now_ns < restart_ns {
                if playing.now_ns >= self.length_ns || playing.step(&mut see) {
                    return;
                }
            }
            playing.begin(&mut see);
        }
    }
}

struct Playing<'a> {
    day: &'a JobDay,
    rng: Rng,
    number: u64,
    now_ns: i64,
    /// Of each rank: what makes its work differ now, and always; how far its clock is off.
    states: [f64; RANKS],
    uneven: [f64; RANKS],
    off_ns: [i64; RANKS],
    common: f64,
    checkpoint_ns: i64,
    evaluation_ns: i64,
}

impl<'a> Playing<'a> {
    fn new(day: &'a JobDay) -> Self {
        let mut rng = Rng::new(day.seed);
        let uneven = std::array::from_fn(|_| 1.0 + 0.003 * rng.normal());
        let off_ns = std::array::from_fn(|_| CLOCK_ERROR_NS - rng.below(2 * CLOCK_ERROR_NS as u64) as i64);
        let states = [0.0; RANKS];
        let (checkpoint_ns, evaluation_ns) = (hours(1.0), hours(2.0));
        Self { day, rng, number: 0, now_ns: 0, states, uneven, off_ns, common: 0.0, checkpoint_ns, evaluation_ns }
    }

    /// When it is started again.
    fn restarts(&mut self) -> Vec<i64> {
        let mut restarts: Vec<i64> = match self.day.shape {
            DayShape::Restarts => (0..3).map(|_| self.rng.below(DAY_NS as u64) as i64).collect(),
            _ => Vec::new(),
        };
        restarts.extend(self.day.restart_ns);
        restarts.sort_unstable();
        restarts
    }

    fn begin(&mut self, see: &mut impl FnMut(Moment<'_>) -> bool) {
        see(Moment::Begins);
        self.stand(Pause::Start, [300, 1_200], see);
    }

    /// Nothing moves for a time between two numbers of seconds.
    fn stand(&mut self, why: Pause, seconds: [u64; 2], see: &mut impl FnMut(Moment<'_>) -> bool) {
        let from_ns = self.now_ns;
        self.now_ns += ((seconds[0] + self.rng.below(seconds[1] - seconds[0])) * 1_000_000_000) as i64;
        see(Moment::Stands { from_ns, until_ns: self.now_ns, why });
    }

    /// A step, and what stands still after it. Whether enough was seen.
    fn step(&mut self, see: &mut impl FnMut(Moment<'_>) -> bool) -> bool {
        let began_ns = self.now_ns;
        let common = self.of_all();
        let mut work: [f64; RANKS] = std::array::from_fn(|_| 0.0);
        for (rank, work) in work.iter_mut().enumerate() {
            *work = SECOND_NS * common * self.of_rank(rank);
        }
        let waited = self.waited(&work);
        let arrived: [f64; RANKS] = std::array::from_fn(|rank| work[rank] + waited[rank]);
        let last = arrived.iter().copied().fold(0.0, f64::max);
        let duration_ns = (last + COMMUNICATION * SECOND_NS * common) as i64;
        self.now_ns += duration_ns;
        let arrived_ns: [i64; RANKS] = std::array::from_fn(|rank| began_ns + arrived[rank] as i64 + self.off_ns[rank]);
        let waited_ns = waited.map(|ns| ns as i64);
        let number = self.number;
        self.number += 1;
        let step = Moment::Step { number, time_ns: self.now_ns, duration_ns, arrived_ns: &arrived_ns, waited_ns: &waited_ns };
        if see(step) {
            return true;
        }
        if matches!(self.day.planted, Some(Planted::Hang { step }) if step == number) {
            self.stand(Pause::Hang, [3_600, 3_601], see);
            return true;
        }
        self.pause(see);
        false
    }

    fn pause(&mut self, see: &mut impl FnMut(Moment<'_>) -> bool) {
        if self.now_ns >= self.checkpoint_ns {
            self.stand(Pause::Checkpoint, [60, 240], see);
            self.checkpoint_ns = self.now_ns + hours(1.0);
        }
        if self.now_ns >= self.evaluation_ns {
            self.stand(Pause::Evaluation, [300, 900], see);
            self.evaluation_ns = self.now_ns + hours(2.0);
        }
    }

    /// How much longer this step is for everybody.
    fn of_all(&mut self) -> f64 {
        let phase = self.now_ns as f64 / DAY_NS * std::f64::consts::TAU;
        let shape = match self.day.shape {
            DayShape::Drift => 1.0 + 0.03 * phase.sin(),
            DayShape::Lengths => {
                self.common = self.next(self.common);
                (0.15 * self.common).exp()
            }
            _ => 1.0,
        };
        let long = if self.number % LONG_EVERY == LONG_EVERY - 1 { 3.0 } else { 1.0 };
        let planted = match self.day.planted {
            Some(Planted::Slow { step, factor }) if self.number >= step => factor,
            _ => 1.0,
        };
        shape * long * planted
    }

    fn of_rank(&mut self, rank: usize) -> f64 {
        self.states[rank] = self.next(self.states[rank]);
        let spike = if self.rng.unit() < 0.003 { 1.0 + 0.5 * pareto(&mut self.rng) } else { 1.0 };
        let planted = match self.day.planted {
            Some(Planted::Straggler { rank: slow, step, factor }) if slow == rank && self.number >= step => factor,
            _ => 1.0,
        };
        self.uneven[rank] * (SCATTER * self.states[rank]).exp() * spike * planted
    }

    /// What comes after `state`, of variance one.
    fn next(&mut self, state: f64) -> f64 {
        RESEMBLANCE * state + (1.0 - RESEMBLANCE * RESEMBLANCE).sqrt() * self.rng.normal()
    }

    /// In a pipeline both ranks of a chain go at the pace of the slower one, and the second begins later.
    fn waited(&self, work: &[f64; RANKS]) -> [f64; RANKS] {
        if self.day.shape != DayShape::Pipeline {
            return [0.0; RANKS];
        }
        const CHAINS: usize = RANKS / 2;
        std::array::from_fn(|rank| {
            let other = (rank + CHAINS) % RANKS;
            let bubble = if rank < CHAINS { 0.0 } else { 0.1 * SECOND_NS };
            bubble + (work[other] - work[rank]).max(0.0)
        })
    }
}

/// How much more than usual, with a heavy tail.
fn pareto(rng: &mut Rng) -> f64 {
    (1.0 - rng.unit()).powf(-1.0 / 2.5) - 1.0
}

fn hours(hours: f64) -> i64 {
    (hours * 3_600e9) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps, and their mean length in seconds, of two hours.
    fn played(shape: DayShape, planted: Option<Planted>) -> (u64, f64) {
        let (mut steps, mut total_ns) = (0, 0);
        JobDay { shape, seed: 1, length_ns: hours(2.0), planted, restart_ns: None }.play(|moment| {
            if let Moment::Step { duration_ns, .. } = moment {
                steps += 1;
                total_ns += duration_ns;
            }
            false
        });
        (steps, total_ns as f64 / 1e9 / steps as f64)
    }

    #[test]
    fn steps_take_about_a_second_and_what_is_planted_makes_them_longer() {
        let (steps, healthy) = played(DayShape::Steady, None);
        assert!((1.03..1.12).contains(&healthy) && steps > 5_000, "{steps} {healthy}");
        let slow = played(DayShape::Steady, Some(Planted::Straggler { rank: 3, step: 0, factor: 1.3 })).1;
        assert!((slow / healthy - 1.24).abs() < 0.04, "{slow} {healthy}");
        let slow = played(DayShape::Steady, Some(Planted::Slow { step: 0, factor: 2.0 })).1;
        assert!((slow / healthy - 2.0).abs() < 0.05);
    }

    #[test]
    fn nothing_comes_after_a_hang() {
        assert_eq!(played(DayShape::Pipeline, Some(Planted::Hang { step: 99 })).0, 100);
    }

    #[test]
    fn one_seed_gives_one_day() {
        for shape in DayShape::ALL {
            assert_eq!(played(shape, None), played(shape, None));
        }
    }
}
