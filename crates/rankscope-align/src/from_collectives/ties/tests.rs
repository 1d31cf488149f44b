//! Laws of ties, by examples and by chance.

use proptest::prelude::*;

use super::*;

/// The end of one collective on two clocks: how short it was, when it ended, and what they differed by.
#[derive(Clone, Copy)]
struct EndPair {
    shortest_ns: i64,
    at_ns: i64,
    difference_ns: i64,
}

/// Ends every `gap_ns`, with differences of `of(at)`, every other collective long.
fn ends(count: i64, gap_ns: i64, of: impl Fn(i64, bool) -> i64) -> Vec<EndPair> {
    let end = |at: i64| {
        let long = at % 2 == 1;
        let (at_ns, shortest_ns) = (at * gap_ns, if long { 1_000_000 } else { 5_000 } + at);
        EndPair { shortest_ns, at_ns, difference_ns: of(at_ns, long) }
    };
    (0..count).map(end).collect()
}

/// Deviates by up to 700 in either direction, without a slope of its own.
fn chatter(at_ns: i64) -> i64 {
    (at_ns / 1_000).wrapping_mul(2_654_435_761).rem_euclid(1_401) - 700
}

#[test]
fn late_ends_of_long_collectives_do_not_count() {
    let found = tied(ends(40, 1_000_000, |at, long| 3_000_000 + chatter(at) + i64::from(long) * 200_000)).expect("ends");
    assert!((found.line.offset_ns - 3_000_000).abs() < 500, "{found:?}");
    assert!(found.count <= 20, "{found:?}");
}

#[test]
fn a_late_majority_that_agrees_with_itself_does_not_count() {
    let end = |at: i64| {
        let long = at >= 8;
        let shortest_ns = if long { 4_000_000 } else { 9_000 } + at;
        let difference_ns = chatter(at * 1_000_000) + if long { -28_600 } else { 0 };
        EndPair { shortest_ns, at_ns: (at * 7 % 17) * 5_000_000, difference_ns }
    };
    let found = tied((0..17).map(end).collect()).expect("ends");
    assert!(found.line.offset_ns.abs() < 1_000, "{found:?}");
}

#[test]
fn a_drift_shows_where_the_span_is_long_enough() {
    let drifting = |gap_ns| tied(ends(100, gap_ns, |at, _| at / 100_000 + chatter(at))).expect("ends").line;
    let long = drifting(10_000_000);
    assert!((long.drift_ppb - 10_000).abs() < 500 && long.at(0).abs() < 500, "{long:?}");
    assert_eq!(drifting(100_000).drift_ppb, 0);
}

#[test]
fn few_ends_have_no_slope_and_none_have_no_line() {
    assert_eq!(tied(ends(5, 1_000_000_000, |at, _| at / 1_000)).expect("ends").line.drift_ppb, 0);
    assert!(tied(Vec::new()).is_none());
}

#[test]
fn hostile_stamps_do_not_panic() {
    let extreme = [i64::MIN, i64::MAX, 0, -1, 1, i64::MAX - 1, i64::MIN + 1, 7, 9, 11];
    let ends = extreme.map(|value| EndPair { shortest_ns: value, at_ns: value, difference_ns: value });
    assert!(tied(ends.to_vec()).is_some());
}

/// The tie in a room of its own.
fn tied(ends: Vec<EndPair>) -> Option<Tie> {
    tied_in(ends, &mut Room::default())
}

fn tied_in(mut ends: Vec<EndPair>, room: &mut Room) -> Option<Tie> {
    ends.sort_by_key(|end| end.at_ns);
    let column = |of: fn(&EndPair) -> i64| ends.iter().map(of).collect::<Vec<i64>>();
    let ended = Ended::of(&column(|end| end.at_ns), column(|end| end.shortest_ns));
    tie(&ended, &column(|end| end.difference_ns), room)
}

proptest! {
    /// By sorting all that is looked for a middle of, one after the other.
    #[test]
    fn ends_tie_as_by_sorting_them(
        ends in prop::collection::vec((0i64..40, 0i64..50, -900i64..900), 0..90), times in 1i64..30, gap_ns in prop_oneof![0i64..40, 0i64..40_000_000],
        drift in -30i64..30, far in prop::option::weighted(0.1, any::<i64>())
    ) {
        let again = |time: i64| ends.iter().enumerate().map(move |(at, (long, late, off))| {
            let at_ns = (at as i64 + time * 90) * gap_ns + late;
            EndPair { shortest_ns: long * 1_000 + (time * at as i64) % 7, at_ns, difference_ns: off + at_ns / 100_000 * drift + long * 40 }
        });
        let mut all: Vec<EndPair> = (0..times).flat_map(again).collect();
        if let (Some(far), Some(first)) = (far, all.first_mut()) {
            *first = EndPair { shortest_ns: far, at_ns: far, difference_ns: far };
        }
        let mut room = Room::default();
        // Twice: what is left in the room does not show.
        for _ in 0..2 {
            prop_assert_eq!(bits(tied_in(all.clone(), &mut room)), bits(tied_slowly(all.clone())));
        }
    }
}

