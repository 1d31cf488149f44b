//! How much of a document goes into a page.
//!
//! `report.json` holds everything; a page that takes a minute to open is not read. Six lists grow with the square of the job
//! or carry long names, and each has a budget here. What is kept is what a reader would look for first, in its original order.

use std::cmp::Reverse;

use rankscope_document::{CollectiveInstance, Document};
use serde::Serialize;

/// Full lengths of the lists that were cut, for the page to say "n of m". Zero where nothing was cut.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Cuts {
    instances: usize,
    unmatched: usize,
    pairs: usize,
    kernels_per_rank: usize,
    paths: usize,
    steps: usize,
}

/// The document within the budgets, and what they cost.
pub(super) fn fit(document: &Document) -> (Document, Cuts) {
    let mut page = document.clone();
    // A page has its tables beside the document, as far as it draws them.
    (page.collective_tables, page.across_ranks) = (None, None);
    page.ranks.iter_mut().for_each(|rank| rank.tables = None);
    let paths = keep(&mut page.critical_path, PATHS, |_| 1, |path| Reverse(path.length_ns));
    let steps = drop_steps(&mut page);
    let mut cuts = Cuts { paths, steps, ..Cuts::default() };
    let collectives = &mut page.collectives;
    cuts.instances = keep(&mut collectives.instances, RANK_ENTRIES, |i| i.arrival_order.len() + i.wait_ns.len(), longest_wait);
    cuts.unmatched = keep(&mut collectives.unmatched_list, RANK_ENTRIES, |u| u.present.len() + u.absent.len() + 1, |_| 0);
    cuts.pairs = keep(&mut page.clock.pairs, PAIRS, |_| 1, |pair| (pair.zero_inside, pair.hi_ns.saturating_sub(pair.lo_ns)));
    cuts.kernels_per_rank = shorten_kernels(&mut page);
    (page, cuts)
}

/// Longest wait first.
fn longest_wait(instance: &CollectiveInstance) -> Reverse<Option<i64>> {
    Reverse(instance.wait_ns.iter().max().copied())
}

/// Keeps the items least by `order` whose weights fit the budget; their order stays. Returns the full length if any went.
fn keep<T, K: Ord>(items: &mut Vec<T>, budget: usize, weight: impl Fn(&T) -> usize, order: impl Fn(&T) -> K) -> usize {
    let full = items.len();
    if items.iter().map(&weight).sum::<usize>() <= budget {
        return 0;
    }
    let mut by_interest: Vec<usize> = (0..full).collect();
    by_interest.sort_by_cached_key(|&i| order(&items[i]));
    let mut kept = vec![false; full];
    let mut used = 0;
    for i in by_interest {
        used += weight(&items[i]);
        if used > budget {
            break;
        }
        kept[i] = true;
    }
    let mut kept = kept.into_iter();
    items.retain(|_| kept.next().unwrap_or(false));
    full
}

/// Leaves the steps to the map where they are many. Returns how many there are if they went.
fn drop_steps(page: &mut Document) -> usize {
    let steps = page.ranks.iter().map(|rank| rank.steps.len()).sum();
    if steps <= STEPS {
        return 0;
    }
    page.ranks.iter_mut().for_each(|rank| rank.steps.clear());
    steps
}

/// Gives every rank the same number of kernels. Returns the longest full list if any was cut.
fn shorten_kernels(page: &mut Document) -> usize {
    let most = (KERNELS / page.ranks.len().max(1)).max(FEWEST_KERNELS);
    let longest = page.ranks.iter().map(|rank| rank.kernels.len()).max().unwrap_or(0);
    if longest <= most {
        return 0;
    }
    for rank in &mut page.ranks {
        rank.kernels.sort_by_key(|kernel| Reverse(kernel.total_ns));
        rank.kernels.truncate(most);
    }
    longest
}

/// Ranks named in all collectives of a list together: about 1 MB of text.
const RANK_ENTRIES: usize = 100_000;
/// Pairs of clocks, about 80 bytes each.
const PAIRS: usize = 1_000;
/// Critical paths, each with two dozen names.
const PATHS: usize = 100;
/// Kernel names run to hundreds of bytes: about 400 kB.
const KERNELS: usize = 1_200;
/// Steps of all ranks, each some 250 bytes. The map of a page has the figures of all of them in a thirtieth of that.
const STEPS: usize = 2_000;
/// The least that still answers "what runs longest here".
const FEWEST_KERNELS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_the_most_telling_in_its_old_order() {
        let mut items = vec![3, 9, 1, 8, 2];
        assert_eq!(keep(&mut items, 3, |_| 1, |&x| Reverse(x)), 5);
        assert_eq!(items, [3, 9, 8]);
        assert_eq!(keep(&mut items, 3, |_| 1, |&x| Reverse(x)), 0);
    }
}
