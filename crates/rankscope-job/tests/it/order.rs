//! In whatever order parts come, and however many workers brought them, the job is the same to the byte.

use proptest::prelude::*;
use rankscope_analyze::ClassMode;
use rankscope_formats::Scope;
use rankscope_job::{Analysed, Conflict, Facts, Judging, Part, Parts, Place, Rules, Unread, WhyUnread, judge, passed_over};
use rankscope_testkit::{Dialect, Job, NodeClock};
use rankscope_time::Rank;

use crate::bench::{document, little, moved, part, parts, place, trace};

/// What a mapper found at a place.
#[derive(Clone, Debug)]
enum Found {
    Part(Box<Part>),
    Unread(Unread),
}

type Finds = Vec<(Place, Found)>;

/// A job as folders hold them.
#[derive(Clone, Copy, Debug)]
struct Folder {
    ranks: u32,
    /// Exports of each rank, the last rank one fewer where there are several.
    exports: u32,
    /// Whether steps are counted on from export to export.
    counted_on: bool,
    dialect: usize,
    /// The last rank's file is of another dialect.
    mixed: bool,
    /// No file name tells a rank.
    nameless: bool,
    unread: bool,
    drift_ppb: i64,
    seed: u64,
}

const MINUTE_NS: i64 = 60_000_000_000;

impl Folder {
    fn job(&self) -> Job {
        let second = NodeClock { offset_ns: 40_000, drift_ppb: self.drift_ppb };
        Job { ranks: self.ranks, gpus_per_node: 2, clocks: vec![NodeClock::default(), second], seed: self.seed, ..little() }
    }

    fn finds(&self) -> Finds {
        let (job, dialects) = (self.job(), Dialect::all());
        let mut finds = Finds::new();
        for rank in 0..self.ranks {
            let last = rank + 1 == self.ranks;
            let dialect = dialects[(self.dialect + usize::from(self.mixed && last)) % dialects.len()].1;
            let exports = if last { self.exports.saturating_sub(1).max(1) } else { self.exports };
            for export in 0..exports {
                let number = finds.len();
                let file = if self.nameless { format!("trace-{number}.json") } else { format!("rank{rank}.{export}.json") };
                let steps = if self.counted_on { i64::from(export * job.steps) } else { 0 };
                let whole = trace(&file, job.rank_bytes(rank, &dialect), Scope::All);
                let mut part = part(moved(whole, i64::from(export) * MINUTE_NS, steps));
                part.about.earlier = export + 1 < exports;
                finds.push((place(number), Found::Part(Box::new(part))));
            }
        }
        if self.unread {
            for (why, in_folder, earlier) in
                [(WhyUnread::NotATrace("a picture".into()), true, false), (WhyUnread::Broken("cut".into()), true, true)]
            {
                let mut unread = Unread::new(format!("other-{}", finds.len()), why);
                (unread.found_in_folder, unread.earlier) = (in_folder, earlier);
                finds.push((place(finds.len()), Found::Unread(unread)));
            }
        }
        finds
    }
}

prop_compose! {
    fn folders()(
        ranks in 1u32..4, exports in 1u32..4, counted_on: bool, dialect in 0usize..14, mixed in prop::bool::weighted(0.2),
        nameless: bool, unread: bool, drift_ppb in prop::sample::select(vec![0i64, 900, -12_000]), seed in 0u64..50,
    ) -> Folder {
        Folder { ranks, exports, counted_on, dialect, mixed, nameless, unread, drift_ppb, seed }
    }
}

fn of<'a>(finds: impl IntoIterator<Item = &'a (Place, Found)>) -> Parts {
    let mut parts = Parts::new(Rules::default());
    for (place, found) in finds {
        match found.clone() {
            Found::Part(part) => parts.add(*place, *part).expect("equal"),
            Found::Unread(unread) => parts.add_unread(*place, unread).expect("equal"),
        }
    }
    parts
}

