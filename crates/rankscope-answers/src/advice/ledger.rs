//! [`Ledger`]: how long each rank spent on what, so that ranks can be laid side by side.

use rankscope_execution::{Activity, JobExecution, Key};
use rustc_hash::FxHashMap;

/// What one rank spent on one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// How long, in nanoseconds.
    pub(super) ns: i64,
    /// In how many pieces.
    pub(super) count: u64,
}

/// What all ranks spent.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    keys: Vec<Key>,
    /// By rank and key.
    ranks: Vec<FxHashMap<u32, Spent>>,
}

impl Ledger {
    /// The ledger of `job`.
    pub(super) fn of(job: &JobExecution<'_>) -> Self {
        let mut ledger = Self::default();
        let mut places: FxHashMap<Key, u32> = FxHashMap::default();
        for execution in &job.ranks {
            let own: Vec<u32> = execution.keys().iter().map(|key| ledger.place(&mut places, key)).collect();
            let mut spent = vec![Spent::default(); own.len()];
            for share in execution.ids().flat_map(|piece| execution.shares(piece)) {
                let sum = &mut spent[share.key.0 as usize];
                sum.ns = sum.ns.saturating_add(share.ns);
                sum.count += 1;
            }
            ledger.ranks.push(own.into_iter().zip(spent).filter(|(_, spent)| spent.count > 0).collect());
        }
        ledger
    }

    fn place(&mut self, places: &mut FxHashMap<Key, u32>, key: &Key) -> u32 {
        *places.entry(key.clone()).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            self.keys.len() as u32 - 1
        })
    }

    /// All keys, with their numbers.
    pub(super) fn keys(&self) -> impl Iterator<Item = (u32, &Key)> {
        (0..).zip(&self.keys)
    }

    /// What the rank at index `rank` spent on `key`.
    pub(super) fn spent(&self, rank: usize, key: u32) -> Spent {
        self.ranks[rank].get(&key).copied().unwrap_or_default()
    }

    /// How many ranks there are.
    pub(super) fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Sum over ranks and keys of one activity.
    pub(super) fn of_activity(&self, activity: Activity) -> Spent {
        let of = |rank: usize| self.keys().filter(|(_, key)| key.activity == activity).map(move |(at, _)| self.spent(rank, at));
        let add = |sum: Spent, one: Spent| Spent { ns: sum.ns.saturating_add(one.ns), count: sum.count + one.count };
        (0..self.ranks()).flat_map(of).fold(Spent::default(), add)
    }
}

/// The middle of `values`, the lower one of two; nothing of none.
pub(super) fn median(values: impl IntoIterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.into_iter().collect();
    let at = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(at).1)
}
