use super::*;

/// What the master says to parts that come in this order: those that have come, where it says anything.
fn receipts(parts: u8, order: &[u8]) -> Vec<Option<u64>> {
    let mut assembly = Assembly::default();
    let receipt = |part: &u8| match assembly.receive(7, *part, parts, &[*part]) {
        Step::Awaits => None,
        Step::Got(got) | Step::Whole(got, _) => Some(got),
        Step::Old => Some(u64::MAX),
    };
    order.iter().map(receipt).collect()
}

#[test]
fn a_report_that_comes_whole_has_one_receipt() {
    assert_eq!(receipts(1, &[0]), [Some(1)]);
    assert_eq!(receipts(3, &[0, 1, 2]), [None, None, Some(0b111)]);
}

#[test]
fn what_is_missing_is_asked_for_and_what_comes_again_is_acknowledged() {
    // The first was lost, and is sent again.
    assert_eq!(receipts(3, &[1, 2, 0]), [None, Some(0b110), Some(0b111)]);
    // The last was, so nobody has acknowledged anything, and all are sent again.
    assert_eq!(receipts(3, &[0, 1, 0, 1, 2]), [None, None, Some(0b11), Some(0b11), Some(0b111)]);
    // The receipt was.
    assert_eq!(receipts(2, &[0, 1, 0, 1]), [None, Some(0b11), Some(0b11), Some(0b11)]);
}
