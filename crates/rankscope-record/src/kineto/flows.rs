//! Arrows from forward ops to the backward ops they caused (recorder specification, section 2.4, step 5).
//!
//! Autograd numbers forward ops per thread; the backward op carries that number and the forward thread. Ops are walked in order
//! of their end. A forward op stands for its (thread, number) unless one that started later already does; the first backward op
//! that asks takes it away. What nobody asks for, and who finds nobody, has no arrow.

use std::collections::HashMap;

/// What ties an op to its other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequenced {
    /// When the op started.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// The thread it ran on.
    pub tid: u64,
    /// For a backward op the thread of its forward op; zero for a forward op.
    pub forward_tid: u64,
    /// The number autograd gave it; none if negative.
    pub sequence_nr: i64,
}

/// Pairs of a forward and a backward op, by their places in `ops`, in the order the backward ops end.
pub fn forward_backward(ops: &[Sequenced]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..ops.len()).filter(|op| ops[*op].sequence_nr >= 0).collect();
    order.sort_by_key(|op| (ops[*op].end_ns, *op));
    let mut forward: HashMap<(u64, i64), usize> = HashMap::new();
    let mut pairs = Vec::new();
    for op in order {
        let Sequenced { start_ns, tid, forward_tid, sequence_nr, .. } = ops[op];
        if forward_tid == 0 {
            let standing = forward.entry((tid, sequence_nr)).or_insert(op);
            if ops[*standing].start_ns < start_ns {
                *standing = op;
            }
        } else if let Some(from) = forward.remove(&(forward_tid, sequence_nr)) {
            pairs.push((from, op));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Quadratic: for each backward op in order of end, all forward ops that ended before it since the key was last taken.
    fn oracle(ops: &[Sequenced]) -> Vec<(usize, usize)> {
        let before = |a: usize, b: usize| (ops[a].end_ns, a) < (ops[b].end_ns, b);
        let key = |op: usize| (ops[op].forward_tid, ops[op].sequence_nr);
        let is_backward = |op: &usize| ops[*op].forward_tid != 0 && ops[*op].sequence_nr >= 0;
        let mut backward: Vec<usize> = (0..ops.len()).filter(is_backward).collect();
        backward.sort_by(|a, b| (ops[*a].end_ns, a).cmp(&(ops[*b].end_ns, b)));
        let mut pairs = Vec::new();
        for op in backward {
            let candidates = (0..ops.len()).filter(|from| {
                let same_key = ops[*from].forward_tid == 0 && (ops[*from].tid, ops[*from].sequence_nr) == key(op);
                let taken = pairs.iter().any(|(_, by)| key(*by) == key(op) && before(*from, *by));
                same_key && before(*from, op) && !taken
            });
            let best = candidates.reduce(|best, next| {
                let (a, b) = (ops[best], ops[next]);
                let later = b.start_ns > a.start_ns || b.start_ns == a.start_ns && before(next, best);
                if later { next } else { best }
            });
            pairs.extend(best.map(|from| (from, op)));
        }
        pairs
    }

    fn ops() -> impl Strategy<Value = Vec<Sequenced>> {
        let op = (0_i64..20, 0_i64..10, 1_u64..4, 0_u64..4, -1_i64..4);
        let op = op.prop_map(|(start_ns, length, tid, forward_tid, sequence_nr)| Sequenced {
            start_ns,
            end_ns: start_ns + length,
            tid,
            forward_tid,
            sequence_nr,
        });
        vec(op, 0..40)
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_oracle(ops in ops()) {
            prop_assert_eq!(forward_backward(&ops), oracle(&ops));
        }

        #[test]
        fn every_end_of_an_arrow_has_one_arrow(ops in ops()) {
            let pairs = forward_backward(&ops);
            let ends: HashSet<usize> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
            prop_assert_eq!(ends.len(), 2 * pairs.len());
            for (from, to) in pairs {
                prop_assert_eq!((ops[from].tid, ops[from].sequence_nr), (ops[to].forward_tid, ops[to].sequence_nr));
            }
        }
    }

    #[test]
    fn the_forward_op_that_starts_last_has_the_arrow() {
        let op = |start_ns, end_ns, forward_tid| Sequenced { start_ns, end_ns, tid: 7, forward_tid, sequence_nr: 3 };
        let outer_inner_backward = [op(0, 10, 0), op(2, 8, 0), Sequenced { tid: 9, ..op(20, 30, 7) }];
        assert_eq!(forward_backward(&outer_inner_backward), [(1, 2)]);
        assert_eq!(forward_backward(&outer_inner_backward[1..]), [(0, 1)]);
        assert_eq!(forward_backward(&outer_inner_backward[2..]), []);
    }
}
