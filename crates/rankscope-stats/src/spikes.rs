//! A series without its spikes: values far above, or far below, both of their neighbours.
//!
//! A spike that no neighbour shares says nothing about how much values resemble each other, but is most of their variance: a correlation
//! that takes it in comes out far too small. What is left of a series here serves for that correlation alone. Means, deviations and places
//! are those of the series itself, where a spike is what happened.

use crate::estimate::mean;

/// The share of differences that are typical, the smallest first: the others may cross a level's edge, or belong to a spike.
const TYPICAL: f64 = 0.9;

/// So many typical differences from both neighbours make a spike. Of independent normal values one in a hundred thousand is as far.
const FAR: f64 = 3.5;

/// The mean square of the typical differences between values `lag` apart.
pub(crate) fn typical_square(series: &[f64], lag: usize) -> f64 {
    let mut squares: Vec<f64> = series.windows(lag + 1).map(|window| (window[lag] - window[0]).powi(2)).collect();
    squares.sort_by(f64::total_cmp);
    squares.truncate((squares.len() as f64 * TYPICAL).ceil() as usize);
    if squares.is_empty() { 0.0 } else { mean(&squares) }
}

/// `series` with the mean of its neighbours in the place of each spike.
pub(crate) fn without_spikes(series: &[f64]) -> Vec<f64> {
    let far = FAR * typical_square(series, 1).sqrt();
    let mut calm = series.to_vec();
    for (at, window) in series.windows(3).enumerate() {
        let [before, value, after] = [window[0], window[1], window[2]];
        if value - before.max(after) > far || before.min(after) - value > far {
            calm[at + 1] = f64::midpoint(before, after);
        }
    }
    calm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_up_or_down_is_gone_and_the_edge_of_a_level_stays() {
        let mut series = [[0.0, 1.0].repeat(20), [50.0, 51.0].repeat(20)].concat();
        let calm = series.clone();
        (series[11], series[60]) = (30.0, -9.0);
        let found = without_spikes(&series);
        assert_eq!((found[11], found[60]), (0.0, 51.0));
        assert!((0..80).filter(|at| ![11, 60].contains(at)).all(|at| found[at] == calm[at]), "{found:?}");
    }

    #[test]
    fn what_alternates_is_no_spike_and_few_values_stay() {
        let alternate = [1.0, 2.0].repeat(10);
        assert_eq!(without_spikes(&alternate), alternate);
        assert_eq!(without_spikes(&[]), Vec::<f64>::new());
        assert_eq!(without_spikes(&[5.0, 1.0]), [5.0, 1.0]);
    }
}
