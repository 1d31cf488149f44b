//! Whose rank each file is.
//!
//! The file's own word counts most, then the name of the file or of a folder above it. Files that say nothing are numbered by
//! their order. A rank may have several files if each is of another time, as a profiler that repeats leaves them. Two of one time are
//! an error: whichever was taken, half the report would be about another run.

use std::fmt;

use rankscope_time::Rank;
use rankscope_trace::{ProblemKind, RankSource, Trace};

use crate::Error;

/// Words that announce a rank in the name of a file or folder.
const WORDS: [&str; 6] = ["rank", "process", "proc", "worker", "host", "node"];

/// The rank a path names, `rank-0`, `rank_12_trace.json`, `rank3/trace.json`; the file's own name counts before its folders'.
pub fn rank_of_name(path: &str) -> Option<Rank> {
    let parts = path.rsplit(['/', '\\', ':']);
    parts.take(3).find_map(|part| WORDS.iter().find_map(|word| number_after(part, word)))
}

fn number_after(part: &str, word: &str) -> Option<Rank> {
    let lower = part.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower[from..].find(word) {
        from += at + word.len();
        let rest = lower[from..].trim_start_matches(['-', '_', '.', '=', ' ', '[']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(rank) = rest[..digits].parse() {
            return Some(Rank(rank));
        }
    }
    None
}

/// A file that adds nothing to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassedOver {
    /// It holds what another one does.
    Same {
        /// The file.
        file: String,
        /// The one that is kept.
        kept: String,
    },
    /// It was kept aside in a run and recorded a time that the rank's newest trace did, too.
    Overlaps {
        /// The file.
        file: String,
        /// The one that is kept.
        kept: String,
    },
    /// It was kept aside in a run, and nothing tells its rank.
    OfNoRank {
        /// The file.
        file: String,
    },
}

impl fmt::Display for PassedOver {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same { file, kept } => write!(to, "{file}, a copy of {kept}"),
            Self::Overlaps { file, kept } => write!(to, "{file}, which has the same rank and time as {kept}"),
            Self::OfNoRank { file } => write!(to, "{file}, which does not record its rank"),
        }
    }
}

/// Gives every trace a rank and sorts them by it, those of one rank by time. What adds nothing is taken out and returned; of
/// traces that a run keeps aside, as `earlier` says, that goes for all that stand in the way of others.
///
/// # Errors
/// [`Error::RankConflict`] names two files of one rank and one time.
pub fn settle_ranks(traces: &mut Vec<Trace>, earlier: impl Fn(&Trace) -> bool) -> Result<Vec<PassedOver>, Error> {
    traces.iter_mut().for_each(believe);
    let mut passed_over = Vec::new();
    traces.retain(|trace| {
        let kept = trace.provenance.rank.is_some() || !earlier(trace);
        if !kept {
            passed_over.push(PassedOver::OfNoRank { file: trace.provenance.file.clone() });
        }
        kept
    });
    number_the_rest(traces);
    let bounds = Trace::bounds_ns;
    traces.sort_by_cached_key(|trace| (rank(trace), earlier(trace), bounds(trace)));
    let mut kept: Vec<Trace> = Vec::with_capacity(traces.len());
    for trace in traces.drain(..) {
        let mut own = kept.iter().rev().take_while(|other| rank(other) == rank(&trace));
        let Some((other, same)) = own.find_map(|other| Some((other, clash(other, &trace)?))) else {
            kept.push(trace);
            continue;
        };
        let (file, first) = (trace.provenance.file.clone(), other.provenance.file.clone());
        passed_over.push(match same {
            Clash::Same => PassedOver::Same { file, kept: first },
            Clash::Overlap if earlier(&trace) => PassedOver::Overlaps { file, kept: first },
            Clash::Overlap => {
                let rank = rank(&trace).unwrap_or(Rank(0));
                return Err(Error::RankConflict { rank, first, second: file });
            }
        });
    }
    kept.sort_by_cached_key(|trace| (rank(trace), bounds(trace)));
    *traces = kept;
    Ok(passed_over)
}

