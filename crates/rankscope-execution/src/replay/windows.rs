//! Steps that move with what bounds them.
//!
//! A step's window on a device starts with a piece of work and ends with the next step's first, or with the last end; one that the
//! host marks starts and ends somewhere in what its main thread does. Bound to those pieces, its ends move as they do. What a step
//! of the job takes is what its window takes on the rank that ends it last, from the end of the step before on: a step that begins
//! late on one rank is late on that one alone, and the others' wait for it is no time of both steps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_analyze::StepWindow;

use super::Scene;
use super::run::Delays;
use crate::{Activity, Execution, LaneKind, PieceId};

/// The windows of a job, bound to its pieces.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    windows: Vec<Window>,
    /// By rank, the pieces whose starts tell where windows are, in order.
    pub(super) wanted: Vec<Vec<PieceId>>,
    /// Steps of the job; none where it has none, and the recording is one.
    pub(super) steps: u64,
}

/// One step of one rank.
#[derive(Clone, Copy, Debug)]
struct Window {
    rank: usize,
    number: i64,
    /// Start and end on the job's clock.
    start_ns: i64,
    end_ns: i64,
    /// Start and end on the rank's.
    own_ns: (i64, i64),
    start: Bound,
    end: Bound,
}

/// What an end of a window moves with.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// The start of a piece.
    Start(PieceId),
    /// The end of a piece.
    End(PieceId),
    /// A place within a piece: so many nanoseconds into it, of so many.
    Within(PieceId, i64, i64),
    /// The last end among the pieces on a device of the window, or on any lane.
    Last { of_device: bool },
    /// Nothing.
    Nothing,
}

impl Bounds {
    /// Those of `scene`.
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let mut windows = Vec::new();
        for (rank, execution) in scene.job.ranks.iter().enumerate() {
            let on_job_clock = |ns| scene.job.on_job_clock(rank, ns);
            let window = |number, own_ns: (i64, i64), start, end| Window {
                rank,
                number,
                start_ns: on_job_clock(own_ns.0),
                end_ns: on_job_clock(own_ns.1),
                own_ns,
                start,
                end,
            };
            if !scene.has_steps() {
                windows.extend(
                    extent(execution).map(|own_ns| window(0, own_ns, Bound::Nothing, Bound::Last { of_device: false })),
                );
                continue;
            }
            let places = Places::of(execution, scene.windows(rank));
            for step in scene.windows(rank) {
                let (start, end) = places.of_window(step.start_ns, step.end_ns);
                windows.push(window(step.number, (step.start_ns, step.end_ns), start, end));
            }
        }
        let mut wanted: Vec<Vec<PieceId>> = vec![Vec::new(); scene.job.ranks.len()];
        for window in &windows {
            wanted[window.rank].extend([window.start, window.end].iter().filter_map(Bound::start_of));
        }
        for own in &mut wanted {
            own.sort_unstable();
            own.dedup();
        }
        let mut numbers: Vec<i64> = windows.iter().map(|window| window.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let steps = if scene.has_steps() { numbers.len() as u64 } else { 0 };
        Self { windows, wanted, steps }
    }

    /// What a step of the job takes: the mean over its steps, and each of them in order of their numbers.
    pub(super) fn steps_ns(&self, moved: Option<(&Scene<'_>, &Delays, bool)>) -> (i64, Vec<i64>) {
        // By step: when its last rank ends it, and when it began there; of several that end together the one that began first.
        let mut last: BTreeMap<i64, (i64, Reverse<i64>)> = BTreeMap::new();
        for window in &self.windows {
            let (start_ns, end_ns) = match moved {
                None => (window.start_ns, window.end_ns),
                Some((scene, delays, to_collectives)) => {
                    let moved = Moved { execution: scene.job.ranks[window.rank], delays, wanted: &self.wanted };
                    (moved.ns(window, window.start_ns, window.start), moved.end_ns(window, to_collectives))
                }
            };
            let own = last.entry(window.number).or_insert((end_ns, Reverse(start_ns)));
            *own = (*own).max((end_ns, Reverse(start_ns)));
        }
        let lengths_ns =
            lengths_ns(&last.into_values().map(|(end_ns, Reverse(start_ns))| (end_ns, start_ns)).collect::<Vec<_>>());
        (mean_ns(&lengths_ns), lengths_ns)
    }
}

/// How long steps take that end and start so, in their order. What belonged to the step before on another rank, which ended that
/// later, is not counted again.
fn lengths_ns(steps: &[(i64, i64)]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_unstable_by_key(|at| steps[*at]);
    let (mut before_ns, mut lengths_ns) = (i64::MIN, vec![0; steps.len()]);
    for at in order {
        let (end_ns, start_ns) = steps[at];
        lengths_ns[at] = end_ns.saturating_sub(start_ns.max(before_ns).min(end_ns));
        before_ns = end_ns;
    }
    lengths_ns
}

fn mean_ns(lengths_ns: &[i64]) -> i64 {
    let sum: i128 = lengths_ns.iter().map(|ns| i128::from(*ns)).sum();
    let count = lengths_ns.len().max(1) as i128;
    i64::try_from((sum + count / 2).div_euclid(count)).unwrap_or(i64::MAX)
}

/// Where windows are after a replay.
struct Moved<'a> {
    execution: &'a Execution,
    delays: &'a Delays,
    wanted: &'a [Vec<PieceId>],
}

