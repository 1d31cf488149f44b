//! Whether both sides run the same model: how much of the time of operators goes to calls with arguments that both make.

use std::collections::BTreeMap;

use rankscope_document::Rank;

use crate::names;
use crate::side::Side;

/// Less of the time in common than this, in percent, is another model or another batch.
const COMMON_PERCENT: i64 = 50;

/// A sentence where the first ranks of both have too little in common.
pub(super) fn note(base: &Side, test: &Side) -> Option<String> {
    let (of_base, of_test) = (calls(base)?, calls(test)?);
    let common = |own: &Calls<'_>, other: &Calls<'_>| {
        let all: i64 = own.values().sum();
        let both: i64 = own.iter().filter(|(call, _)| other.contains_key(*call)).map(|(_, ns)| ns).sum();
        (all > 0).then(|| i64::try_from(i128::from(both) * 100 / i128::from(all)).unwrap_or(0))
    };
    let percent = common(&of_base, &of_test)?.min(common(&of_test, &of_base)?);
    (percent < COMMON_PERCENT).then(|| {
        format!(
            "only {percent} % of the time of operators goes to operators with arguments that {} and {} share; the model or \
             its shapes differ",
            base.label, test.label
        )
    })
}

type Calls<'a> = BTreeMap<(&'a str, String), i64>;

/// Time by operator and shapes of the first rank that has shapes; none where no shapes are recorded.
fn calls(side: &Side) -> Option<Calls<'_>> {
    side.documents().flat_map(|document| &document.ranks).find_map(of_rank)
}

fn of_rank(rank: &Rank) -> Option<Calls<'_>> {
    let rows = rank.tables.as_ref()?.ops_unique_args.as_ref()?;
    let mut calls = Calls::new();
    for row in rows {
        if let Some(dims) = &row.input_dims {
            *calls.entry((&row.name, names::compact(dims))).or_default() += row.direct_kernel_ns;
        }
    }
    (!calls.is_empty()).then_some(calls)
}