/// The document, or why there is none.
fn answer(parts: Parts) -> Result<String, String> {
    let job = judge(parts, &Facts::default(), Judging::default()).map_err(|error| error.to_string())?;
    let analysed = Analysed::of(job, None).map_err(|error| error.to_string())?;
    Ok(serde_json::to_string(&analysed.document("a job")).expect("JSON"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn neither_order_nor_workers_change_an_answer(folder in folders(), order: prop::sample::Index, workers in 1usize..5, keys: [u64; 4]) {
        let finds = folder.finds();
        let expected = answer(of(&finds));
        let mut shuffled = finds.clone();
        shuffled.sort_by_key(|(place, _)| (u64::from(place.file) + 1).wrapping_mul(keys[0] | 1).rotate_left(23));
        let mut brought: Vec<Parts> = (0..workers)
            .map(|worker| of(shuffled.iter().enumerate().filter(|(at, _)| (keys[1] >> (at % 60)) as usize % workers == worker).map(|(_, find)| find)))
            .collect();
        // Joined two at a time, whichever two.
        let mut at = order.index(1 << 20);
        while brought.len() > 1 {
            let one = brought.swap_remove(at % brought.len());
            let other = brought.swap_remove((at / 7) % brought.len());
            brought.push(one.join(other).expect("of one job"));
            at = at.wrapping_mul(31) + 1;
        }
        let joined = brought.remove(0);
        prop_assert_eq!(&joined, &of(&finds));
        prop_assert_eq!(answer(joined), expected);
    }

    #[test]
    fn joining_is_associative_commutative_and_idempotent(folder in folders(), has: [u16; 3]) {
        let finds = folder.finds();
        // What several workers found is in several of them.
        let [a, b, c] = has.map(|mask| {
            let mut own = of(finds.iter().enumerate().filter(|(at, _)| mask >> (at % 16) & 1 == 1).map(|(_, find)| find));
            (0..4).filter(|at| mask >> at & 1 == 1).for_each(|at| own.add_attempt(format!("attempt-{at}")));
            own
        });
        let join = |a: &Parts, b: &Parts| a.clone().join(b.clone()).expect("of one job");
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(&join(&a, &a), &a);
        prop_assert_eq!(&join(&a, &Parts::default()), &a);
        prop_assert_eq!(&join(&Parts::default(), &a), &a);
    }
}

#[test]
fn parts_of_other_rules_are_refused() {
    let (one, other) = (Parts::new(Rules::default()), Parts::new(Rules::new(ClassMode::Tracelens, vec![], false)));
    assert_eq!(one.clone().join(other.clone()), Err(Conflict::Rules));
    assert_eq!(other.join(one.clone()), Err(Conflict::Rules));
    for rules in [Rules::new(ClassMode::Default, vec!["own_".into()], false), Rules::new(ClassMode::Default, vec![], true)] {
        assert_eq!(one.clone().join(Parts::new(rules)), Err(Conflict::Rules));
    }
}

#[test]
fn what_two_workers_found_at_one_place_must_be_the_same() {
    let with = |found: Found| of(&[(place(0), found)]);
    let whole = trace("rank0.json", little().rank_bytes(0, &Dialect::default()), Scope::All);
    let later = part(moved(whole.clone(), 1, 0));
    let (part, broken) =
        (Found::Part(Box::new(part(whole))), Found::Unread(Unread::new("rank0.json".into(), WhyUnread::Broken("cut".into()))));
    let other = Found::Unread(Unread::new("rank0.json".into(), WhyUnread::Broken("gone".into())));
    let twice = Err(Conflict::Twice { file: "rank0.json".into() });
    for (one, two) in [(&part, &Found::Part(Box::new(later))), (&part, &broken), (&broken, &part), (&broken, &other)] {
        assert_eq!(with(one.clone()).join(with(two.clone())), twice);
    }
    assert_eq!(with(broken.clone()).join(with(broken.clone())), Ok(with(broken)));
}

/// A part without anything that tells its rank, small enough to have ten thousand of.
fn nameless() -> Part {
    let mut part = part(rankscope_trace::Trace::default());
    part.about.bounds_ns = Some((0, 10));
    part
}

#[test]
fn ten_thousand_files_that_say_nothing_are_numbered_by_their_order() {
    let mut parts = Parts::new(Rules::default());
    let one = nameless();
    for number in 0..10_000 {
        parts.add(place(number), one.clone()).expect("one part a place");
    }
    let found = document(parts, None);
    assert!(found.ranks.iter().zip(0..).all(|(rank, number)| rank.rank == number));
    assert_eq!(found.ranks.len(), 10_000);
}

#[test]
fn ten_thousand_files_that_cannot_be_read_are_passed_over_where_others_are_of_their_ranks() {
    let ranks: Vec<Rank> = (0..10_000).map(Rank).collect();
    let unread = |rank: &Rank| {
        let mut unread = Unread::new(format!("notes-rank{rank}.txt"), WhyUnread::NotATrace("text".into()));
        unread.found_in_folder = true;
        unread
    };
    let all: Vec<Unread> = ranks.iter().map(unread).collect();
    assert_eq!(passed_over(all.clone(), &ranks, true, false).map(|skipped| skipped.len()), Ok(10_000));
    let said = passed_over(all, &ranks[..9_999], true, false).expect_err("rank 9999 has no other");
    assert!(said.to_string().contains("notes-rank9999.txt"), "{said}");
}

#[test]
fn a_part_that_is_there_already_changes_nothing() {
    let one = parts(&little(), &Dialect::default(), &Rules::default());
    let mut twice = one.clone();
    for (place, part) in one.iter() {
        twice.add(place, part.clone()).expect("the same");
    }
    assert_eq!(twice, one);
}
