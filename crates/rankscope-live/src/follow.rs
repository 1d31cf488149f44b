//! A running job from one look at its pages to the next: every step that pages show goes to the [`Watch`] once, and so does how far
//! all ranks have come.
//!
//! A step that no page has any more when somebody looks is left out and not guessed. Where other processes tell of themselves than before,
//! the job was restarted or has lost some: what steps usually take is learned anew, and what was raised is over. That a page could not be
//! read for once is neither, so ranks that are missing are waited for first. Of a rank that marks its phase it is known what it does. One that
//! does not may save or evaluate while it is in no collective; so a job all of whose ranks are in one, or mark another phase, is known to be
//! training where it does not say otherwise. That holds for pages that know no steps, too, once every rank has left two collectives: the
//! first ones wait for connections to be made.

use std::collections::BTreeMap;

use rankscope_recording::PagePhase;

use crate::alarm::Alarm;
use crate::hang::{Phase, Progress};
use crate::look::{Compared, Seen, median, on_job};
use crate::straggler::RankStep;
use crate::watch::{Step, Watch};

/// A job that is followed.
#[derive(Clone, Debug)]
pub struct Following {
    /// Who told of itself at the last look: its rank, its process and when that began.
    ranks: Vec<(u32, u32, u64)>,
    watch: Watch,
    /// The last step that was taken.
    taken: Option<i64>,
    /// Looks in a row at which some of them were missing.
    missing_looks: u32,
    raised: Vec<Alarm>,
}

/// Looks at which ranks may be missing before the job is taken to go on without them.
const MISSING_LOOKS_MAX: u32 = 3;

/// A step as pages have it.
struct Met {
    step: i64,
    time_ns: i64,
    duration_ns: i64,
    ranks: Vec<RankStep>,
}

impl Default for Following {
    fn default() -> Self {
        Self { ranks: Vec::new(), watch: Watch::new(0), taken: None, missing_looks: 0, raised: Vec::new() }
    }
}

impl Following {
    /// Looks at all ranks at `now_ns` of the job's clock. Returns what was raised or is over since the look before.
    pub fn look(&mut self, now_ns: i64, compared: &Compared<'_>) -> Vec<Alarm> {
        let seen = compared.seen;
        if self.waits_for_missing(seen) {
            // Pages hold the steps of more than one look.
            return Vec::new();
        }
        let mut news = self.begun_anew(now_ns, seen);
        for met in met(compared, self.taken, now_ns) {
            self.taken = Some(met.step);
            let step = Step { time_ns: met.time_ns, duration_ns: met.duration_ns, ranks: &met.ranks };
            news.extend(self.watch.step(&step).into_iter().map(|alarm| self.named(alarm)));
        }
        news.extend(self.watch.look(now_ns, &progress(seen)).into_iter().map(|alarm| self.named(alarm)));
        news.iter().for_each(|alarm| self.keep(alarm));
        news
    }

    /// What was raised and is not over.
    pub fn raised(&self) -> &[Alarm] {
        &self.raised
    }

    /// Whether nobody new tells of itself and some do not, for no longer than a page may be unreadable.
    fn waits_for_missing(&mut self, seen: &[Seen]) -> bool {
        // Both are in one order, so each is looked for behind the one before.
        let mut known = self.ranks.iter();
        let are_missing = seen.len() < self.ranks.len() && seen.iter().map(who).all(|who| known.any(|known| *known == who));
        self.missing_looks = if are_missing { self.missing_looks + 1 } else { 0 };
        are_missing && self.missing_looks <= MISSING_LOOKS_MAX
    }

    /// Begins anew where others tell of themselves; returns what is over by that.
    fn begun_anew(&mut self, now_ns: i64, seen: &[Seen]) -> Vec<Alarm> {
        let ranks: Vec<_> = seen.iter().map(who).collect();
        if ranks == self.ranks {
            return Vec::new();
        }
        (self.watch, self.taken, self.ranks) = (Watch::new(ranks.len()), None, ranks);
        self.raised.iter().map(|alarm| Alarm { cleared_ns: Some(now_ns), ..*alarm }).collect()
    }

