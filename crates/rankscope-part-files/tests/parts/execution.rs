//! Execution graphs in files: they come back, and numbers that do not fit each other are refused.

use proptest::prelude::*;
use rankscope_part_files::{ColumnsWriter, Error, laid_bare, read_part, write_part};
use rankscope_testkit::Dialect;

use super::comes_back;
use crate::common::{executed_part, file, part, rules, with_block};

#[test]
fn an_executed_part_of_every_dialect_comes_back() {
    for (name, dialect) in Dialect::all() {
        let executed = executed_part(1, &dialect);
        let execution = executed.execution.as_ref().unwrap();
        assert!(!execution.is_empty(), "{name}");
        let meets = (0..executed.collectives.collectives.len()).filter_map(|at| execution.of_collective(at)).count();
        assert!(meets > 3, "{name}");
        comes_back(&executed, name);
        let bytes = (file(&executed).len() - file(&part(1, &dialect)).len()) as f64 / execution.len() as f64;
        assert!(bytes < 40.0, "{name}: {bytes} bytes a piece");
    }
}

#[test]
fn an_execution_of_other_collectives_is_not_written() {
    let mut part = executed_part(1, &Dialect::default());
    let mut rows = part.collectives.collectives.to_rows();
    rows.pop();
    part.collectives.collectives = rows.into();
    part.report.exposed_ns = part.report.exposed_ns.iter().skip(1).collect();
    let mut bytes = Vec::new();
    let refused = write_part(&part, Default::default(), &rules(&part), &mut bytes).unwrap_err();
    assert!(matches!(refused, Error::Unwritable { .. }) && bytes.is_empty(), "{refused}");
}

/// Two pieces, of which the second one was launched by the first, as they are stored.
#[derive(Clone)]
struct Two {
    lane: u64,
    starts: [i64; 2],
    key: u64,
    back: u64,
    collectives: [u64; 2],
    shares: Vec<(u64, i64)>,
}

impl Two {
    fn write(&self, columns: &mut ColumnsWriter) {
        columns.unsigned(&[self.lane, 0]);
        columns.sorted(&self.starts);
        columns.unsigned(&[10, 10]);
        columns.unsigned(&[self.key, 0]);
        columns.bits(&[false, true]);
        columns.signed(&[self.back.cast_signed()]);
        columns.bits(&[false, false]);
        columns.signed(&[]);
        columns.bits(&[true, true]);
        let [first, second] = self.collectives.map(u64::cast_signed);
        columns.signed(&[first, second - first]);
        columns.unsigned(&[self.shares.len() as u64, 0]);
        columns.unsigned(&self.shares.iter().map(|share| share.0).collect::<Vec<_>>());
        columns.signed(&self.shares.iter().map(|share| share.1).collect::<Vec<_>>());
    }
}

#[test]
fn graphs_whose_numbers_do_not_fit_are_refused() {
    let whole = file(&executed_part(1, &Dialect::default()));
    let right = Two { lane: 0, starts: [0, 10], key: 0, back: 1, collectives: [0, 1], shares: vec![(0, 7), (1, 3)] };
    let read = |two: &Two| read_part(&with_block(&whole, 24, |columns| two.write(columns))[..]);
    let execution = read(&right).unwrap().part.execution.unwrap();
    assert_eq!((execution.len(), execution.of_collective(1)), (2, execution.ids().last()));
    let refused = |change: fn(&mut Two)| {
        let mut two = right.clone();
        change(&mut two);
        read(&two).unwrap_err().to_string()
    };
    assert_eq!(refused(|two| two.lane = 99), "block 24: a piece is on a lane that is not there");
    assert_eq!(refused(|two| two.key = 9_999_999), "block 24: a piece is of a key that is not there");
    assert_eq!(refused(|two| two.starts = [0, 9]), "block 24: a piece depends on one that had not ended");
    for back in [0, 2, u64::MAX] {
        let mut two = right.clone();
        two.back = back;
        assert_eq!(read(&two).unwrap_err().to_string(), "block 24: a piece depends on one that had not ended");
    }
    assert_eq!(refused(|two| two.collectives = [1, 1]), "block 24: two pieces are one collective");
    assert_eq!(refused(|two| two.collectives = [1, 1 << 40]), "block 24: a piece is a collective that is not there");
    assert_eq!(refused(|two| two.shares[0].1 = 6), "block 24: shares of a piece do not add up to it");
    assert_eq!(refused(|two| two.shares = vec![(0, 3), (1, 7)]), "block 24: shares of a piece do not add up to it");
    assert_eq!(refused(|two| two.shares[1].0 = u64::from(u32::MAX)), "block 24: a piece is of a key that is not there");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_graphs_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = laid_bare(&file(&executed_part(1, &Dialect::default())));
        for (place, value) in changes {
            let at = 16 + place.index(bytes.len() - 16);
            bytes[at] = value;
        }
        if let Ok(read) = read_part(&laid_bare(&bytes)[..]) {
            if let Some(execution) = &read.part.execution {
                execution.ids().for_each(|id| drop(execution.back(id, execution.start_ns(id).saturating_sub(1_000_000))));
            }
            comes_back(&read.part, "what can be read can be written");
        }
    }
}
