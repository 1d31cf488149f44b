//! Eight hours of three nodes in bad weather: what they hold on to does not grow.

use crate::network::{MS, Network, SECOND, Weather, complete};

#[test]
fn eight_hours_later_a_session_holds_no_more_than_after_ten_minutes() {
    let mut network = Network::started(3, &complete(3), 1, |settings| settings.budget_bits_per_s = 20_000);
    network.keep_history = false;
    network.weather = Weather { probe_loss: 0.05, control_loss: 0.1, duplicates: 0.01, reordering: 0.02, stamp_loss: 0.02 };
    let most = |network: &mut Network, minutes: usize| -> usize {
        let mut most = 0;
        for _ in 0..minutes {
            network.run_for(60 * SECOND + 7 * MS);
            most = (0..3).map(|node| network.session(node).held_bytes()).max().unwrap_or(0).max(most);
        }
        most
    };
    let early = most(&mut network, 10);
    let late = most(&mut network, 470);
    assert!(early > 1000 && late <= 2 * early, "{early} bytes held in ten minutes, {late} in eight hours");
    let counters = network.session(0).counters();
    assert_eq!(counters.rounds_solved, 7200);
    assert!(counters.rounds_incomplete <= 7, "{} rounds lacked a node", counters.rounds_incomplete);
}
