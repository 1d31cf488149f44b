//! Ranks that differ from each other by next to nothing: a page shows one of them, says how many there are, and lists those that differ.

use rankscope_document::Document;
use serde::Serialize;

/// For each table with a row for every rank, those that need no row. None where too few are alike.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct RanksAlike {
    time: Option<Alike>,
    late: Option<Alike>,
}

/// Ranks whose figures all lie close to the middle one's.
#[derive(Debug, PartialEq, Serialize)]
struct Alike {
    /// By how much of the whole any figure differs at most.
    ratio: f64,
    /// The one that is nearest to the middle.
    rank: u32,
    /// All of them.
    ranks: Vec<u32>,
}

/// So few ranks are all listed.
const FEW: usize = 12;

/// How far apart ranks may be and still be alike, the closest first that leaves few over.
const RATIOS: [f64; 4] = [0.01, 0.02, 0.05, 0.1];

/// Those of `document`.
pub(super) fn ranks_alike(document: &Document) -> RanksAlike {
    let times = document.ranks.iter().filter(|rank| rank.time_ns.total > 0);
    let times: Vec<(u32, [i64; 4])> = times
        .map(|rank| {
            let time = &rank.time_ns;
            (rank.rank, [time.computation, time.exposed_comm, time.exposed_memcpy, time.idle])
        })
        .collect();
    let whole = document.ranks.iter().map(|rank| rank.time_ns.total).max().unwrap_or(0);
    let arrivals: Vec<(u32, [i64; 2])> =
        document.collectives.ranks.iter().map(|rank| (rank.rank, [rank.delay_ns, rank.wait_ns])).collect();
    let longest = arrivals.iter().flat_map(|(_, figures)| figures).copied().max().unwrap_or(0);
    RanksAlike { time: alike(&times, whole), late: alike(&arrivals, longest) }
}

fn alike<const N: usize>(rows: &[(u32, [i64; N])], whole: i64) -> Option<Alike> {
    if rows.len() <= FEW || whole <= 0 {
        return None;
    }
    let middle: [i64; N] = std::array::from_fn(|at| {
        let mut column: Vec<i64> = rows.iter().map(|(_, figures)| figures[at]).collect();
        *column.select_nth_unstable((rows.len() - 1) / 2).1
    });
    let distance = |figures: &[i64; N]| {
        let apart = figures.iter().zip(&middle).map(|(figure, middle)| figure.abs_diff(*middle)).max().unwrap_or(0);
        apart as f64 / whole as f64
    };
    let far: Vec<(u32, f64)> = rows.iter().map(|(rank, figures)| (*rank, distance(figures))).collect();
    let within = |ratio: f64| far.iter().filter(|(_, far)| *far <= ratio).map(|(rank, _)| *rank).collect::<Vec<u32>>();
    let left = (rows.len() / 8).max(6);
    let mut close = RATIOS.into_iter().map(|ratio| (ratio, within(ratio)));
    let (ratio, ranks) = close.find(|(_, ranks)| rows.len() - ranks.len() <= left)?;
    let (rank, _) = far.into_iter().min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(Alike { ratio, rank, ranks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_differ_are_left_over_and_the_middle_one_stands_for_the_others() {
        let rows: Vec<(u32, [i64; 2])> =
            (0..64).map(|rank| (rank, if rank == 17 { [700, 300] } else { [500 + i64::from(rank % 3), 500] })).collect();
        let found = alike(&rows, 1_000).unwrap();
        assert_eq!((found.ratio, found.ranks.len()), (0.01, 63));
        assert!(!found.ranks.contains(&17) && found.rank % 3 == 1, "{found:?}");
    }

    #[test]
    fn few_ranks_and_ranks_that_have_nothing_in_common_are_listed() {
        let rows = |count: u32| (0..count).map(|rank| (rank, [i64::from(rank) * 100])).collect::<Vec<_>>();
        assert_eq!(alike(&rows(12), 1_200), None);
        assert_eq!(alike(&rows(64), 6_400), None);
        assert_eq!(alike(&rows(64), 0), None);
        assert_eq!(ranks_alike(&Document::default()), RanksAlike::default());
    }

    #[test]
    fn extremes_are_apart() {
        let rows: Vec<(u32, [i64; 1])> = (0..40).map(|rank| (rank, [if rank < 3 { i64::MIN } else { i64::MAX }])).collect();
        assert_eq!(alike(&rows, i64::MAX).unwrap().ranks.len(), 37);
    }
}
