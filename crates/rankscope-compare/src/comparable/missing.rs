//! Ranks whose traces are missing: what is left to compare of a job of which one side lacks some.
//!
//! Nothing is made up for a missing rank. Where the jobs are equally large, both sides are compared by the ranks that every run has, so that
//! the slowest rank of one side is not looked for among more ranks than that of the other. Jobs of different sizes are left as they
//! are: each is the whole of its job.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rankscope_document::Document;

use super::spans;
use crate::side::Side;

/// What is compared, and which ranks are left out for it.
pub(crate) struct Common<'a> {
    /// The sides, each with the ranks that all runs have.
    pub(crate) sides: Cow<'a, [Side]>,
    /// A sentence for each side that lacks ranks.
    pub(crate) sentences: Vec<String>,
}

/// `sides` by the ranks that all of their runs have, where these are of jobs of one size.
pub(crate) fn in_common(sides: &[Side]) -> Common<'_> {
    let documents = || sides.iter().flat_map(Side::documents);
    let sizes: BTreeSet<u32> = documents().filter_map(size).collect();
    let each: Vec<BTreeSet<u32>> = documents().map(ranks).collect();
    let whole = Common { sides: Cow::Borrowed(sides), sentences: Vec::new() };
    let Some((first, others)) = each.split_first() else { return whole };
    let common: BTreeSet<u32> = first.iter().copied().filter(|rank| others.iter().all(|own| own.contains(rank))).collect();
    if sizes.len() != 1 || common.is_empty() || each.iter().all(|own| *own == common) {
        return whole;
    }
    let all: BTreeSet<u32> = each.iter().flatten().copied().collect();
    Common {
        sentences: sides.iter().filter_map(|side| sentence(side, &all, &common)).collect(),
        sides: sides.iter().map(|side| side.of_ranks(&common)).collect(),
    }
}

/// How many ranks the job has: as recorded, or as many as the largest number tells.
fn size(document: &Document) -> Option<u32> {
    let largest = || document.ranks.iter().map(|rank| rank.rank).max();
    document.world_size.or_else(|| largest()?.checked_add(1))
}

fn ranks(document: &Document) -> BTreeSet<u32> {
    document.ranks.iter().map(|rank| rank.rank).collect()
}

/// What is said of a side that lacks some of `all` ranks.
fn sentence(side: &Side, all: &BTreeSet<u32>, common: &BTreeSet<u32>) -> Option<String> {
    let lacking: Vec<BTreeSet<u32>> = side.documents().map(|own| all.difference(&ranks(own)).copied().collect()).collect();
    let missing: BTreeSet<u32> = lacking.iter().flatten().copied().collect();
    if missing.is_empty() {
        return None;
    }
    let runs = lacking.iter().filter(|own| !own.is_empty()).count();
    let of =
        if runs == lacking.len() { side.label.clone() } else { format!("{runs} of {} runs of {}", lacking.len(), side.label) };
    let (which, it) = match missing.len() {
        1 => (format!("rank {} is", spans(&missing)), "it"),
        _ => (format!("ranks {} are", spans(&missing)), "them"),
    };
    let left = if common.len() == 1 {
        format!("rank {}", spans(common))
    } else {
        format!("the {} ranks that all runs have", common.len())
    };
    Some(format!(
        "{which} missing from {of}, so only {left} can be compared; time in which they waited for {it} counts as moving data there"
    ))
}

#[cfg(test)]
mod tests {
    use rankscope_document::Rank;

    use super::*;
    use crate::Run;

    /// A side of a run for each list of ranks, of a job of `world` ranks where that is recorded.
    fn side(label: &str, world: Option<u32>, runs: &[&[u32]]) -> Side {
        let run = |ranks: &&[u32]| {
            let ranks = ranks.iter().map(|rank| Rank { rank: *rank, ..Rank::default() }).collect();
            Run::new(label, Document { ranks, world_size: world, ..Document::default() })
        };
        Side::new(label, runs.iter().map(run).collect())
    }

    /// The ranks of each side's first run that are compared, and what is said.
    fn told(sides: &[Side]) -> (Vec<Vec<u32>>, Vec<String>) {
        let common = in_common(sides);
        let of = |side: &Side| side.documents().next().map_or_else(Vec::new, |own| ranks(own).into_iter().collect());
        (common.sides.iter().map(of).collect(), common.sentences)
    }

    #[test]
    fn both_sides_are_compared_by_the_ranks_that_all_runs_have() {
        let whole = side("base", Some(8), &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
        let (ranks, said) = told(&[whole.clone(), side("test", Some(8), &[&[0, 1, 6, 7]])]);
        assert_eq!(ranks, [[0, 1, 6, 7], [0, 1, 6, 7]]);
        assert_eq!(
            said,
            [
                "ranks 2-5 are missing from test, so only the 4 ranks that all runs have can be compared; time in which they waited for \
              them counts as moving data there"
            ]
        );
        let (ranks, said) = told(&[side("a", Some(3), &[&[0, 1, 2], &[0, 2]]), side("b", Some(3), &[&[0, 1, 2]])]);
        assert_eq!(ranks, [[0, 2], [0, 2]]);
        assert!(said.len() == 1 && said[0].starts_with("rank 1 is missing from 1 of 2 runs of a, so"), "{said:?}");
        // Nothing recorded the size of the job; the last rank tells it.
        let (ranks, said) = told(&[side("a", None, &[&[0, 1, 2]]), side("b", None, &[&[0, 2]])]);
        assert_eq!((ranks[0].as_slice(), said.len()), ([0, 2].as_slice(), 1));
    }

    #[test]
    fn jobs_of_other_sizes_and_without_a_rank_in_common_stay_as_they_are() {
        for (base, test) in [
            (side("a", Some(8), &[&[0, 1, 2, 3]]), side("b", Some(4), &[&[0, 1]])),
            (side("a", Some(4), &[&[0, 1]]), side("b", Some(4), &[&[2, 3]])),
            (side("a", None, &[&[0, 1, 2, 3]]), side("b", None, &[&[0, 1]])),
            (side("a", Some(4), &[]), side("b", Some(4), &[&[0]])),
            (side("a", None, &[&[]]), side("b", None, &[&[0]])),
        ] {
            let own = |side: &Side| side.documents().map(ranks).collect::<Vec<_>>();
            let expected = [own(&base), own(&test)];
            let sides = [base, test];
            let common = in_common(&sides);
            assert_eq!(common.sides.iter().map(own).collect::<Vec<_>>(), expected);
            assert!(common.sentences.is_empty());
        }
    }
}
