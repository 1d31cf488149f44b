//! [`HostCalls`]: the calls of a rank's host threads, each in the one that made it, with the device work that was launched in it.
//!
//! It is what is left of a trace once nothing but callers and callees is asked for: some sixty bytes a call, so that it can be kept where the
//! trace cannot. A call's time is that of its own and of all that it made, as [`Nesting`] gives each instant to one of them: so it is the
//! call's length, but for calls that overlap without nesting, and the times of callers and callees always add up.
//!
//! Device work is of the call that launched it, and of its operator where the launch is not recorded or lies elsewhere, which is when external
//! ids tell. A graph's work is of the call that launched the graph.

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace, TrackKind};
use rustc_hash::FxHashMap;

use crate::Attribution;
use crate::attribution::{Attributed, Owner, around, dur_ns};

/// One call on a host thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) start_ns: i64,
    /// Of this list; itself where nothing recorded made it.
    pub(crate) parent: u32,
    /// Of the callees.
    pub(crate) callee: u32,
    /// Whether no call of its name is around it.
    pub(crate) is_first: bool,
    /// Itself.
    pub(crate) own: CallSum,
    /// With all that it made.
    pub(crate) whole: CallSum,
}

/// Time of calls, and of what was launched in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSum {
    /// How many calls.
    pub calls: u64,
    /// Time on the host, in nanoseconds.
    pub host_ns: i64,
    /// How many kernels, copies and fills were launched.
    pub launched: u64,
    /// Sum of their lengths, in nanoseconds: what runs at the same time counts twice.
    pub device_ns: i64,
}

impl CallSum {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.host_ns = self.host_ns.saturating_add(other.host_ns);
        self.launched += other.launched;
        self.device_ns = self.device_ns.saturating_add(other.device_ns);
    }
}

/// What can be called: a name, of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee {
    pub(crate) name: u32,
    pub(crate) kind: CategoryKind,
}

/// All calls of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledRow {
    /// The name.
    pub name: String,
    /// What sort of call it is; of several, that of the first.
    pub kind: CategoryKind,
    /// How many calls.
    pub calls: u64,
    /// Time of those that lie in no other of the name, with all that they made, in nanoseconds.
    pub total_ns: i64,
    /// Time of all of them that is no other call's, in nanoseconds.
    pub self_ns: i64,
    /// Work that was launched in them.
    pub launched: u64,
    /// Sum of its lengths, in nanoseconds.
    pub device_ns: i64,
}

/// The calls of one rank.
#[derive(Clone, Debug, Default)]
pub struct HostCalls {
    pub(crate) names: Vec<String>,
    pub(crate) callees: Vec<Callee>,
    /// Thread by thread, each after the one that made it and before whatever that one made later.
    pub(crate) list: Vec<Call>,
    unattributed: CallSum,
}

impl HostCalls {
    /// The calls of `trace`.
    pub fn of(trace: &Trace) -> Self {
        let mut calls = Self::default();
        calls.add(trace);
        calls
    }

    /// Adds those of another trace of the rank. What its work was attributed to is told, as it was found on the way.
    ///
    /// # Panics
    /// After four billion calls.
    pub fn add(&mut self, trace: &Trace) -> Attribution {
        let attribution = Attribution::of_work_within(trace, Nesting::of(trace));
        let nesting = &attribution.nesting;
        let begin = self.list.len();
        let mut place: Vec<u32> = vec![u32::MAX; trace.spans.len()];
        let mut known = Known::new(std::mem::take(&mut self.names), std::mem::take(&mut self.callees));
        for (track, spans) in nesting.tracks() {
            if nesting.is_async(track) || trace.tracks.get(track).kind != TrackKind::Thread {
                continue;
            }
            for span in spans {
                let at = u32::try_from(self.list.len()).expect("memory ends before four billion calls");
                place[span.0 as usize] = at;
                let own = CallSum { calls: 1, host_ns: nesting.self_ns(*span), ..CallSum::default() };
                self.list.push(Call {
                    start_ns: trace.spans.start_ns(*span),
                    parent: nesting.parent(*span).map_or(at, |parent| place[parent.0 as usize]),
                    callee: known.callee(trace, *span),
                    is_first: false,
                    own,
                    whole: own,
                });
            }
        }
        (self.names, self.callees) = (known.names, known.callees);
        for one in &attribution.work {
            let work = CallSum { launched: 1, device_ns: dur_ns(trace, one.work), ..CallSum::default() };
            let at = launched_in(trace, &attribution, one).map(|span| place[span.0 as usize]);
            match at.and_then(|at| self.list.get_mut(at as usize)) {
                Some(call) => {
                    call.own.add(work);
                    call.whole.add(work);
                }
                None => self.unattributed.add(work),
            }
        }
        self.complete(begin);
        attribution
    }

