//! A page that is read while it is written to in its place.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::super::columns::Change;
use super::super::lean::Lean;
use super::super::shelf::Way;
use super::*;

fn read(run: &std::path::Path, rank: u32) -> LivePage {
    let bytes = fs::read(page_path(run, rank)).unwrap();
    LivePage::read(&bytes, &bytes).unwrap()
}

/// Puts the page of `now` in place, as a change from that of `before`.
fn put(shelf: &mut Shelf, number: u64, now: &Rank, before: Option<&Rank>) -> bool {
    let lean = |rank: &Rank| Lean::of(&page_of(rank), rank.rank).unwrap();
    assert!(shelf.counts(1, Way::Head(5), number));
    let change = Change::of(now.rank, &lean(now), before.map(lean).as_ref());
    shelf.change(1, &change, &lean(now).fixed).unwrap()
}

fn rank() -> impl Strategy<Value = Rank> {
    (0..2u32, 0..900u64, 0..900u64).prop_map(|(pid, progress, arrivals)| Rank {
        rank: 3,
        pid,
        progress,
        arrivals,
        ..Rank::default()
    })
}

proptest! {
    #[test]
    fn what_is_put_in_place_is_read_as_the_page_it_came_from(ranks in prop::collection::vec(rank(), 1..6)) {
        let run = tempfile::tempdir().unwrap();
        let mut shelf = Shelf::new(run.path());
        shelf.counts(1, Way::Head(5), 0);
        shelf.take_part(part(1, &[3]));
        let (mut before, mut last) = (None, 0);
        for (number, mut rank) in (1..).zip(ranks) {
            // A process goes on and never back, and a page in which anything changed has gone on; another process begins.
            if before.is_some_and(|before: Rank| before.pid == rank.pid) {
                rank.progress += last + 1;
            }
            last = rank.progress;
            prop_assert!(put(&mut shelf, number, &rank, before.as_ref()));
            let page = page_of(&rank);
            prop_assert_eq!(read(run.path(), 3), LivePage::read(&page, &page).unwrap());
            before = Some(rank);
        }
    }
}

#[test]
fn who_reads_meanwhile_finds_a_whole_page_and_no_arrival_that_never_was() {
    let run = tempfile::tempdir().unwrap();
    let mut shelf = Shelf::new(run.path());
    shelf.counts(1, Way::Head(5), 0);
    shelf.take_part(part(1, &[3]));
    let at =
        |number: u64| Rank { rank: 3, progress: 2 * number, arrivals: 90 * number, jitter_ns: 1_000_000, ..Rank::default() };
    assert!(put(&mut shelf, 1, &at(1), None));
    let is_over = AtomicBool::new(false);
    let path = page_path(run.path(), 3);
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::Relaxed) {
                let Ok(page) = LivePage::read(&fs::read(&path).unwrap(), &fs::read(&path).unwrap()) else { continue };
                let number = page.state.progress / 2;
                let whole = LivePage::read(&page_of(&at(number)), &page_of(&at(number))).unwrap();
                assert_eq!(page.state, whole.state);
                assert!(page.arrivals.iter().all(|arrival| whole.arrivals.contains(arrival)), "at {number}");
                seen += page.arrivals.len();
            }
            seen
        });
        for number in 2..200 {
            assert!(put(&mut shelf, number, &at(number), Some(&at(number - 1))));
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(seen > 0);
}

#[test]
fn nothing_that_a_head_says_is_written_over_what_another_has_there() {
    let run = tempfile::tempdir().unwrap();
    let mut shelf = Shelf::new(run.path());
    fs::create_dir(run.path().join("live")).unwrap();
    fs::write(page_path(run.path(), 3), page(3, 9)).unwrap();
    shelf.counts(1, Way::Head(5), 0);
    shelf.take_part(part(1, &[3, 4]));
    assert!(put(&mut shelf, 1, &Rank { rank: 3, ..Rank::default() }, None));
    assert!(put(&mut shelf, 2, &Rank { rank: 5, ..Rank::default() }, None), "of a rank that is not its own");
    assert!(put(&mut shelf, 3, &Rank { rank: 4, progress: 8, ..Rank::default() }, None));
    assert_eq!(there(run.path()), [(3, 9), (4, 9)]);
    // Somebody takes it away: it has to come whole.
    fs::remove_file(page_path(run.path(), 4)).unwrap();
    let at = |progress| Rank { rank: 4, progress, ..Rank::default() };
    assert!(!put(&mut shelf, 4, &at(10), Some(&at(8))));
    assert!(put(&mut shelf, 5, &at(12), None));
    shelf.end();
    assert_eq!(there(run.path()), [(3, 9)]);
}

#[test]
fn what_came_another_way_counts_where_it_is_newer() {
    let run = tempfile::tempdir().unwrap();
    let mut shelf = Shelf::new(run.path());
    let mut telling = Telling::default();
    assert!(shelf.take(1, telling.told_as(7, &part(1, &[3]), &pages(&[3], 70))).unwrap());
    assert!(!shelf.counts(1, Way::Head(5), 7) && !shelf.counts(1, Way::Head(5), 6));
    assert!(shelf.counts(1, Way::Head(5), 8));
    assert!(shelf.take(1, telling.told_as(8, &part(1, &[3]), &pages(&[3], 71))).unwrap());
    assert_eq!(there(run.path()), [(3, 70)], "it is no news");
    (0..20).for_each(|_| shelf.tick());
    assert!(shelf.is_silent(1) && shelf.heard_straight(1).is_none());
    assert!(shelf.take(1, telling.told_as(9, &part(1, &[3]), &pages(&[3], 72))).unwrap());
    assert_eq!((there(run.path()), shelf.is_silent(1)), (vec![(3, 72)], false));
}
