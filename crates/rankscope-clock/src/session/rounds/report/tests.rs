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

#[test]
fn a_report_carries_what_its_node_was_told_before() {
    let told = crate::session::rounds::traffic::NOWHERE;
    let window = NodeWindow { node: told.node, window_id: 3, round: Some(7), start: told.at, end: told.at, edges: Vec::new() };
    let mut bytes = Vec::new();
    write_window(&mut bytes, &window, PART_LEN);
    let without = [&[0][..], &bytes].concat();
    assert_eq!(Reported::read(&without), Some(Reported { window: window.clone(), told: None }));
    let mut with = vec![1];
    write_estimate(&mut with, &told);
    with.extend(&bytes);
    assert_eq!(Reported::read(&with), Some(Reported { window, told: Some(told) }));
    for damaged in [&[][..], &[2], &bytes, &with[..with.len() - 1], &[&with[..], &[0]].concat()] {
        assert_eq!(Reported::read(damaged), None);
    }
}
