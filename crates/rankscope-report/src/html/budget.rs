//! How much of a document goes into a page.
//!
//! `report.json` holds everything; a page that takes a minute to open is not read. Lists that grow with the square of the job or carry long
//! names have a budget each, whose size is in the module that makes the list. What is kept is what a reader would look for first, in its
//! original order, and the page says of how many.

use serde::Serialize;

/// Full lengths of the lists that were cut, for the page to say "n of m". Zero where nothing was cut.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Cuts {
    pub(super) instances: usize,
    pub(super) unmatched: usize,
    pub(super) pairs: usize,
    pub(super) kernels_per_rank: usize,
    pub(super) paths: usize,
}

/// What is kept of a list, and how long all of it is if any of it was left out, else zero.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept<'a, T> {
    pub(crate) items: Vec<&'a T>,
    pub(crate) full: usize,
}

/// The items least by `order` whose weights fit the budget; their order stays.
pub(crate) fn keep<T, K: Ord>(
    items: &[T],
    budget: usize,
    weight: impl Fn(&T) -> usize,
    order: impl Fn(&T) -> K,
) -> Kept<'_, T> {
    if items.iter().map(&weight).sum::<usize>() <= budget {
        return Kept { items: items.iter().collect(), full: 0 };
    }
    let mut by_interest: Vec<usize> = (0..items.len()).collect();
    by_interest.sort_by_cached_key(|&at| order(&items[at]));
    let mut used = 0;
    let fits = |at: &usize| {
        used += weight(&items[*at]);
        used <= budget
    };
    let mut places: Vec<usize> = by_interest.into_iter().take_while(fits).collect();
    places.sort_unstable();
    Kept { items: places.into_iter().map(|at| &items[at]).collect(), full: items.len() }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn what_is_kept_is_the_most_telling_in_its_old_order() {
        let items = [3, 9, 1, 8, 2];
        assert_eq!(keep(&items, 3, |_| 1, |&x| Reverse(x)), Kept { items: vec![&3, &9, &8], full: 5 });
        assert_eq!(keep(&items, 5, |_| 1, |&x| Reverse(x)).full, 0);
    }
}