    /// The same with the rank's number in the job, as a watch counts those that it sees, and with the step.
    fn named(&self, alarm: Alarm) -> Alarm {
        let rank = alarm.rank.and_then(|at| self.ranks.get(at as usize)).map(|(rank, ..)| *rank);
        Alarm { rank, step: self.taken, ..alarm }
    }

    fn keep(&mut self, alarm: &Alarm) {
        self.raised.retain(|other| (other.kind, other.rank) != (alarm.kind, alarm.rank));
        if alarm.cleared_ns.is_none() {
            self.raised.push(*alarm);
        }
    }
}

/// A rank, its process and when that began.
fn who(seen: &Seen) -> (u32, u32, u64) {
    let head = seen.page.head;
    (head.rank, head.pid, head.process_start)
}

/// Steps behind `taken` that pages have whole, in their order.
fn met(compared: &Compared<'_>, taken: Option<i64>, now_ns: i64) -> Vec<Met> {
    let Compared { seen, steps, errors_ns, .. } = compared;
    if steps.is_empty() {
        return without_collectives(seen, taken, now_ns).into_iter().collect();
    }
    let begins = begins(seen);
    let is_new = |(step, _): &(&i64, _)| taken.is_none_or(|taken| **step > taken);
    let new = steps.iter().filter(is_new);
    let met = new.map_while(|(step, sums)| {
        let (time_ns, duration_ns) = length(*step, &begins)?;
        let rank = |(at, sums): (usize, &(i64, i64))| match errors_ns[at] {
            Some(error_ns) => RankStep::known(sums.0, error_ns),
            None => RankStep::unknown(),
        };
        Some(Met { step: *step, time_ns, duration_ns, ranks: sums.iter().enumerate().map(rank).collect() })
    });
    met.collect()
}

/// Of a job whose ranks do not meet, or more often in a step than a page holds: the last step, by what each says that it took.
fn without_collectives(seen: &[Seen], taken: Option<i64>, now_ns: i64) -> Option<Met> {
    let step = seen.iter().map(|seen| seen.page.state.step).min()?.checked_sub(1).filter(|step| *step >= 0)?;
    if taken.is_some_and(|taken| step <= taken) {
        return None;
    }
    let duration_ns = median(seen.iter().map(|seen| seen.page.state.step_took_ns).filter(|took_ns| *took_ns > 0).collect())?;
    Some(Met { step, time_ns: now_ns, duration_ns, ranks: vec![RankStep::unknown(); seen.len()] })
}

/// By compared rank and step: when it first came to a collective.
fn begins(seen: &[Seen]) -> Vec<BTreeMap<i64, i64>> {
    let of = |seen: &Seen| {
        let mut begins = BTreeMap::new();
        for arrival in &seen.page.arrivals {
            begins.entry(arrival.step).or_insert_with(|| on_job(seen, arrival.arrived_ns));
        }
        begins
    };
    seen.iter().filter(|seen| seen.clock.is_some()).map(of).collect()
}

/// When a step was over and how long it took, from its first collective to that of the next, in the middle of the ranks. None while a
/// rank has not come to the next.
fn length(step: i64, begins: &[BTreeMap<i64, i64>]) -> Option<(i64, i64)> {
    let of = |begins: &BTreeMap<i64, i64>| {
        let began_ns = begins.get(&step)?;
        let (next, ended_ns) = begins.range(step.saturating_add(1)..).next()?;
        Some((*ended_ns, ended_ns.saturating_sub(*began_ns) / next.saturating_sub(step)))
    };
    let all: Vec<(i64, i64)> = begins.iter().map(of).collect::<Option<_>>()?;
    let middle = |pick: fn(&(i64, i64)) -> i64| median(all.iter().map(pick).collect());
    Some((middle(|both| both.0)?, middle(|both| both.1)?))
}

