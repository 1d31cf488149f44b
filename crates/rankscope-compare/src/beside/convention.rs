//! What a difference is under each convention.

use rankscope_document::{Beside, BesideStatus, Convention};

/// Which way of a figure is better. aorta's percentages follow it; ours do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Less,
    More,
    /// Neither; aorta has no percentage of these.
    Neither,
}

/// `base` and `test` as one figure.
pub(super) fn beside(convention: &Convention, better: Better, base: Option<f64>, test: Option<f64>) -> Beside {
    let both = base.zip(test);
    let diff = both.map(|(base, test)| test - base);
    let (percent_change, ratio) = match both {
        None => (None, None),
        Some((base, test)) if *convention == Convention::Aorta => aorta(better, base, test),
        Some((base, test)) => (share(test - base, base), (base != 0.0).then(|| test / base)),
    };
    Beside { base, test, diff, percent_change, ratio }
}

/// aorta's percentage and ratio: of nothing, nothing has changed.
fn aorta(better: Better, base: f64, test: f64) -> (Option<f64>, Option<f64>) {
    let percent = |gain: f64| if base == 0.0 { 0.0 } else { gain / base * 100.0 };
    let change = match better {
        Better::Less => Some(percent(base - test)),
        Better::More => Some(percent(test - base)),
        Better::Neither => None,
    };
    (change, Some(if base == 0.0 { 0.0 } else { test / base }))
}

fn share(diff: f64, base: f64) -> Option<f64> {
    if diff == 0.0 {
        return Some(0.0);
    }
    (base != 0.0).then(|| diff / base * 100.0)
}

/// aorta's word for a change of a rank, in percent: both ways the same.
pub(super) fn of_rank(change: Option<f64>) -> BesideStatus {
    standing(change, 1.0)
}

/// aorta's word on its dashboard, where anything above nothing is better.
pub(super) fn on_dashboard(change: Option<f64>) -> BesideStatus {
    standing(change, 0.0)
}

fn standing(change: Option<f64>, better_above: f64) -> BesideStatus {
    match change {
        Some(change) if change > better_above => BesideStatus::Better,
        Some(change) if change < -1.0 => BesideStatus::Worse,
        _ => BesideStatus::Similar,
    }
}

/// Our word for a row: what only one side has, else what the evidence of its metric says.
pub(super) fn word(figure: &Beside, verdict: Option<BesideStatus>) -> BesideStatus {
    match (figure.base, figure.test) {
        (None, Some(_)) => BesideStatus::New,
        (Some(_), None) => BesideStatus::Gone,
        _ => verdict.unwrap_or(BesideStatus::NoEvidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_grows_is_positive_with_us_and_negative_with_aorta() {
        let ours = beside(&Convention::Rankscope, Better::Less, Some(100.0), Some(110.0));
        let aortas = beside(&Convention::Aorta, Better::Less, Some(100.0), Some(110.0));
        assert_eq!((ours.diff, ours.percent_change, ours.ratio), (Some(10.0), Some(10.0), Some(1.1)));
        assert_eq!((aortas.diff, aortas.percent_change, aortas.ratio), (Some(10.0), Some(-10.0), Some(1.1)));
        let rate = beside(&Convention::Aorta, Better::More, Some(100.0), Some(110.0));
        assert_eq!(rate.percent_change, Some(10.0), "more of a rate is better");
        assert_eq!(beside(&Convention::Aorta, Better::Neither, Some(3.0), Some(6.0)).percent_change, None);
    }

    #[test]
    fn without_a_base_aorta_says_zero_and_we_say_nothing() {
        let aortas = beside(&Convention::Aorta, Better::Less, Some(0.0), Some(5.0));
        assert_eq!((aortas.percent_change, aortas.ratio), (Some(0.0), Some(0.0)));
        let ours = beside(&Convention::Rankscope, Better::Less, Some(0.0), Some(5.0));
        assert_eq!((ours.diff, ours.percent_change, ours.ratio), (Some(5.0), None, None));
        assert_eq!(beside(&Convention::Rankscope, Better::Less, Some(0.0), Some(0.0)).percent_change, Some(0.0));
        let new = beside(&Convention::Rankscope, Better::Less, None, Some(5.0));
        assert_eq!((new.diff, word(&new, None)), (None, BesideStatus::New));
    }

    #[test]
    fn aortas_thresholds_are_not_the_same_on_its_dashboard() {
        for (change, rank, dashboard) in [
            (1.01, BesideStatus::Better, BesideStatus::Better),
            (0.01, BesideStatus::Similar, BesideStatus::Better),
            (0.0, BesideStatus::Similar, BesideStatus::Similar),
            (-1.0, BesideStatus::Similar, BesideStatus::Similar),
            (-1.01, BesideStatus::Worse, BesideStatus::Worse),
        ] {
            assert_eq!((of_rank(Some(change)), on_dashboard(Some(change))), (rank, dashboard), "{change}");
        }
    }
}