/// Makes sure that no two of `traces`, whose ranks are settled, are of one rank.
///
/// # Errors
/// [`Error::RankTwice`] names the two files.
pub fn each_rank_once(traces: &[Trace]) -> Result<(), Error> {
    for pair in traces.windows(2) {
        if let Some(own) = rank(&pair[0])
            && rank(&pair[1]) == Some(own)
        {
            let [first, second] = [&pair[0], &pair[1]].map(|trace| trace.provenance.file.clone());
            return Err(Error::RankTwice { rank: own, first, second });
        }
    }
    Ok(())
}

fn rank(trace: &Trace) -> Option<Rank> {
    trace.provenance.rank.map(|(rank, _)| rank)
}

/// Settles what a trace and its name say of its rank.
fn believe(trace: &mut Trace) {
    let named = rank_of_name(&trace.provenance.file);
    match (trace.provenance.rank, named) {
        (None, Some(named)) => trace.provenance.rank = Some((named, RankSource::FileName)),
        (Some((said, _)), Some(named)) if said != named => {
            let detail = format!("the file says rank {said}, its name says {named}; the file's own rank is used");
            trace.provenance.problems.add_detailed(ProblemKind::RankDisagreement, 0, 1, detail);
        }
        _ => {}
    }
}

/// Numbers those that say nothing by their order.
fn number_the_rest(traces: &mut [Trace]) {
    let mut taken: Vec<Rank> = traces.iter().filter_map(rank).collect();
    let mut next = 0;
    for trace in traces.iter_mut().filter(|trace| trace.provenance.rank.is_none()) {
        while taken.contains(&Rank(next)) {
            next += 1;
        }
        trace.provenance.rank = Some((Rank(next), RankSource::Order));
        taken.push(Rank(next));
    }
}

/// How two files of one rank stand in each other's way.
enum Clash {
    Same,
    Overlap,
}

fn clash(a: &Trace, b: &Trace) -> Option<Clash> {
    if a.is_copy_of(b) {
        return Some(Clash::Same);
    }
    let apart = |(a, b): ((i64, i64), (i64, i64))| a.1 <= b.0 || b.1 <= a.0;
    // Of a file without any span nothing says when it was recorded.
    (!a.bounds_ns().zip(b.bounds_ns()).is_some_and(apart)).then_some(Clash::Overlap)
}

/// Which ranks of the job there are files for.
///
/// One rule for every verb that reads a job: ranks that are missing never keep one from an answer. It says in front which are
/// missing, and gives no all-clear, since the missing one may be the one that was late or failed. Whether a file may be left out that is there and cannot be read is another question, and what `--partial` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// Ranks in the job, where any file or the run says so.
    pub world_size: Option<u32>,
    /// Ranks of the job without a file, ascending.
    pub missing: Vec<Rank>,
}