fn progress(seen: &[Seen]) -> Vec<Progress> {
    let is_told = |seen: &Seen| seen.page.open().is_some() || seen.page.state.mark.phase != PagePhase::Unmarked;
    let all_are_told = seen.iter().all(is_told);
    let has_met = |seen: &Seen| seen.page.arrivals.iter().filter(|arrival| arrival.left_ns != 0).take(2).count() == 2;
    let all_have_met = seen.iter().all(has_met);
    let of = |seen: &Seen| {
        let state = &seen.page.state;
        let phase = marked(state.mark.phase).unwrap_or(match (state.step < 0, all_are_told) {
            (true, true) if all_have_met => Phase::Step,
            (true, _) => Phase::Start,
            (_, true) => Phase::Step,
            _ => Phase::Unmarked,
        });
        let last_ns = if seen.clock.is_some() { on_job(seen, state.progress_ns) } else { state.wall_ns(state.progress_ns) };
        Progress { count: state.progress, last_ns, phase }
    };
    seen.iter().map(of).collect()
}

/// The phase that a program marks.
fn marked(phase: PagePhase) -> Option<Phase> {
    match phase {
        PagePhase::Training => Some(Phase::Step),
        PagePhase::Initialisation => Some(Phase::Start),
        PagePhase::Evaluation => Some(Phase::Evaluation),
        PagePhase::Checkpoint => Some(Phase::Checkpoint),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarm::AlarmKind;
    use crate::clock::NodeClock;
    use rankscope_recording::{LivePage, PageArrival, PageGroup, PageHead, PageMark, PageOp, PageState};

    const STEP_NS: i64 = 100_000_000;
    const SECOND_NS: i64 = 1_000_000_000;

    /// A job that meets twice a step. Ranks have numbers other than their places.
    struct Job {
        late_ns: i64,
        pid: u32,
        open: bool,
    }

    impl Job {
        /// The pages of its ranks in step `step`, with what they hold of the steps before. Rank 7 is late from step 150 on.
        fn at(&self, step: i64) -> Vec<Seen> {
            [3, 5, 7, 9].map(|rank| self.rank(rank, step)).into()
        }

        fn rank(&self, rank: u32, step: i64) -> Seen {
            let meetings = (step - 20).max(0) * 2..step * 2;
            let mut arrivals: Vec<PageArrival> = meetings.map(|meeting| self.arrival(rank, meeting)).collect();
            arrivals.push(self.arrival(rank, step * 2));
            if self.open {
                arrivals.push(PageArrival { left_ns: 0, ..self.arrival(rank, step * 2 + 1) });
            }
            let head = PageHead { rank, pid: self.pid, ..PageHead::default() };
            let progress_ns = arrivals.last().unwrap().arrived_ns;
            let state = PageState { step, progress: step as u64, progress_ns, ..PageState::default() };
            let groups = vec![PageGroup { name: "dp".to_owned(), members: 4 }];
            let clock = NodeClock { error_ns: 10_000, ..NodeClock::default() };
            Seen { page: LivePage { head, state, groups, arrivals }, clock: Some(clock) }
        }

        fn arrival(&self, rank: u32, meeting: i64) -> PageArrival {
            let met_ns = meeting * STEP_NS / 2;
            let noise_ns = (meeting * 7_919 + i64::from(rank) * 104_729) % 400_000;
            let late_ns = if rank == 7 && meeting % 2 == 1 && meeting >= 300 { self.late_ns } else { 0 };
            let arrived_ns = met_ns + noise_ns + late_ns;
            let left_ns = met_ns + 20_000_000;
            PageArrival {
                group: 0,
                op: PageOp::AllReduce,
                sequence: meeting as u64,
                bytes: 8,
                arrived_ns,
                left_ns,
                step: meeting / 2,
            }
        }
    }

    fn followed(job: &Job, steps: std::ops::Range<i64>, following: &mut Following) -> Vec<Alarm> {
        // Three steps from one look to the next.
        steps.step_by(3).flat_map(|step| following.look(step * STEP_NS, &Compared::of(&job.at(step)))).collect()
    }

    #[test]
    fn a_rank_that_becomes_late_is_named_by_its_number_and_cleared_when_the_job_is_restarted() {
        let mut following = Following::default();
        let job = Job { late_ns: 10_000_000, pid: 1, open: false };
        let alarms = followed(&job, 1..400, &mut following);
        let [alarm] = alarms[..] else { panic!("{alarms:?}") };
        assert_eq!((alarm.kind, alarm.rank, alarm.clock_error_ns), (AlarmKind::Straggler, Some(7), 20_000));
        assert!((9_000_000..11_000_000).contains(&alarm.value_ns), "{alarm:?}");
        assert!(alarm.time_ns > 150 * STEP_NS && alarm.time_ns < 250 * STEP_NS, "{alarm:?}");
        assert_eq!(following.raised(), [alarm]);
        let again = Job { late_ns: 0, pid: 2, open: false };
        let over = following.look(401 * STEP_NS, &Compared::of(&again.at(401)));
        assert_eq!(over, [Alarm { cleared_ns: Some(401 * STEP_NS), ..alarm }]);
        assert!(following.raised().is_empty());
    }

    #[test]
    fn a_page_that_is_missing_for_a_few_looks_ends_no_alarm_and_a_rank_that_stays_away_does() {
        let mut following = Following::default();
        let job = Job { late_ns: 10_000_000, pid: 1, open: false };
        let raised = followed(&job, 1..400, &mut following);
        for step in 400..430 {
            // Of four looks one sees all ranks.
            let seen: Vec<Seen> = job.at(step).into_iter().skip(usize::from(step % 4 != 0)).collect();
            assert_eq!(following.look(step * STEP_NS, &Compared::of(&seen)), [], "step {step}");
        }
        assert_eq!(following.raised(), raised);
        let of_three = |step: i64| job.at(step).split_off(1);
        let over: Vec<Alarm> =
            (430..434).flat_map(|step| following.look(step * STEP_NS, &Compared::of(&of_three(step)))).collect();
        assert_eq!(over.iter().map(|alarm| alarm.cleared_ns).collect::<Vec<_>>(), [Some(432 * STEP_NS)]);
        assert!(following.raised().is_empty());
    }

    #[test]
    fn a_job_without_a_late_rank_raises_nothing_however_often_it_is_looked_at() {
        let job = Job { late_ns: 0, pid: 1, open: false };
        let mut following = Following::default();
        for step in 1..600 {
            assert_eq!(following.look(step * STEP_NS, &Compared::of(&job.at(step))), [], "step {step}");
            assert_eq!(following.look(step * STEP_NS + 1, &Compared::of(&job.at(step))), [], "step {step}");
        }
    }

    #[test]
    fn a_job_all_of_whose_ranks_stay_in_a_collective_hangs_within_a_minute_and_one_of_which_one_is_outside_may_be_saving() {
        for (open, hangs) in [(true, true), (false, false)] {
            let job = Job { late_ns: 0, pid: 1, open };
            let mut following = Following::default();
            followed(&job, 1..300, &mut following);
            let stands = job.at(300);
            let looks = (0..60).map(|look| 300 * STEP_NS + look * 2 * SECOND_NS);
            let alarms: Vec<Alarm> = looks.flat_map(|now_ns| following.look(now_ns, &Compared::of(&stands))).collect();
            assert_eq!(alarms.len(), usize::from(hangs), "{alarms:?}");
            if let Some(alarm) = alarms.first() {
                assert_eq!(alarm.kind, AlarmKind::Hang);
                assert!(alarm.value_ns > 30 * SECOND_NS && alarm.value_ns <= 60 * SECOND_NS, "{alarm:?}");
            }
        }
    }

    /// The job stands still in `phase`, which `marking` of its four ranks mark while the others are in a collective. For how long in seconds
    /// nothing is wrong.
    fn well_for_s(phase: PagePhase, marking: usize, before: &[i64]) -> Option<i64> {
        let job = Job { late_ns: 0, pid: 1, open: true };
        let mut following = Following::default();
        followed(&job, 1..300, &mut following);
        let mut stands = job.at(300);
        for seen in stands.iter_mut().take(marking) {
            seen.page.state.mark = PageMark { phase, ..PageMark::default() };
            seen.page.arrivals.pop();
        }
        let mut now_ns = 300 * STEP_NS;
        let mut stand = |seconds: i64, number: usize| -> Option<i64> {
            for seen in &mut stands {
                seen.page.state.progress = 1_000 + number as u64;
                seen.page.state.progress_ns = now_ns;
            }
            let began_ns = now_ns;
            while now_ns < began_ns + seconds * SECOND_NS {
                now_ns += 2 * SECOND_NS;
                if let Some(alarm) = following.look(now_ns, &Compared::of(&stands)).first() {
                    assert_eq!((alarm.kind, alarm.cleared_ns), (AlarmKind::Hang, None));
                    return Some((now_ns - began_ns) / SECOND_NS);
                }
            }
            None
        };
        for (number, seconds) in before.iter().enumerate() {
            assert_eq!(stand(*seconds, number), None, "{phase:?}");
        }
        stand(4_000, before.len())
    }

    #[test]
    fn ranks_that_mark_a_phase_are_waited_for_as_long_as_it_may_take_and_no_longer() {
        for marking in 1..=4 {
            for phase in [PagePhase::Checkpoint, PagePhase::Evaluation, PagePhase::Initialisation] {
                assert_eq!(well_for_s(phase, marking, &[]), Some(1_802), "{phase:?} of {marking}");
                assert_eq!(well_for_s(phase, marking, &[60, 40, 80]), Some(402), "{phase:?} of {marking}");
            }
            let training = well_for_s(PagePhase::Training, marking, &[]);
            assert!(training.is_some_and(|seconds| (30..60).contains(&seconds)), "{training:?}");
        }
    }

    #[test]
    fn pages_without_steps_hang_likewise_once_all_ranks_have_met() {
        // Of how many collectives pages know, and whether all ranks are in one.
        for (known, open, hangs) in [(20, true, true), (20, false, false), (1, true, false)] {
            let mut stands = Job { late_ns: 0, pid: 1, open }.at(300);
            for seen in &mut stands {
                seen.page.state.step = -1;
                seen.page.arrivals.iter_mut().for_each(|arrival| arrival.step = -1);
                let behind = seen.page.arrivals.len().saturating_sub(known + usize::from(open));
                seen.page.arrivals.drain(..behind);
            }
            let mut following = Following::default();
            let looks = (0..60).map(|look| 300 * STEP_NS + look * 2 * SECOND_NS);
            let alarms: Vec<Alarm> = looks.flat_map(|now_ns| following.look(now_ns, &Compared::of(&stands))).collect();
            assert_eq!(
                alarms.iter().map(|alarm| alarm.kind).collect::<Vec<_>>(),
                vec![AlarmKind::Hang; usize::from(hangs)],
                "{known} {open}"
            );
        }
    }

    #[test]
    fn ranks_that_never_meet_are_watched_by_the_length_of_their_steps() {
        let mut following = Following::default();
        let pages = |step: i64| -> Vec<Seen> {
            let took_ns = if step < 700 { STEP_NS } else { STEP_NS * 3 / 2 } + step * 7_919 % 1_000_000;
            let state = PageState { step, progress: step as u64, step_took_ns: took_ns, ..PageState::default() };
            let page = LivePage { head: PageHead::default(), state, groups: Vec::new(), arrivals: Vec::new() };
            vec![Seen { page, clock: None }]
        };
        let alarms: Vec<Alarm> =
            (0..1_200).flat_map(|step| following.look(step * STEP_NS, &Compared::of(&pages(step)))).collect();
        assert_eq!(alarms.iter().map(|alarm| (alarm.kind, alarm.rank)).collect::<Vec<_>>(), [(AlarmKind::SlowJob, None)]);
    }
}
