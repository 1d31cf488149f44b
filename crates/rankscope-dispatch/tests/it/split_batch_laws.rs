//! Which tasks make a batch that splits keys: those that compute every score once, and no others.

use proptest::prelude::*;
use rankscope_dispatch::{Batch, Error, SplitBatch, SplitTask};

/// How often each score of each document is computed, counted one by one.
fn uses(layout: &Batch, tasks: &[SplitTask]) -> Vec<Vec<u32>> {
    let tokens = |document: &[rankscope_dispatch::Shard]| document.iter().map(|shard| shard.tokens as usize).sum::<usize>();
    let mut uses: Vec<_> = layout.documents().map(|document| vec![0; tokens(document).pow(2)]).collect();
    for task in tasks {
        let tokens = tokens(layout.document(task.document));
        for query in task.queries.clone() {
            for key in task.keys.start..task.keys.end.min(query + 1) {
                uses[task.document][query as usize * tokens + key as usize] += 1;
            }
        }
    }
    uses
}

fn is_once(layout: &Batch, tasks: &[SplitTask]) -> bool {
    uses(layout, tasks).iter().all(|uses| {
        let tokens = uses.len().isqrt();
        (0..tokens).all(|query| (0..tokens).all(|key| uses[query * tokens + key] == u32::from(key <= query)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_score_is_computed_once(batch in crate::batches::split_batch()) {
        prop_assert!(is_once(batch.layout(), batch.tasks()));
        let all = batch.layout().cells_at_home().unwrap().iter().sum::<u64>();
        prop_assert_eq!(batch.cells().unwrap().iter().sum::<u64>(), all);
    }

    /// Whatever is changed in a task, what is taken is what computes every score once.
    #[test]
    fn nothing_else_is_taken(
        batch in crate::batches::split_batch(),
        which in any::<prop::sample::Index>(),
        change in 0..7_u8,
        by in 1..4_u32,
    ) {
        let mut tasks = batch.tasks().to_vec();
        prop_assume!(!tasks.is_empty());
        let at = which.index(tasks.len());
        let task = &mut tasks[at];
        match change {
            0 => task.queries.start = task.queries.start.saturating_sub(by),
            1 => task.queries.start += by,
            2 => task.queries.end = task.queries.end.saturating_sub(by),
            3 => task.keys.start = task.keys.start.saturating_sub(by),
            4 => task.keys.end = task.keys.end.saturating_sub(by),
            5 => task.keys.end += by,
            _ => { tasks.remove(at); }
        }
        match SplitBatch::new(batch.layout(), tasks.clone()) {
            Ok(taken) => prop_assert!(is_once(batch.layout(), taken.tasks()), "{tasks:?}"),
            Err(Error::SplitTask { .. }) => {}
            Err(Error::SplitGap { document, query, key }) => {
                let tokens = uses(batch.layout(), &[])[document].len().isqrt();
                prop_assert_eq!(uses(batch.layout(), &tasks)[document][query as usize * tokens + key as usize], 0);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn whole_contexts_are_the_batch(batch in crate::batches::batch()) {
        let whole = SplitBatch::of_whole(&batch);
        prop_assert_eq!(whole.cells().unwrap(), batch.cells().unwrap());
        prop_assert!(!whole.merges());
        prop_assert_eq!(&SplitBatch::new(&batch, whole.tasks().to_vec()).unwrap(), &whole);
    }
}
