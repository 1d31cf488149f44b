//! The outcome as a table.

use super::super::table::push;
use super::{Gates, Measured, Outcome};

pub(super) fn markdown(outcome: &Outcome) -> String {
    let Outcome { ranks, steps, collectives_per_step, rows, part_bytes, memory, merges, gates } = outcome;
    let mut text = String::new();
    let of_parts = *part_bytes as f64 / *rows as f64;
    let about = format_args!(
        "{ranks} ranks of {steps} steps of {collectives_per_step} collectives: {rows} rows in parts of {of_parts:.1} B a row.\n"
    );
    push(&mut text, about);
    if let Some(memory) = memory {
        push(&mut text, format_args!("Merged with --memory {memory}.\n"));
    }
    text.push_str("| program | s | CPU s | ns a row | peak MB | B a row | within |\n");
    text.push_str("|---|--:|--:|--:|--:|--:|---|\n");
    for merge in merges {
        let Measured { binary, seconds, cpu_seconds, ns_per_row, peak_mb, bytes_per_row } = merge;
        let (name, within) = (binary.display(), within(merge, gates));
        let row = format_args!(
            "| {name} | {seconds:.2} | {cpu_seconds:.2} | {ns_per_row:.0} | {peak_mb:.0} | {bytes_per_row:.0} | {within} |"
        );
        push(&mut text, row);
    }
    let Gates { cpu_seconds, peak_mb } = gates;
    push(&mut text, format_args!("\nGates: {cpu_seconds:.2} CPU s and {peak_mb:.0} MB."));
    text
}

/// Which of the gates it is within.
fn within(merge: &Measured, gates: &Gates) -> &'static str {
    match (merge.cpu_seconds <= gates.cpu_seconds, merge.peak_mb <= gates.peak_mb) {
        (true, true) => "both",
        (true, false) => "CPU",
        (false, true) => "memory",
        (false, false) => "neither",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_the_head_and_says_what_it_is_within() {
        let merge = |cpu_seconds, peak_mb| Measured {
            binary: "rankscope".into(),
            seconds: 1.0,
            cpu_seconds,
            ns_per_row: 156.3,
            peak_mb,
            bytes_per_row: 12.0,
        };
        let gates = Gates { cpu_seconds: 8.0, peak_mb: 300.0 };
        let merges = vec![merge(7.9, 299.0), merge(8.1, 299.0), merge(7.9, 301.0), merge(9.0, 9_000.0)];
        let (rows, part_bytes) = (51_200_000, 358_400_000);
        let text = markdown(&Outcome {
            ranks: 1_024,
            steps: 10,
            collectives_per_step: 5_000,
            rows,
            part_bytes,
            memory: None,
            merges,
            gates,
        });
        let cells = |line: &str| line.matches('|').count();
        assert!(
            text.starts_with("1024 ranks of 10 steps of 5000 collectives: 51200000 rows in parts of 7.0 B a row."),
            "{text}"
        );
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| cells(line) == 8), "{text}");
        for (line, within) in text.lines().skip(4).zip(["both", "memory", "CPU", "neither"]) {
            assert!(line.ends_with(&format!("| {within} |")), "{line}");
        }
    }
}
