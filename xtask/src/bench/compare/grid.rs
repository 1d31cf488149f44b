//! One run a side, without a difference: does the interval hold zero, however steps scatter and resemble each other? Beside it, how
//! often Mann and Whitney's test sees a difference in the same steps.

use rankscope_stats::{Direction, Settings, Side, compare, warm_up, whole_run};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{RHOS, Rates, SIZES, Said, Shape, Steps, share};
use serde::Serialize;

/// One size, shape and correlation.
#[derive(Serialize)]
pub(super) struct Cell {
    pub(super) base_steps: usize,
    pub(super) test_steps: usize,
    pub(super) shape: &'static str,
    /// Whether the gates are about it, or it shows where they end.
    pub(super) required: bool,
    pub(super) rho: f64,
    pub(super) cover: f64,
    pub(super) alarms: f64,
    pub(super) unbounded: f64,
    pub(super) mann_whitney_alarms: f64,
}

/// All of them.
pub(super) fn cells(seeds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for sizes in SIZES {
        eprintln!("simulating {} against {} steps", sizes.0, sizes.1);
        for shape in Shape::REQUIRED.into_iter().chain([Shape::SingleSpikes]) {
            for rho in RHOS {
                // Each cell draws its own numbers. Ranks of a log-normal run would be those of a normal one.
                let lane = 2 * cells.len() as u64;
                cells.push(cell(sizes, shape, rho, seeds, lane));
            }
        }
    }
    cells
}

fn cell((n, m): (usize, usize), shape: Shape, rho: f64, seeds: u64, lane: u64) -> Cell {
    let steps = Steps::new(shape, rho);
    let side = |count, seed, side| steps.run(whole_run(count), &mut Rng::lane(seed, lane + side));
    let rates = Rates::of(seeds, |seed| {
        let (base, test) = (side(n, seed, 0), side(m, seed, 1));
        let settings = Settings::new(Direction::LowerIsBetter);
        let evidence = compare(&Side { runs: &[&base] }, &Side { runs: &[&test] }, &settings);
        Said { interval: evidence.interval, p: evidence.p.unwrap_or(1.0) }
    });
    let mann_whitney_alarms = share(seeds, |seed| mann_whitney(&side(n, seed, 0), &side(m, seed, 1)));
    Cell {
        base_steps: n,
        test_steps: m,
        shape: shape.name(),
        required: Shape::REQUIRED.contains(&shape),
        rho,
        cover: rates.cover,
        alarms: rates.alarms,
        unbounded: rates.unbounded,
        mann_whitney_alarms,
    }
}

/// Whether the usual rank test, which takes steps for independent, sees a difference at 5 %.
fn mann_whitney(base: &[f64], test: &[f64]) -> bool {
    let (base, test) = (&base[warm_up(base.len())..], &test[warm_up(test.len())..]);
    let (n, m) = (base.len() as f64, test.len() as f64);
    let larger = base.iter().map(|a| test.iter().filter(|b| *b > a).count()).sum::<usize>() as f64;
    (larger - n * m / 2.0).abs() > 1.96 * (n * m * (n + m + 1.0) / 12.0).sqrt()
}
