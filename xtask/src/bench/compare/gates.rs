//! What the statistics have to keep to, and what they do.

use rankscope_stats::{
    Direction, Evidence, RunSpread, Settings, Side, Verdict, benjamini_hochberg, change_points, compare, holm, trend, whole_run,
};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{ALARMS, COVER, Shape, Steps, error, share};
use serde::Serialize;

use super::ERRORS;
use super::grid::Cell;

/// A share, and what it may be.
#[derive(Serialize)]
pub(super) struct Gate {
    pub(super) what: String,
    pub(super) found: f64,
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
    /// Of what was found, by the number of seeds.
    pub(super) standard_error: f64,
}

impl Gate {
    fn at_most(what: impl Into<String>, found: f64, limit: f64, seeds: u64) -> Self {
        let standard_error = error(limit, seeds);
        Self { what: what.into(), found, at_least: None, at_most: Some(limit), standard_error }
    }

    fn at_least(what: impl Into<String>, found: f64, limit: f64, seeds: u64) -> Self {
        let standard_error = error(limit, seeds);
        Self { what: what.into(), found, at_least: Some(limit), at_most: None, standard_error }
    }

    /// A figure without a gate.
    fn shown(what: impl Into<String>, found: f64, seeds: u64) -> Self {
        Self { what: what.into(), found, at_least: None, at_most: None, standard_error: error(found, seeds) }
    }

    /// How far beyond its limit it is; negative within.
    pub(super) fn beyond(&self) -> Option<f64> {
        let below = self.at_least.map(|limit| limit - self.found);
        below.or(self.at_most.map(|limit| self.found - limit))
    }

    pub(super) fn is_missed(&self) -> bool {
        self.beyond().is_some_and(|beyond| beyond > ERRORS * self.standard_error)
    }
}

/// Those about intervals of one run a side: the worst of the cells.
pub(super) fn of_cells(cells: &[Cell], seeds: u64) -> Vec<Gate> {
    let of = |value: fn(&Cell) -> f64| cells.iter().filter(|cell| cell.required).map(value).collect::<Vec<f64>>();
    let least = |values: Vec<f64>| values.into_iter().fold(1.0, f64::min);
    let most = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
    vec![
        Gate::at_least("steps: least cover of any cell", least(of(|cell| cell.cover)), COVER.0, seeds),
        Gate::at_most("steps: largest cover of any cell", most(of(|cell| cell.cover)), COVER.1, seeds),
        Gate::at_most("steps: most false alarms of any cell", most(of(|cell| cell.alarms)), ALARMS, seeds),
    ]
}

/// All others.
pub(super) fn all(seeds: u64) -> Vec<Gate> {
    let mut gates = of_runs(seeds);
    eprintln!("simulating families of metrics");
    gates.extend(of_families(seeds));
    eprintln!("simulating trends and change points");
    gates.extend(of_series(seeds));
    gates
}

fn of_runs(seeds: u64) -> Vec<Gate> {
    eprintln!("simulating runs");
    let mut gates = Vec::new();
    for runs in [3, 5, 10] {
        let alarms = share(seeds, |seed| p(&compared([runs; 2], 0.005, 0.0, &lower(), seed)) <= 0.05);
        gates.push(Gate::at_most(format!("{runs} runs a side, spread 0.5 %: false alarms"), alarms, 0.07, seeds));
    }
    let verdict = |runs, spread, shift, settings: &Settings, verdict| {
        share(seeds, |seed| compared(runs, spread, shift, settings, seed).verdict == verdict)
    };
    let five = |spread, shift, wanted| verdict([5; 2], spread, shift, &lower(), wanted);
    gates.push(Gate::at_least(
        "5 runs a side, spread 0.3 %: +2 % is called",
        five(0.003, 0.02, Verdict::Regressed),
        0.9,
        seeds,
    ));
    let at_margin = five(0.003, 0.01, Verdict::Equivalent);
    gates.push(Gate::at_most("the same, +1 %, which is the margin: called equivalent", at_margin, 0.05, seeds));
    gates.push(Gate::shown("the same, no change: called equivalent", five(0.003, 0.0, Verdict::Equivalent), seeds));
    let stated = lower().with_run_spread(RunSpread::stated(0.01));
    let known = share(seeds, |seed| p(&compared([1; 2], 0.01, 0.0, &stated, seed)) <= 0.05);
    gates.push(Gate::at_most("1 run a side, spread 1 % and known: false alarms", known, 0.05, seeds));
    let unknown = share(seeds, |seed| p(&compared([1; 2], 0.01, 0.0, &lower(), seed)) <= 0.05);
    gates.push(Gate::shown("the same, not known: the two runs differ", unknown, seeds));
    let repeated = share(seeds, |seed| p(&compared([3, 1], 0.01, 0.0, &lower(), seed)) <= 0.05);
    gates.push(Gate::at_most("3 runs against 1, spread 1 %: false alarms", repeated, 0.05, seeds));
    gates
}

