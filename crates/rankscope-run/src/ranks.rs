//! Whose rank each file is.
//!
//! The file's own word counts most, then the name of the file or of a folder above it. Files that say nothing are numbered by
//! their order. Two files of one rank are an error: whichever was taken, half the report would be about another run.

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

/// Gives every trace a rank and sorts them by it.
///
/// # Errors
/// [`Error::RankConflict`] names the two files.
pub fn settle_ranks(traces: &mut [Trace]) -> Result<(), Error> {
    for trace in traces.iter_mut() {
        let named = rank_of_name(&trace.provenance.file);
        match (trace.provenance.rank, named) {
            (None, Some(named)) => trace.provenance.rank = Some((named, RankSource::FileName)),
            (Some((said, _)), Some(named)) if said != named => {
                let detail = format!("the file says {said}, its name {named}; the file is believed");
                trace.provenance.problems.add_detailed(ProblemKind::RankDisagreement, 0, 1, detail);
            }
            _ => {}
        }
    }
    let mut taken: Vec<Rank> = traces.iter().filter_map(|trace| trace.provenance.rank).map(|(rank, _)| rank).collect();
    let mut next = 0;
    for trace in traces.iter_mut().filter(|trace| trace.provenance.rank.is_none()) {
        while taken.contains(&Rank(next)) {
            next += 1;
        }
        trace.provenance.rank = Some((Rank(next), RankSource::Order));
        taken.push(Rank(next));
    }
    traces.sort_by_key(|trace| trace.provenance.rank.map(|(rank, _)| rank));
    for pair in traces.windows(2) {
        if let (Some((rank, _)), Some((other, _))) = (pair[0].provenance.rank, pair[1].provenance.rank)
            && rank == other
        {
            let (first, second) = (pair[0].provenance.file.clone(), pair[1].provenance.file.clone());
            return Err(Error::RankConflict { rank, first, second });
        }
    }
    Ok(())
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
    let present: Vec<Rank> = traces.iter().filter_map(|trace| trace.provenance.rank).map(|(rank, _)| rank).collect();
    let missing = (0..world_size.unwrap_or(0)).map(Rank).filter(|rank| present.binary_search(rank).is_err()).collect();
    Completeness { world_size, missing }
}

#[cfg(test)]
mod tests {
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
        let mut traces = [trace("rank1.json", Some(0), None), trace("b.json", None, None), trace("rank7.json", None, None)];
        settle_ranks(&mut traces).unwrap();
        let ranks: Vec<_> = traces.iter().map(|trace| trace.provenance.rank.unwrap()).collect();
        assert_eq!(ranks, [(Rank(0), RankSource::Header), (Rank(1), RankSource::Order), (Rank(7), RankSource::FileName)]);
        assert_eq!(traces[0].provenance.problems.count(ProblemKind::RankDisagreement), 1);
    }

    #[test]
    fn two_files_of_one_rank_are_named() {
        let error = settle_ranks(&mut [trace("a.json", Some(2), None), trace("rank2.json", None, None)]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a.json") && text.contains("rank2.json") && text.contains("rank 2"), "{text}");
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
