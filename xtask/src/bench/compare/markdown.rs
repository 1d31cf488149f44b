//! The simulations for people: Markdown tables, as the page about statistics shows them.

use super::Outcome;
use super::gates::Gate;
use super::grid::Cell;
use crate::bench::table::push;

/// Both tables.
pub(super) fn tables(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} seeds. Cover, false alarms and unbounded intervals; in brackets false alarms of Mann and Whitney.\n\n",
        outcome.seeds
    );
    text.push_str("| steps | scatter | rho 0 | rho 0.3 | rho 0.6 | rho 0.8 |\n|---|---|---|---|---|---|\n");
    let row = |a: &Cell, b: &Cell| (a.base_steps, a.test_steps, a.shape) == (b.base_steps, b.test_steps, b.shape);
    for cells in outcome.cells.chunk_by(row) {
        let figures: Vec<String> = cells.iter().map(figures).collect();
        let Cell { base_steps, test_steps, shape, .. } = cells[0];
        push(&mut text, format_args!("| {base_steps} / {test_steps} | {shape} | {} |", figures.join(" | ")));
    }
    text.push_str("\n| what | found | gate |\n|---|--:|---|\n");
    for gate in &outcome.gates {
        push(&mut text, format_args!("| {} | {:.1} % | {} |", gate.what, 100.0 * gate.found, limit(gate)));
    }
    text
}

fn figures(cell: &Cell) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let [cover, alarms, usual] = [cell.cover, cell.alarms, cell.mann_whitney_alarms].map(percent);
    format!("{cover} · {alarms} · {:.0} ({usual})", 100.0 * cell.unbounded)
}

fn limit(gate: &Gate) -> String {
    let limit = match (gate.at_least, gate.at_most) {
        (Some(least), _) => format!("at least {:.1} %", 100.0 * least),
        (_, Some(most)) => format!("at most {:.1} %", 100.0 * most),
        _ => return "-".to_owned(),
    };
    match gate.beyond() {
        Some(beyond) if gate.is_missed() => format!("{limit}: missed by {:.1} points", 100.0 * beyond),
        Some(beyond) if beyond > 0.0 => {
            format!("{limit}: {:.1} points beyond, standard error {:.1}", 100.0 * beyond, 100.0 * gate.standard_error)
        }
        _ => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_four_cells_and_a_gate_says_by_how_much_it_is_missed() {
        let outcome = Outcome { seeds: 2, cells: super::super::grid::cells(2), gates: super::super::gates::of_cells(&[], 2) };
        let text = tables(&outcome);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" / ")).collect();
        assert!(rows.len() == 25 && rows.iter().all(|row| row.matches('|').count() == 7), "{text}");
        let gate = Gate { what: "x".into(), found: 0.09, at_least: None, at_most: Some(0.05), standard_error: 0.01 };
        assert_eq!(limit(&gate), "at most 5.0 %: missed by 4.0 points");
        assert!(limit(&Gate { standard_error: 0.03, ..gate }).contains("standard error 3.0"));
    }
}
