use rankscope_time::Rate;

use super::*;
use crate::fit::Estimator;

fn settings(nodes: u32, degree: u32) -> SessionSettings {
    let edges = (1..=degree).map(|dst| Edge { src: NodeId(0), dst: NodeId(dst) }).collect();
    let skew_max = Rate::from_ppb(500_000);
    let fit = FitOptions { estimator: Estimator::Band, skew_change_ppb_per_s: 100, skew_max, exchanges_min: 10 };
    let solve = SolveOptions::for_reference(NodeId(0));
    let mut settings = SessionSettings::new(NodeId(0), edges, 1, Key::derive(b""), fit, solve);
    settings.participants = (0..nodes).map(NodeId).collect();
    settings.tidied()
}

#[test]
fn the_budget_is_shared_by_all_edges_and_control() {
    for (nodes, degree) in [(2, 1), (8, 7), (64, 14), (1000, 22)] {
        let settings = settings(nodes, degree);
        let trains_per_s = 1e9 / settings.train_period().as_nanos() as f64;
        let bits = trains_per_s * f64::from(2 * settings.train + 1) * f64::from(degree) * packet_bits(PROBE_LEN) as f64;
        let spent = 0.98 * settings.budget_bits_per_s as f64;
        let control = (settings.control_bits_per_s() as f64).min(spent / 2.0);
        assert!((bits + control - spent).abs() < 1e3, "{nodes} nodes: {bits} + {control} bit/s");
    }
}

#[test]
fn the_usual_budget_stays_below_a_megabit() {
    assert_eq!([0, 1, 7, 14, 1_000].map(SessionSettings::budget_for), [110_000, 147_000, 369_000, 628_000, 1_000_000]);
}

#[test]
fn a_slow_processor_has_longer_rests_and_a_fast_one_no_shorter() {
    for (nodes, degree) in [(2, 1), (8, 7), (32, 12), (64, 14), (256, 18)] {
        let mut settings = settings(nodes, degree);
        let by_bits = settings.train_period();
        settings.wake_cost = Span::from_nanos(18_000);
        assert_eq!(settings.train_period(), by_bits, "{nodes} nodes on a virtual machine");
        settings.wake_cost = Span::from_nanos(200_000);
        let period = settings.train_period();
        let share = settings.processor_ns() as f64 / period.as_nanos() as f64;
        assert!(share <= 0.01 && (share > 0.007 || period == by_bits), "{nodes} nodes take {share}");
        settings.wake_cost = Span::MAX;
        assert_eq!(settings.train_period(), PERIOD_MAX);
    }
    let mut free = settings(8, 7);
    free.budget_bits_per_s = 0;
    free.wake_cost = Span::from_nanos(18_000);
    assert!(free.train_period() > Span::from_nanos(200_000_000), "without a budget the processor is what limits");
}

#[test]
fn without_a_budget_trains_follow_each_other() {
    let mut settings = settings(8, 7);
    settings.budget_bits_per_s = 0;
    assert_eq!(settings.train_period(), Span::from_nanos(16 * 800_000));
    settings.budget_bits_per_s = 1;
    assert_eq!(settings.train_period(), PERIOD_MAX);
}

#[test]
fn numbers_that_cannot_be_meant_are_brought_into_range() {
    let mut settings = settings(2, 1);
    settings.cadence = Span::ZERO;
    settings.spacing = Span::MAX;
    settings.train = 0;
    settings.window = Span::ZERO;
    settings.edges.push(Edge { src: NodeId(0), dst: NodeId(0) });
    settings.edges.push(Edge { src: NodeId(4), dst: NodeId(5) });
    let tidied = settings.tidied();
    assert_eq!((tidied.cadence, tidied.spacing), (CADENCE_MIN, Span::from_nanos(5_000)));
    assert_eq!((tidied.train, tidied.window), (1, WINDOW_MIN));
    assert_eq!(tidied.edges, [Edge { src: NodeId(0), dst: NodeId(1) }]);
}

#[test]
fn no_more_is_asked_of_an_edge_than_half_of_what_it_sends() {
    let asked = |change: fn(&mut SessionSettings)| {
        let mut settings = settings(8, 7);
        change(&mut settings);
        let settings = settings.tidied();
        (settings.fit_options.exchanges_min, settings.solve_options.pairs_min)
    };
    assert_eq!(asked(|_| {}), (10, 12));
    // A train of three packets by seven edges, eleven times in four seconds.
    assert_eq!(asked(|settings| (settings.train, settings.budget_bits_per_s) = (1, 59_000)), (5, 5));
    assert_eq!(asked(|settings| settings.budget_bits_per_s = 1), (4, 4));
}