fn of_families(seeds: u64) -> Vec<Gate> {
    let any = |adjust: fn(&[f64]) -> Vec<f64>, metrics| {
        share(seeds, |seed| adjust(&family(metrics, 0, seed)).iter().any(|p| *p <= 0.05))
    };
    let discoveries: Vec<[f64; 2]> = (0..seeds).map(|seed| discovered(&benjamini_hochberg(&family(20, 5, seed)))).collect();
    let mean = |which: usize| discoveries.iter().map(|found| found[which]).sum::<f64>() / seeds as f64;
    vec![
        Gate::shown("20 metrics, 5 runs a side: any false alarm, not corrected", any(<[f64]>::to_vec, 20), seeds),
        Gate::at_most("20 metrics, 5 runs a side, Holm: any false alarm", any(holm, 20), 0.06, seeds),
        Gate::at_most("100 metrics, 5 runs a side, Holm: any false alarm", any(holm, 100), 0.05, seeds),
        Gate::at_most("20 metrics, 5 changed by 3 %, Benjamini-Hochberg: false among called", mean(0), 0.05, seeds),
        Gate::shown("the same: changes that are called", mean(1), seeds),
    ]
}

fn of_series(seeds: u64) -> Vec<Gate> {
    let series = |shape, rho, count, seed| Steps::new(shape, rho).run(count, &mut Rng::lane(seed, 0));
    let flagged = |rho| share(seeds, |seed| trend(&series(Shape::Normal, rho, 100, seed)).is_some_and(|trend| trend.p <= 0.01));
    let broken = |shape, rho, count| share(seeds, |seed| !change_points(&series(shape, rho, count, seed), 0.05).is_empty());
    let mut gates = Vec::new();
    for rho in [0.0, 0.3, 0.6] {
        gates.push(Gate::shown(format!("100 steps, rho {rho}: a trend at 1 % where there is none"), flagged(rho), seeds));
    }
    for (shape, rho, count) in [0.0, 0.3, 0.6, 0.8]
        .map(|rho| (Shape::Normal, rho, 300))
        .into_iter()
        .chain([300, 100].map(|n| (Shape::SingleSpikes, 0.8, n)))
    {
        gates.push(Gate::shown(
            format!("{count} steps, {}, rho {rho}: a change point at 5 % where there is none", shape.name()),
            broken(shape, rho, count),
            seeds,
        ));
    }
    let of_runs = broken(Shape::Normal, 0.0, 50);
    gates.push(Gate::at_most("50 runs in order: a change point at 5 % where there is none", of_runs, 0.05, seeds));
    for (shift, at) in [(0.02, 20), (0.03, 20), (0.04, 20), (0.04, 35)] {
        let what = format!(
            "40 runs on 4 ranks, each of spread 1 %, one of 9 metrics: +{:.0} % on 2 ranks from run {at} on is found within 3 runs",
            shift * 100.0
        );
        gates.push(Gate::shown(what, share(seeds, |seed| is_found(shift, at, seed)), seeds));
    }
    gates
}

/// Whether the slowest of four ranks shows that two of them take longer by `shift` from run `at` on.
fn is_found(shift: f64, at: usize, seed: u64) -> bool {
    let run = |rank| Steps::new(Shape::Normal, 0.0).run(40, &mut Rng::lane(seed, rank));
    let ranks: Vec<Vec<f64>> = (0..4).map(run).collect();
    let of_rank = |rank: usize, run: usize| ranks[rank][run] * if rank < 2 && run >= at { 1.0 + shift } else { 1.0 };
    let slowest = |run| (0..4).map(|rank| of_rank(rank, run)).fold(0.0, f64::max);
    let values: Vec<f64> = (0..40).map(slowest).collect();
    change_points(&values, 0.05 / 9.0).iter().any(|point| point.index.abs_diff(at) <= 3)
}

fn lower() -> Settings {
    Settings::new(Direction::LowerIsBetter)
}

/// Runs of thirty steps with spikes.
fn compared(runs: [usize; 2], spread: f64, shift: f64, settings: &Settings, seed: u64) -> Evidence {
    let [base, test] = Steps::new(Shape::Spikes, 0.3).sides(runs, whole_run(30), spread, shift, seed);
    evidence(&base, &test, settings)
}

fn evidence(base: &[Vec<f64>], test: &[Vec<f64>], settings: &Settings) -> Evidence {
    let base: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let test: Vec<&[f64]> = test.iter().map(Vec::as_slice).collect();
    compare(&Side { runs: &base }, &Side { runs: &test }, settings)
}

fn p(evidence: &Evidence) -> f64 {
    evidence.p.unwrap_or(1.0)
}

/// p values of metrics correlated by a half, of which the first `changed` changed by 3 %.
fn family(metrics: usize, changed: usize, seed: u64) -> Vec<f64> {
    let [base, mut test] = Steps::new(Shape::Spikes, 0.3).families(metrics, 5, whole_run(30), 0.005, seed);
    test[..changed].iter_mut().flatten().flatten().for_each(|step| *step *= 1.03);
    base.iter().zip(&test).map(|(base, test)| p(&evidence(base, test, &lower()))).collect()
}

/// Of adjusted p values of twenty metrics of which five changed: the share of what is called that did not, and of the five that is called.
fn discovered(adjusted: &[f64]) -> [f64; 2] {
    let called = |some: &[f64]| some.iter().filter(|p| **p <= 0.05).count() as f64;
    [called(&adjusted[5..]) / called(adjusted).max(1.0), called(&adjusted[..5]) / 5.0]
}