impl Moved<'_> {
    /// Where `at_ns` of the job's clock, an end of `window` that is bound to `bound`, has moved.
    fn ns(&self, window: &Window, at_ns: i64, bound: Bound) -> i64 {
        let ends_ns = &self.delays.ends_ns[window.rank];
        let start_of = |piece: PieceId| {
            let found = self.wanted[window.rank].binary_search(&piece);
            found.map_or(0, |at| self.delays.starts_ns[window.rank][at])
        };
        let late_ns = match bound {
            Bound::Nothing => 0,
            Bound::Start(piece) => start_of(piece),
            Bound::End(piece) => ends_ns[piece.0 as usize],
            Bound::Within(piece, into_ns, of_ns) => {
                let (start_ns, end_ns) = (i128::from(start_of(piece)), i128::from(ends_ns[piece.0 as usize]));
                let into = (end_ns - start_ns) * i128::from(into_ns) / i128::from(of_ns.max(1));
                i64::try_from(start_ns + into).unwrap_or(0)
            }
            Bound::Last { of_device } => self.last_late_ns(window, of_device, false).unwrap_or(0),
        };
        at_ns.saturating_add(late_ns)
    }

    /// Where the end of `window` has moved; with `to_collectives`, behind its last collective.
    fn end_ns(&self, window: &Window, to_collectives: bool) -> i64 {
        let end_ns = self.ns(window, window.end_ns, window.end);
        let last = to_collectives.then(|| self.last_ns(window, false, true)).flatten();
        let from_own = |ns: i64| window.end_ns.saturating_add(ns.saturating_sub(window.own_ns.1));
        last.map_or(end_ns, |(_, last_ns)| end_ns.max(from_own(last_ns)))
    }

    fn last_late_ns(&self, window: &Window, of_device: bool, of_collectives: bool) -> Option<i64> {
        let (seen_ns, last_ns) = self.last_ns(window, of_device, of_collectives)?;
        Some(last_ns.saturating_sub(seen_ns))
    }

    /// The last end among the pieces that are in `window`, as it was observed and as it is now, on the rank's clock.
    fn last_ns(&self, window: &Window, of_device: bool, of_collectives: bool) -> Option<(i64, i64)> {
        let (from_ns, to_ns) = window.own_ns;
        let mut last: Option<(i64, i64)> = None;
        let first = self.execution.first_started(from_ns);
        for id in (first..self.execution.len() as u32).map(PieceId).take_while(|id| self.execution.start_ns(*id) <= to_ns) {
            let piece = self.execution.piece(id);
            let is_wanted = !of_device || self.execution.lane(piece.lane).kind == LaneKind::Stream;
            let is_wanted = is_wanted && (!of_collectives || self.execution.collective(id).is_some());
            if is_wanted && (!of_collectives || piece.end_ns() <= to_ns) {
                let now_ns = piece.end_ns().saturating_add(self.delays.ends_ns[window.rank][id.0 as usize]);
                let (seen, now) = last.unwrap_or((piece.end_ns(), now_ns));
                last = Some((seen.max(piece.end_ns()), now.max(now_ns)));
            }
        }
        last
    }
}

impl Bound {
    fn start_of(&self) -> Option<PieceId> {
        match self {
            Self::Start(piece) | Self::Within(piece, ..) => Some(*piece),
            _ => None,
        }
    }
}

/// From the first start to the last end.
fn extent(execution: &Execution) -> Option<(i64, i64)> {
    let first = execution.ids().next()?;
    Some((execution.start_ns(first), execution.ids().map(|id| execution.end_ns(id)).max()?))
}