    /// What only a look at all calls from `begin` on tells: the work and the time within each, and which lie in another of their name.
    fn complete(&mut self, begin: usize) {
        let (mut open, mut times_open) = (Vec::<(u32, u32)>::new(), vec![0_u32; self.names.len()]);
        for at in begin..self.list.len() {
            let Call { parent, callee, .. } = self.list[at];
            let is_outermost = parent as usize == at;
            while let Some((_, name)) = open.pop_if(|(around, _)| is_outermost || *around != parent) {
                times_open[name as usize] -= 1;
            }
            let name = self.callees[callee as usize].name;
            self.list[at].is_first = times_open[name as usize] == 0;
            times_open[name as usize] += 1;
            open.push((at as u32, name));
        }
        for at in (begin..self.list.len()).rev() {
            let Call { parent, whole, .. } = self.list[at];
            if parent as usize != at {
                self.list[parent as usize].whole.add(whole);
            }
        }
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Device work that was launched in no recorded call.
    pub fn unattributed(&self) -> CallSum {
        self.unattributed
    }

    /// The calls that begin in `window` by name, those first that take longest on the host or on devices; all of them without one.
    pub fn by_name(&self, window: Option<(i64, i64)>) -> Vec<CalledRow> {
        let mut rows: Vec<Option<CalledRow>> = vec![None; self.names.len()];
        for call in self.list.iter().filter(|call| call.is_in(window)) {
            let Callee { name, kind } = self.callees[call.callee as usize];
            let row = rows[name as usize].get_or_insert_with(|| CalledRow {
                name: self.names[name as usize].clone(),
                kind,
                calls: 0,
                total_ns: 0,
                self_ns: 0,
                launched: 0,
                device_ns: 0,
            });
            row.calls += 1;
            row.self_ns = row.self_ns.saturating_add(call.own.host_ns);
            if call.is_first {
                row.total_ns = row.total_ns.saturating_add(call.whole.host_ns);
                row.launched += call.whole.launched;
                row.device_ns = row.device_ns.saturating_add(call.whole.device_ns);
            }
        }
        let mut rows: Vec<CalledRow> = rows.into_iter().flatten().collect();
        let longest = |row: &CalledRow| row.total_ns.max(row.device_ns);
        rows.sort_by(|a, b| (longest(b), &a.name).cmp(&(longest(a), &b.name)));
        rows
    }
}

impl Call {
    /// Whether it begins in `window`, from the first to before the second.
    pub(crate) fn is_in(&self, window: Option<(i64, i64)>) -> bool {
        window.is_none_or(|(start_ns, end_ns)| (start_ns..end_ns).contains(&self.start_ns))
    }
}

/// The call that work was launched in.
fn launched_in(trace: &Trace, attribution: &Attribution, one: &Attributed) -> Option<SpanId> {
    match (one.owner, one.launch) {
        (Owner::Operator(operator), Some(launch)) => {
            let is_inside = around(&attribution.nesting, launch).any(|span| span == operator);
            Some(if is_inside { launch } else { operator })
        }
        (Owner::Operator(operator), None) => Some(operator),
        (_, launch) => launch,
    }
    .filter(|span| trace.tracks.get(trace.spans.track[span.0 as usize]).kind == TrackKind::Thread)
}

/// Names and callees, found by what a trace calls them.
struct Known {
    names: Vec<String>,
    callees: Vec<Callee>,
    by_text: FxHashMap<String, u32>,
    by_id: FxHashMap<StrId, u32>,
    by_callee: FxHashMap<Callee, u32>,
}

impl Known {
    fn new(names: Vec<String>, callees: Vec<Callee>) -> Self {
        let by_text = (0..).zip(&names).map(|(at, name)| (name.clone(), at)).collect();
        let by_callee = (0..).zip(&callees).map(|(at, callee)| (*callee, at)).collect();
        Self { names, callees, by_text, by_id: FxHashMap::default(), by_callee }
    }

    fn callee(&mut self, trace: &Trace, span: SpanId) -> u32 {
        let id = trace.spans.name[span.0 as usize];
        let Self { names, callees, by_text, by_id, by_callee } = self;
        let name = *by_id.entry(id).or_insert_with(|| {
            let text = trace.strings.text(id);
            *by_text.entry(text.to_owned()).or_insert_with(|| {
                names.push(text.to_owned());
                (names.len() - 1) as u32
            })
        });
        let callee = Callee { name, kind: trace.kind(span) };
        *by_callee.entry(callee).or_insert_with(|| {
            callees.push(callee);
            (callees.len() - 1) as u32
        })
    }
}
