//! Time by rank and class, and the mean of the ranks.

use std::collections::BTreeMap;

use rankscope_document::{Beside, BesideStatus, Convention, TimeBeside};

use super::convention::{Better, beside, of_rank, on_dashboard, word};
use super::figures::{SideFigures, TimeFigures};

type Verdicts<'a> = &'a dyn Fn(&str) -> Option<BesideStatus>;

/// Each class of each rank. aorta leaves out a rank that one side lacks.
pub(super) fn ranks(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: Verdicts<'_>,
) -> Vec<TimeBeside> {
    let key = |time: &TimeFigures| (time.rank, time.name.clone());
    let mut both: BTreeMap<(u32, String), [Option<&TimeFigures>; 2]> = BTreeMap::new();
    for (side, figures) in [base, test].into_iter().enumerate() {
        for time in &figures.times {
            both.entry(key(time)).or_default()[side] = Some(time);
        }
    }
    let is_aorta = *convention == Convention::Aorta;
    let wanted = both.into_iter().filter(|(_, sides)| !is_aorta || sides.iter().all(Option::is_some));
    let row = |((rank, name), [base, test]): ((u32, String), [Option<&TimeFigures>; 2])| {
        let time = beside(convention, Better::Less, base.map(|time| time.ns), test.map(|time| time.ns));
        let status = if is_aorta { of_rank(time.percent_change) } else { word(&time, verdicts(&metric(&name, Some(rank)))) };
        let shares = [base, test].map(|time| time.and_then(|time| time.percent));
        line(Some(rank), name, time, shares, status)
    };
    wanted.map(row).collect()
}

/// The mean of each class over the ranks of each side, of times and of percentages by themselves.
pub(super) fn summary(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: Verdicts<'_>,
) -> Vec<TimeBeside> {
    let (base, mut test) = (means(base), means(test));
    let row = |(name, (base_ns, base_percent)): (String, (f64, Option<f64>))| {
        let (test_ns, test_percent) = test.remove(&name).map_or((None, None), |(ns, percent)| (Some(ns), percent));
        let time = beside(convention, Better::Less, Some(base_ns), test_ns);
        let is_aorta = *convention == Convention::Aorta;
        let status = if is_aorta { on_dashboard(time.percent_change) } else { word(&time, verdicts(&metric(&name, None))) };
        line(None, name, time, [base_percent, test_percent], status)
    };
    base.into_iter().map(row).collect()
}

/// The metric whose evidence a class goes by: `computation_ns@rank3`. The total of a step is its own metric.
fn metric(class: &str, rank: Option<u32>) -> String {
    let name = match class {
        "total_time" => "step_ns".to_owned(),
        class => class.replace("_time", "_ns"),
    };
    rank.map_or_else(|| name.clone(), |rank| format!("{name}@rank{rank}"))
}

fn line(rank: Option<u32>, name: String, time: Beside, [base, test]: [Option<f64>; 2], status: BesideStatus) -> TimeBeside {
    let diff_percent = base.zip(test).map(|(base, test)| test - base);
    TimeBeside { rank, name, time, base_percent: base, test_percent: test, diff_percent, status }
}

/// The mean time of each class, and its mean share.
fn means(side: &SideFigures) -> BTreeMap<String, (f64, Option<f64>)> {
    let mut classes: BTreeMap<String, Vec<&TimeFigures>> = BTreeMap::new();
    for time in &side.times {
        classes.entry(time.name.clone()).or_default().push(time);
    }
    let of_class = |(name, times): (String, Vec<&TimeFigures>)| {
        let count = times.len() as f64;
        let percents: Option<Vec<f64>> = times.iter().map(|time| time.percent).collect();
        let percent = percents.map(|percents| percents.iter().sum::<f64>() / count);
        (name, (times.iter().map(|time| time.ns).sum::<f64>() / count, percent))
    };
    classes.into_iter().map(of_class).collect()
}
