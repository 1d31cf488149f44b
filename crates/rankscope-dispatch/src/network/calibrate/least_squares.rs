//! Least squares of a handful of coefficients that cannot be negative: nothing takes less than no time.
//!
//! With at most three columns every subset of them can be tried. The best solution without negative coefficients is the
//! constrained optimum, because that optimum is the free one of the columns it uses.

/// Columns at most.
pub(super) const COLUMNS: usize = 3;

/// One equation: coefficients, right-hand side, weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equation {
    pub(super) columns: [f64; COLUMNS],
    pub(super) value: f64,
    pub(super) weight: f64,
}

/// The coefficients with the least weighted sum of squares; those of columns not in `used` are zero.
pub(super) fn solve(equations: &[Equation], used: [bool; COLUMNS]) -> [f64; COLUMNS] {
    let mut best = ([0.0; COLUMNS], f64::INFINITY);
    for subset in 1_u8..1 << COLUMNS {
        let chosen: [bool; COLUMNS] = std::array::from_fn(|column| subset & (1 << column) != 0);
        if chosen.iter().zip(used).any(|(chosen, used)| *chosen && !used) {
            continue;
        }
        let Some(solution) = normal(equations, chosen).filter(|solution| solution.iter().all(|value| *value >= 0.0)) else {
            continue;
        };
        let squares = residual(equations, &solution);
        if squares < best.1 {
            best = (solution, squares);
        }
    }
    best.0
}

fn residual(equations: &[Equation], solution: &[f64; COLUMNS]) -> f64 {
    equations.iter().map(|equation| equation.weight * (dot(&equation.columns, solution) - equation.value).powi(2)).sum()
}

pub(super) fn dot(a: &[f64; COLUMNS], b: &[f64; COLUMNS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The normal equations of the chosen columns, by elimination; none where the columns do not tell each other apart.
fn normal(equations: &[Equation], chosen: [bool; COLUMNS]) -> Option<[f64; COLUMNS]> {
    let columns: Vec<usize> = (0..COLUMNS).filter(|column| chosen[*column]).collect();
    let n = columns.len();
    // Columns of one size keep the elimination honest: bytes are 10^9, starts 1.
    let scale: Vec<f64> = columns
        .iter()
        .map(|column| equations.iter().map(|one| one.weight * one.columns[*column].powi(2)).sum::<f64>().sqrt())
        .collect();
    if scale.iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    let mut rows = vec![vec![0.0; n + 1]; n];
    for one in equations {
        for (a, &left) in columns.iter().enumerate() {
            for (b, &right) in columns.iter().enumerate() {
                rows[a][b] += one.weight * one.columns[left] / scale[a] * one.columns[right] / scale[b];
            }
            rows[a][n] += one.weight * one.columns[left] / scale[a] * one.value;
        }
    }
    eliminate(&mut rows)?;
    let mut solution = [0.0; COLUMNS];
    for (at, &column) in columns.iter().enumerate() {
        solution[column] = rows[at][n] / rows[at][at] / scale[at];
    }
    Some(solution)
}

/// Makes the left of `rows` a diagonal. The matrix is symmetric and positive, so pivots on the diagonal do.
fn eliminate(rows: &mut [Vec<f64>]) -> Option<()> {
    /// Columns that are this parallel say the same.
    const SINGULAR: f64 = 1e-9;
    for pivot in 0..rows.len() {
        if rows[pivot][pivot] < SINGULAR {
            return None;
        }
        let pivoting = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
            let factor = row[pivot] / pivoting[pivot];
            row.iter_mut().zip(&pivoting).for_each(|(value, pivoting)| *value -= factor * pivoting);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(columns: [f64; 3], value: f64) -> Equation {
        Equation { columns, value, weight: 1.0 }
    }

    #[test]
    fn exact_equations_are_solved_exactly() {
        let truth = [3.0, 0.5, 2e-9];
        let rows = [[1.0, 7.0, 1e6], [1.0, 1.0, 1e9], [1.0, 3.0, 4e8], [0.0, 0.0, 1e9]];
        let equations = rows.map(|row| equation(row, dot(&row, &truth)));
        for (found, truth) in solve(&equations, [true; 3]).iter().zip(truth) {
            assert!((found / truth - 1.0).abs() < 1e-6, "{found} is not {truth}");
        }
    }

    #[test]
    fn no_coefficient_is_negative() {
        let equations = [equation([1.0, 0.0, 1.0], 1.0), equation([1.0, 0.0, 2.0], 3.0)];
        let found = solve(&equations, [true, false, true]);
        assert_eq!((found[0], found[1]), (0.0, 0.0));
        assert!((found[2] - 1.4).abs() < 1e-9);
    }

    #[test]
    fn columns_that_say_the_same_are_not_told_apart() {
        let equations = [equation([1.0, 7.0, 0.0], 14.0), equation([1.0, 7.0, 0.0], 14.0)];
        let found = solve(&equations, [true, true, true]);
        assert!((dot(&found, &equations[0].columns) - 14.0).abs() < 1e-9);
    }
}