/// All of a tie, to be compared.
fn bits(tie: Option<Tie>) -> String {
    format!("{tie:?}")
}

fn tied_slowly(mut ends: Vec<EndPair>) -> Option<Tie> {
    ends.sort_by_key(|end| end.at_ns);
    let all = ends.len();
    let fewest = if all < 2 * SLOPED_ENDS_MIN { all.min(ENDS_MIN) } else { SLOPED_ENDS_MIN };
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by_key(|at| ends[*at].shortest_ns);
    let among = |quarters: usize| {
        let mut own = order[..(all * quarters / 4).max(fewest)].to_vec();
        own.sort_unstable();
        through_slowly(&own.into_iter().map(|at| ends[at]).collect::<Vec<_>>())
    };
    let ties: Vec<Tie> = (1..=4).filter_map(among).collect();
    let least_ns = ties.iter().map(|tie| tie.noise_ns).fold(f64::INFINITY, f64::min);
    let as_well = ties.iter().rev().find(|tie| tie.noise_ns <= AS_WELL * least_ns && tie.agrees(&ties[0]));
    as_well.or(ties.first()).copied()
}

fn through_slowly(ends: &[EndPair]) -> Option<Tie> {
    let base_ns = median_in(&mut ends.iter().map(|end| end.difference_ns).collect::<Vec<_>>())?;
    let center_ns = (ends.iter().map(|end| i128::from(end.at_ns)).sum::<i128>() / ends.len() as i128) as i64;
    let point = |end: &EndPair| (end.at_ns.saturating_sub(center_ns) as f64, end.difference_ns.saturating_sub(base_ns) as f64);
    let points: Vec<(f64, f64)> = ends.iter().map(point).collect();
    let runs = points.chunks(points.len().div_ceil(128));
    let runs: Vec<(f64, f64)> =
        runs.map(|run| (run[run.len() / 2].0, sorted(run.iter().map(|point| point.1))[run.len() / 2])).collect();
    let pairs = runs.iter().enumerate().flat_map(|(at, from)| runs[at + 1..].iter().map(move |to| (from, to)));
    let slopes = sorted(pairs.filter(|(from, to)| to.0 > from.0).map(|(from, to)| (to.1 - from.1) / (to.0 - from.0)));
    let slope = slopes.get(slopes.len() / 2).filter(|_| points.len() >= SLOPED_ENDS_MIN);
    let x: Vec<f64> = points.iter().map(|point| point.0).collect();
    let sloped = slope.map(|slope| (*slope, along_slowly(&points, *slope)));
    let squares = x.iter().map(|x| x * x).sum();
    let chosen = Chosen { places: Vec::new(), x, center_ns, squares, reach_ns: (0, 0) };
    let sloped = sloped.filter(|(slope, residuals)| residuals.show(*slope, &chosen));
    let (slope, residuals) = sloped.unwrap_or_else(|| (0.0, along_slowly(&points, 0.0)));
    let offset_ns = base_ns.saturating_add(residuals.middle_ns.round() as i64);
    let mut lengths: Vec<i64> = ends.iter().map(|end| end.shortest_ns).collect();
    lengths.sort_unstable();
    Some(Tie {
        line: Line { center_ns, offset_ns, drift_ppb: (slope * 1e9).round() as i64 },
        noise_ns: residuals.noise_ns,
        error_ns: residuals.noise_ns / (ends.len() as f64).sqrt(),
        count: ends.len(),
        shortest_ns: lengths[ENDS_MIN.min(ends.len()) - 1],
        reach_ns: (ends[0].at_ns, ends[ends.len() - 1].at_ns),
    })
}

fn along_slowly(points: &[(f64, f64)], slope: f64) -> Residuals {
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let median = sorted(residuals.iter().copied())[residuals.len() / 2];
    let deviation = sorted(residuals.iter().map(|residual| (residual - median).abs()))[residuals.len() / 2];
    let few = (points.len() as f64 / (points.len() as f64 - 2.0).max(1.0)).sqrt();
    let noise_ns = (MAD * deviation * few).max(GRAIN_NS);
    let near = || residuals.iter().filter(|residual| (*residual - median).abs() <= 3.0 * noise_ns);
    let count = near().count().max(1) as f64;
    let middle_ns = near().sum::<f64>() / count;
    let variance = near().map(|residual| (residual - middle_ns).powi(2)).sum::<f64>() / (count - 2.0).max(1.0);
    Residuals { middle_ns, noise_ns: noise_ns.max(variance.sqrt()) }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}
