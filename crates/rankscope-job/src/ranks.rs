//! Whose rank each file is.
//!
//! The file's own word counts most, then the name of the file or of a folder above it. Files that say nothing are numbered by
//! their order. A rank may have several files if each is of another time, as a profiler that repeats leaves them. Two of one time are
//! an error: whichever was taken, half the report would be about another run.

mod taken;

use std::collections::BTreeSet;
use std::fmt;

use rankscope_time::Rank;
use rankscope_trace::{ProblemKind, RankSource, SourceFormat, rank_of_name};

use self::taken::{Clash, Taken};
use crate::{Error, Part};

/// A file that adds nothing to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PassedOver {
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

/// Gives every part a rank and sorts them by it, those of one rank by time. What adds nothing is taken out and returned; of what a
/// run keeps aside, that goes for all that stand in the way of others.
///
/// # Errors
/// [`Error::RankConflict`] names two files of one rank and one time.
pub(crate) fn settle_ranks(parts: &mut Vec<Part>) -> Result<Vec<PassedOver>, Error> {
    doubt_communicators(parts);
    parts.iter_mut().for_each(believe);
    let mut passed_over = Vec::new();
    parts.retain(|part| {
        let kept = part.about.rank.is_some() || !part.about.earlier;
        if !kept {
            passed_over.push(PassedOver::OfNoRank { file: part.about.file.clone() });
        }
        kept
    });
    number_the_rest(parts);
    let bounds = |part: &Part| part.about.bounds_ns;
    parts.sort_by_key(|part| (part.rank(), part.about.earlier, bounds(part)));
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    let (mut first_own, mut taken) = (0, Taken::default());
    for part in parts.drain(..) {
        if kept.last().is_some_and(|last| last.rank() != part.rank()) {
            (first_own, taken) = (kept.len(), Taken::default());
        }
        let Some((own, same)) = taken.clash(&part.about) else {
            taken.add(&part.about);
            kept.push(part);
            continue;
        };
        let other = &kept[first_own + own];
        let (file, first) = (part.about.file.clone(), other.about.file.clone());
        passed_over.push(match same {
            Clash::Same => PassedOver::Same { file, kept: first },
            Clash::Overlap if part.about.earlier => PassedOver::Overlaps { file, kept: first },
            Clash::Overlap => return Err(Error::RankConflict { rank: part.rank(), first, second: file }),
        });
    }
    kept.sort_by_key(|part| (part.rank(), bounds(part)));
    *parts = kept;
    Ok(passed_over)
}

/// Makes sure that no two of `parts`, whose ranks are settled, are of one rank.
///
/// # Errors
/// [`Error::RankTwice`] names the two files.
pub(crate) fn each_rank_once(parts: &[Part]) -> Result<(), Error> {
    let twice = parts.windows(2).find(|pair| pair[0].rank() == pair[1].rank());
    match twice {
        Some([first, second]) => {
            Err(Error::RankTwice { rank: first.rank(), first: first.about.file.clone(), second: second.about.file.clone() })
        }
        _ => Ok(()),
    }
}

/// Forgets ranks that are only those within some communicator. NCCL's Inspector knows no other; they are the job's if the largest
/// communicator of every process is of all ranks, and then it is equally large everywhere and no two processes are one rank of it.
fn doubt_communicators(parts: &mut [Part]) {
    let is_such = |part: &&mut Part| part.about.format == SourceFormat::Inspector;
    let such: Vec<&Part> = parts.iter().filter(|part| part.about.format == SourceFormat::Inspector).collect();
    let world = such.iter().map(|part| part.about.world_size).max().flatten();
    let smaller = such.iter().any(|part| part.about.world_size != world);
    if !smaller && !is_one_rank_at_once(&such) {
        return;
    }
    for part in parts.iter_mut().filter(is_such) {
        (part.about.rank, part.about.world_size) = (None, None);
        let detail = "its communicators are not of all ranks; files are numbered in the order of their names".to_owned();
        part.about.problems.add_detailed(ProblemKind::RankDisagreement, 0, 1, detail);
    }
}

/// Whether two of these files say that they are one rank, of times that overlap.
fn is_one_rank_at_once(parts: &[&Part]) -> bool {
    let rank = |part: &&Part| part.about.rank.map(|(rank, _)| rank);
    let mut times: Vec<_> = parts.iter().filter_map(|part| Some((rank(part), part.about.bounds_ns?))).collect();
    times.sort_unstable();
    // Of those that began before, the one that lasted longest overlaps if any does.
    let mut longest = None;
    times.into_iter().any(|(rank, (start, end))| {
        let before = longest.filter(|(known, _, _)| *known == rank);
        longest = before.filter(|(_, _, until)| *until >= end).or(Some((rank, start, end)));
        before.is_some_and(|(_, from, until)| from < end && start < until)
    })
}

