//! A part that is made at once is the one that is made piece by piece.

use rankscope_job::{Cards, Part, Rules, TableSet};
use rankscope_testkit::{Job as Synthetic, simulated};

use crate::answered;

#[test]
fn parts_are_the_same_made_at_once_and_piece_by_piece() {
    let classes = Rules::default().compiled().expect("rules");
    let cards = Cards::known();
    let made = answered::synthetic(&Synthetic::default()).into_iter();
    for trace in made.chain(answered::simulated(&simulated::Job::default())) {
        let mut pieces = Part::of(&mut trace.clone(), &classes);
        pieces.tabulate(&trace, &classes, cards, TableSet::ALL);
        pieces.add_execution(&trace, &classes);
        let at_once = Part::with(&mut trace.clone(), &classes, Some((cards, TableSet::ALL)), true);
        assert_eq!(at_once, pieces, "{}", pieces.about.file);
        assert!(at_once.execution.is_some_and(|graph| !graph.is_empty()));
    }
}