/// Windows and work are recorded in stamps of a microsecond at worst, and an annotation on a device begins a little before what is in it.
const STAMP_NS: i64 = 1_000;

/// Starts and ends of one rank's pieces.
struct Places<'a> {
    execution: &'a Execution,
    /// Pieces on devices, in order of their start.
    device: Vec<PieceId>,
    /// Pieces of the thread that marks the steps, in order.
    thread: Vec<PieceId>,
}

impl<'a> Places<'a> {
    fn of(execution: &'a Execution, windows: &[StepWindow]) -> Self {
        let device: Vec<PieceId> = execution.ids().filter(|id| execution.lane_kind(*id) == LaneKind::Stream).collect();
        Self { execution, device, thread: main_thread(execution, windows) }
    }

    /// What the ends of a window are bound to. One that starts with work on a device ends on it, too.
    fn of_window(&self, start_ns: i64, end_ns: i64) -> (Bound, Bound) {
        if let Some(start) = self.with_device(start_ns) {
            return (start, self.with_device(end_ns).unwrap_or(Bound::Last { of_device: true }));
        }
        (self.beside(start_ns), self.beside(end_ns))
    }

    fn beside(&self, ns: i64) -> Bound {
        self.in_thread(ns).or_else(|| self.beside_device(ns)).unwrap_or(Bound::Nothing)
    }

    /// The piece on a device that starts just then.
    fn with_device(&self, ns: i64) -> Option<Bound> {
        let start_ns = |id: &PieceId| self.execution.start_ns(*id);
        let from = self.device.partition_point(|id| start_ns(id) < ns.saturating_sub(STAMP_NS));
        let near = self.device[from..].iter().take_while(|id| start_ns(id) <= ns.saturating_add(STAMP_NS));
        near.min_by_key(|id| (start_ns(id) - ns).abs()).map(|id| Bound::Start(*id))
    }

    /// What the thread does then, or did last.
    fn in_thread(&self, ns: i64) -> Option<Bound> {
        let begun = self.thread.partition_point(|id| self.execution.start_ns(*id) <= ns);
        let Some(before) = begun.checked_sub(1) else { return self.thread.first().map(|first| Bound::Start(*first)) };
        let piece = self.thread[before];
        let (start_ns, dur_ns) = (self.execution.start_ns(piece), self.execution.dur_ns(piece));
        let into_ns = ns.saturating_sub(start_ns);
        Some(if into_ns < dur_ns { Bound::Within(piece, into_ns, dur_ns) } else { Bound::End(piece) })
    }

    /// The piece on a device that starts next, or that started last.
    fn beside_device(&self, ns: i64) -> Option<Bound> {
        let at = self.device.partition_point(|id| self.execution.start_ns(*id) < ns);
        let next = self.device.get(at).map(|next| Bound::Start(*next));
        next.or_else(|| self.device.last().map(|last| Bound::End(*last)))
    }
}

/// The pieces of the thread that marks the steps, in order: of all threads the one that is at something at most of the edges of
/// `windows`. Of several that one which spends most time on what is recorded.
fn main_thread(execution: &Execution, windows: &[StepWindow]) -> Vec<PieceId> {
    let mut threads: Vec<(i64, Vec<PieceId>)> = vec![(0, Vec::new()); execution.lanes().len()];
    for id in execution.ids() {
        let piece = execution.piece(id);
        let (busy_ns, pieces) = &mut threads[piece.lane.0 as usize];
        pieces.push(id);
        if execution.key(piece.key).activity != Activity::Unrecorded {
            *busy_ns = busy_ns.saturating_add(piece.dur_ns);
        }
    }
    let is_at_something = |pieces: &[PieceId], ns: i64| {
        let begun = pieces.partition_point(|id| execution.start_ns(*id) <= ns);
        begun.checked_sub(1).is_some_and(|last| ns < execution.end_ns(pieces[last]))
    };
    let edges = |pieces: &[PieceId]| {
        let edges_ns = windows.iter().flat_map(|window| [window.start_ns, window.end_ns]);
        edges_ns.filter(|ns| is_at_something(pieces, *ns)).count()
    };
    let on_host = threads.into_iter().zip(execution.lanes()).filter(|(_, lane)| lane.kind == LaneKind::Thread);
    let most = on_host.enumerate().max_by_key(|(at, ((busy_ns, pieces), _))| (edges(pieces), *busy_ns, Reverse(*at)));
    most.map(|(_, ((_, pieces), _))| pieces).unwrap_or_default()
}