impl Completeness {
    /// Whether no rank is known to be missing.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Compares the ranks of `traces`, which are settled, with what they say about the size of the job and with `told`, what its run
/// directory says of it.
pub fn completeness(traces: &[Trace], told: Option<u32>) -> Completeness {
    let world_size = traces.iter().filter_map(|trace| trace.provenance.world_size).chain(told).max();
    let mut present: Vec<Rank> = traces.iter().filter_map(rank).collect();
    present.dedup();
    let missing = (0..world_size.unwrap_or(0)).map(Rank).filter(|rank| present.binary_search(rank).is_err()).collect();
    Completeness { world_size, missing }
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{CategoryKind, SpanRow, TrackKey, TrackKind};

    use super::*;

    fn trace(file: &str, rank: Option<u32>, world: Option<u32>) -> Trace {
        let mut trace = Trace::default();
        trace.provenance.file = file.into();
        trace.provenance.rank = rank.map(|rank| (Rank(rank), RankSource::Header));
        trace.provenance.world_size = world;
        trace
    }

    #[test]
    fn names_tell_ranks() {
        for (name, rank) in [
            ("runs/rank3.json.gz", Some(3)),
            ("sampled_rank-0_of_128.json.gz", Some(0)),
            ("torch_profiler/rank12/trace.json", Some(12)),
            ("rank_007_trace.json", Some(7)),
            ("all.zip:rank2.json", Some(2)),
            ("process1.xplane.pb", Some(1)),
            ("cpu_only_rank34_of_300.json", Some(34)),
            ("ranking.json", None),
            ("rank_not_found.json", None),
            ("a100.json", None),
        ] {
            assert_eq!(rank_of_name(name), rank.map(Rank), "{name}");
        }
    }

    #[test]
    fn the_file_counts_before_its_name() {
        let mut traces = vec![trace("rank1.json", Some(0), None), trace("b.json", None, None), trace("rank7.json", None, None)];
        assert_eq!(settle_ranks(&mut traces, |_| false).unwrap(), []);
        let ranks: Vec<_> = traces.iter().map(|trace| trace.provenance.rank.unwrap()).collect();
        assert_eq!(ranks, [(Rank(0), RankSource::Header), (Rank(1), RankSource::Order), (Rank(7), RankSource::FileName)]);
        assert_eq!(traces[0].provenance.problems.count(ProblemKind::RankDisagreement), 1);
    }

    /// The same, with one span.
    fn timed(file: &str, rank: Option<u32>, start_ns: i64, dur_ns: i64) -> Trace {
        let mut trace = trace(file, rank, None);
        let track = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let category = trace.category("cpu_op", CategoryKind::CpuOp);
        let name = trace.strings.intern("op");
        trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
        trace
    }

    fn files(traces: &[Trace]) -> Vec<&str> {
        traces.iter().map(|trace| trace.provenance.file.as_str()).collect()
    }

    #[test]
    fn two_files_of_one_rank_and_time_are_named() {
        let mut traces = vec![timed("a.json", Some(2), 0, 10), timed("rank2.json", None, 5, 10)];
        let text = settle_ranks(&mut traces, |_| false).unwrap_err().to_string();
        assert!(text.contains("a.json") && text.contains("rank2.json") && text.contains("rank 2"), "{text}");
        assert!(text.contains("remove the other"), "{text}");
    }

    #[test]
    fn files_of_one_rank_follow_each_other() {
        let mut traces = vec![timed("b", Some(1), 50, 10), timed("a", Some(1), 20, 30), timed("c", Some(0), 90, 10)];
        assert_eq!(settle_ranks(&mut traces, |_| false).unwrap(), []);
        assert_eq!(files(&traces), ["c", "a", "b"]);
        assert!(matches!(each_rank_once(&traces), Err(Error::RankTwice { rank: Rank(1), .. })));
    }

    #[test]
    fn the_same_file_twice_is_kept_once() {
        let mut traces = vec![timed("a", Some(1), 20, 30), timed("b", Some(1), 20, 30)];
        let same = PassedOver::Same { file: "b".into(), kept: "a".into() };
        assert_eq!(settle_ranks(&mut traces, |_| false).unwrap(), [same]);
        assert_eq!(files(&traces), ["a"]);
    }

    #[test]
    fn what_a_run_keeps_aside_never_stands_in_the_way() {
        let mut traces = vec![
            timed("more/before", Some(0), 0, 10),
            timed("more/within", Some(0), 25, 10),
            timed("more/unknown", None, 0, 10),
            timed("newest", Some(0), 20, 30),
        ];
        let passed_over = settle_ranks(&mut traces, |trace| trace.provenance.file.starts_with("more")).unwrap();
        assert_eq!(files(&traces), ["more/before", "newest"]);
        let within = PassedOver::Overlaps { file: "more/within".into(), kept: "newest".into() };
        assert_eq!(passed_over, [PassedOver::OfNoRank { file: "more/unknown".into() }, within]);
    }

    #[test]
    fn ranks_without_a_file_are_missing_however_many_there_are() {
        let of = |present: &[u32], world, told| {
            let traces: Vec<_> = present.iter().map(|rank| trace("", Some(*rank), world)).collect();
            let found = completeness(&traces, told);
            (found.world_size, found.missing.iter().map(|rank| rank.0).collect::<Vec<_>>())
        };
        assert_eq!(of(&[0, 1, 3], Some(4), None), (Some(4), vec![2]));
        assert_eq!(of(&[0], Some(4), None), (Some(4), vec![1, 2, 3]));
        assert_eq!(of(&[0, 1], Some(2), None), (Some(2), vec![]));
        assert_eq!(of(&[0, 1], None, Some(3)), (Some(3), vec![2]), "traces of some formats do not say it, and the run does");
        assert_eq!(of(&[0, 1], None, None), (None, vec![]));
    }
}