/// Settles what a file and its name say of its rank.
fn believe(part: &mut Part) {
    let named = rank_of_name(&part.about.file);
    match (part.about.rank, named) {
        (None, Some(named)) => part.set_rank(named, RankSource::FileName),
        (Some((said, _)), Some(named)) if said != named => {
            let detail = format!("the file says rank {said}, its name says {named}; the file's own rank is used");
            part.about.problems.add_detailed(ProblemKind::RankDisagreement, 0, 1, detail);
        }
        _ => {}
    }
}

/// Numbers those that say nothing by their order.
fn number_the_rest(parts: &mut [Part]) {
    let mut taken: BTreeSet<Rank> = parts.iter().filter_map(|part| part.about.rank.map(|(rank, _)| rank)).collect();
    let mut next = 0;
    for part in parts.iter_mut().filter(|part| part.about.rank.is_none()) {
        while taken.contains(&Rank(next)) {
            next += 1;
        }
        part.set_rank(Rank(next), RankSource::Order);
        taken.insert(Rank(next));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_analyze::Classes;
    use rankscope_trace::{CategoryKind, SpanRow, Trace, TrackKey, TrackKind};

    use super::*;

    fn part(file: &str, rank: Option<u32>, world: Option<u32>) -> Part {
        let mut trace = Trace::default();
        trace.provenance.file = file.into();
        trace.provenance.rank = rank.map(|rank| (Rank(rank), RankSource::Header));
        trace.provenance.world_size = world;
        Part::of(&mut trace, &Classes::default())
    }

    #[test]
    fn the_file_counts_before_its_name() {
        let mut parts = vec![part("rank1.json", Some(0), None), part("b.json", None, None), part("rank7.json", None, None)];
        assert_eq!(settle_ranks(&mut parts).unwrap(), []);
        let ranks: Vec<_> = parts.iter().map(|part| part.about.rank.unwrap()).collect();
        assert_eq!(ranks, [(Rank(0), RankSource::Header), (Rank(1), RankSource::Order), (Rank(7), RankSource::FileName)]);
        assert_eq!(parts[0].about.problems.count(ProblemKind::RankDisagreement), 1);
    }

    #[test]
    fn ranks_within_communicators_are_the_jobs_only_where_these_are_of_all_ranks() {
        let of = |rows: &[(&str, u32, u32)]| {
            let part = |(file, rank, world): &(&str, u32, u32)| {
                let mut part = timed(file, Some(*rank), 0, 100);
                (part.about.format, part.about.world_size) = (SourceFormat::Inspector, Some(*world));
                part
            };
            let mut parts: Vec<Part> = rows.iter().map(part).collect();
            settle_ranks(&mut parts).unwrap();
            parts.iter().map(|part| (part.about.file.clone(), part.rank().0, part.about.world_size)).collect::<Vec<_>>()
        };
        let said = |file: &str, rank, world| (file.to_owned(), rank, world);
        assert_eq!(of(&[("b", 0, 2), ("a", 1, 2)]), [said("b", 0, Some(2)), said("a", 1, Some(2))]);
        // Two pairs of a job of four, and one process that was in all of them and one in a pair only.
        let pairs = [("a", 0, 2), ("b", 1, 2), ("c", 0, 2), ("d", 1, 2)];
        assert_eq!(of(&pairs), [said("a", 0, None), said("b", 1, None), said("c", 2, None), said("d", 3, None)]);
        assert_eq!(of(&[("a", 3, 4), ("b", 1, 2)]), [said("a", 0, None), said("b", 1, None)]);
    }

    /// The same, with one span.
    fn timed(file: &str, rank: Option<u32>, start_ns: i64, dur_ns: i64) -> Part {
        let mut trace = Trace::default();
        trace.provenance.file = file.into();
        trace.provenance.rank = rank.map(|rank| (Rank(rank), RankSource::Header));
        let track = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let category = trace.category("cpu_op", CategoryKind::CpuOp);
        let name = trace.strings.intern("op");
        trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
        let mut part = Part::of(&mut trace, &Classes::default());
        part.about.earlier = file.starts_with("more");
        part
    }

    fn files(parts: &[Part]) -> Vec<&str> {
        parts.iter().map(|part| part.about.file.as_str()).collect()
    }

    #[test]
    fn two_files_of_one_rank_and_time_are_named() {
        let mut parts = vec![timed("a.json", Some(2), 0, 10), timed("rank2.json", None, 5, 10)];
        let text = settle_ranks(&mut parts).unwrap_err().to_string();
        assert!(text.contains("a.json") && text.contains("rank2.json") && text.contains("rank 2"), "{text}");
        assert!(text.contains("remove the other"), "{text}");
    }

    #[test]
    fn files_of_one_rank_follow_each_other() {
        let mut parts = vec![timed("b", Some(1), 50, 10), timed("a", Some(1), 20, 30), timed("c", Some(0), 90, 10)];
        assert_eq!(settle_ranks(&mut parts).unwrap(), []);
        assert_eq!(files(&parts), ["c", "a", "b"]);
        assert!(matches!(each_rank_once(&parts), Err(Error::RankTwice { rank: Rank(1), .. })));
    }

    #[test]
    fn the_same_file_twice_is_kept_once() {
        let mut parts = vec![timed("a", Some(1), 20, 30), timed("b", Some(1), 20, 30)];
        let same = PassedOver::Same { file: "b".into(), kept: "a".into() };
        assert_eq!(settle_ranks(&mut parts).unwrap(), [same]);
        assert_eq!(files(&parts), ["a"]);
    }

    #[test]
    fn what_a_run_keeps_aside_never_stands_in_the_way() {
        let mut parts = vec![
            timed("more/before", Some(0), 0, 10),
            timed("more/within", Some(0), 25, 10),
            timed("more/unknown", None, 0, 10),
            timed("newest", Some(0), 20, 30),
        ];
        let passed_over = settle_ranks(&mut parts).unwrap();
        assert_eq!(files(&parts), ["more/before", "newest"]);
        let within = PassedOver::Overlaps { file: "more/within".into(), kept: "newest".into() };
        assert_eq!(passed_over, [PassedOver::OfNoRank { file: "more/unknown".into() }, within]);
    }

    /// The same by comparing each file with all that are kept of its rank, the last first.
    fn settled_slowly(parts: &mut Vec<Part>) -> Result<Vec<PassedOver>, Error> {
        let clash = |a: &Part, b: &Part| {
            let apart = |(a, b): ((i64, i64), (i64, i64))| a.1 <= b.0 || b.1 <= a.0;
            if a.about.outline() == b.about.outline() {
                return Some(Clash::Same);
            }
            (!a.about.bounds_ns.zip(b.about.bounds_ns).is_some_and(apart)).then_some(Clash::Overlap)
        };
        parts.sort_by_key(|part| (part.rank(), part.about.earlier, part.about.bounds_ns));
        let (mut kept, mut passed_over): (Vec<Part>, Vec<PassedOver>) = Default::default();
        for part in parts.drain(..) {
            let mut own = kept.iter().rev().filter(|other| other.rank() == part.rank());
            let found = own.find_map(|other| Some((other.about.file.clone(), clash(other, &part)?)));
            let file = part.about.file.clone();
            match found {
                None => kept.push(part),
                Some((kept, Clash::Same)) => passed_over.push(PassedOver::Same { file, kept }),
                Some((kept, Clash::Overlap)) if part.about.earlier => passed_over.push(PassedOver::Overlaps { file, kept }),
                Some((first, Clash::Overlap)) => return Err(Error::RankConflict { rank: part.rank(), first, second: file }),
            }
        }
        kept.sort_by_key(|part| (part.rank(), part.about.bounds_ns));
        *parts = kept;
        Ok(passed_over)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn files_are_settled_as_by_comparing_all_with_all(
            files in prop::collection::vec((0u32..2, prop::option::weighted(0.97, (0i64..24, 0i64..5)), prop::bool::weighted(0.8), 0u64..2), 0..16)
        ) {
            let list = || -> Vec<Part> {
                let mut list = Vec::new();
                for (at, (rank, time, earlier, events)) in files.iter().enumerate() {
                    let mut file = part(&format!("{at}.json"), Some(*rank), None);
                    file.about.bounds_ns = time.map(|(from, for_ns)| (from, from + for_ns));
                    (file.about.earlier, file.about.events) = (*earlier, *events);
                    list.push(file);
                }
                list
            };
            let (mut quickly, mut slowly) = (list(), list());
            let (found, expected) = (settle_ranks(&mut quickly), settled_slowly(&mut slowly));
            prop_assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(|error| error.to_string()));
            prop_assert_eq!(self::files(&quickly), self::files(&slowly));
        }
    }
}
