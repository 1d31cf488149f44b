//! Rows of two stretches of time in one list.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Gives each of `later` to `add` with the row of its key, or appends it where there is none.
pub(crate) fn join_rows<R, K: Eq + Hash>(rows: &mut Vec<R>, later: Vec<R>, key: impl Fn(&R) -> K, add: impl Fn(&mut R, R)) {
    let places: FxHashMap<K, usize> = rows.iter().enumerate().map(|(at, row)| (key(row), at)).collect();
    for row in later {
        match places.get(&key(&row)) {
            Some(at) => add(&mut rows[*at], row),
            None => rows.push(row),
        }
    }
}
