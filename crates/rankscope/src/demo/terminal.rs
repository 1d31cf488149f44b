//! What came of a demo on one screen, in words that need no manual.

use rankscope_demo::{Because, DemoDocument, RankClock, Standstill};
use rankscope_report::{Style, columns, paragraph};

/// Draws it.
pub(super) fn draw(demo: &DemoDocument, style: Style) -> String {
    let sections = [clocks(demo, style), events(demo, style), causality(demo), straggler(demo)];
    let all = sections.into_iter().chain(demo.standstill.as_ref().map(|standstill| stood_still(standstill, style)));
    all.chain([places(demo)]).collect::<Vec<_>>().join("\n")
}

fn clocks(demo: &DemoDocument, style: Style) -> String {
    let row = |rank: &RankClock| {
        let within = rank
            .guaranteed_ns()
            .map_or_else(|| "nothing".to_owned(), |(lo_ns, hi_ns)| format!("{} .. {}", signed(lo_ns), signed(hi_ns)));
        vec![
            rank.rank.to_string(),
            signed(rank.true_offset_ns),
            signed(rank.estimated_offset_ns),
            signed(rank.error_ns()),
            within,
            ppm(rank.true_drift_ppb),
            ppm(rank.estimated_drift_ppb),
        ]
    };
    let header = ["rank", "truly ahead", "measured", "error", "guaranteed", "truly gains", "measured"];
    format!(
        "Every host's clock is skewed on purpose; relative to rank 0, in ns and in ppm:\n{}",
        columns(&header, demo.ranks.iter().map(row).collect(), style)
    )
}

fn events(demo: &DemoDocument, style: Style) -> String {
    let errors = &demo.event_error_ns;
    let row = |name: &str, values: [u64; 3]| std::iter::once(name.to_owned()).chain(values.map(scaled)).collect();
    let rows = vec![
        row("as recorded", [errors.before_p50, errors.before_p99, errors.before_max]),
        row("aligned", [errors.after_p50, errors.after_p99, errors.after_max]),
        row("guaranteed within", [errors.guaranteed_p50, errors.guaranteed_p99, errors.guaranteed_max]),
    ];
    format!(
        "How far the {} starts and ends of events are from the truth:\n{}{} of them are within their guaranteed bounds.\n",
        grouped(demo.stamps as u64),
        columns(&["", "half", "99 %", "all within"], rows, style),
        percent(demo.bound_coverage)
    )
}

fn causality(demo: &DemoDocument) -> String {
    let violations = &demo.violations;
    let after = match violations.after {
        0 => "none".to_owned(),
        some => some.to_string(),
    };
    format!(
        "Collectives that a rank left before another entered, of {}:\nas recorded {}, aligned {after}.\n",
        violations.collectives, violations.before
    )
}

fn straggler(demo: &DemoDocument) -> String {
    let straggler = &demo.straggler;
    let found = match straggler.reported {
        Some(rank) if rank == straggler.rank => format!("The report finds it: rank {rank} made the others wait most."),
        Some(rank) => format!("In the report, rank {rank} made the others wait even more."),
        None => "The report finds that nobody waited.".to_owned(),
    };
    let (rank, extra_ms) = (straggler.rank, straggler.extra_ns as f64 / 1e6);
    let slow = match straggler.because {
        None => format!("Rank {rank} had {:.2} times the work of the others.", straggler.work),
        Some(Because::DataLoader) => format!("Rank {rank} waited {extra_ms:.1} ms longer for each batch than the others."),
        Some(Because::Kernel) => {
            format!("Rank {rank} had {:.2} times the work of the others, all of it more in forward passes.", straggler.work)
        }
        Some(Because::Host) => format!("Rank {rank} did {extra_ms:.1} ms of other work between its operators in each step."),
        Some(Because::Link) => {
            let next = (rank + 1) % demo.ranks.len() as u32;
            return format!(
                "What rank {rank} sent to rank {next} took longer, {extra_ms:.1} ms in each step.\n\
                 Every collective takes longer for that, longest for rank {next}.\n"
            );
        }
    };
    format!("{slow}\n{found}\n")
}

fn stood_still(standstill: &Standstill, style: Style) -> String {
    let Standstill { rank, seconds, named, summary } = standstill;
    let found = match named[..] {
        [named] if named == *rank => format!("Asked meanwhile, `rankscope hang` named rank {rank}:"),
        [] => "Asked meanwhile, `rankscope hang` named nobody:".to_owned(),
        _ => format!("Asked meanwhile, `rankscope hang` named others than rank {rank}:"),
    };
    let said = paragraph(summary, style);
    format!("Rank {rank} stood still for {seconds:.1} s waiting for a batch, and so did the job.\n{found}\n{said}")
}

fn places(demo: &DemoDocument) -> String {
    format!(
        "{} steps in {:.1} s; {:.1} s in all. Other clocks and work: --seed {}.\n\
         report    {}\ntimeline  {}  (for https://ui.perfetto.dev)\n",
        demo.steps,
        demo.trained_seconds,
        demo.seconds,
        demo.seed.wrapping_add(1),
        demo.report.display(),
        demo.timeline.display()
    )
}

/// `+3,210,334`
fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    format!("{sign}{}", grouped(ns.unsigned_abs()))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits and a unit.
fn scaled(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

fn ppm(ppb: i64) -> String {
    format!("{:+.3}", ppb as f64 / 1e3)
}

/// Rounded down, so that 100 % are all.
fn percent(share: f64) -> String {
    format!("{} %", (share * 10_000.0).floor() / 100.0)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rankscope_demo::{EventErrors, Straggler, Violations};

    use super::*;

    #[test]
    fn it_fits_a_terminal_of_the_usual_width() {
        let rank = |rank| RankClock {
            rank,
            true_offset_ns: -18_808_381,
            true_drift_ppb: -38_999,
            estimated_offset_ns: -18_808_382,
            estimated_drift_ppb: -38_998,
            bound_lo_ns: Some(-18_810_381),
            bound_hi_ns: Some(-18_806_381),
        };
        let errors = EventErrors {
            before_p50: 12_345_678,
            before_p99: 18_345_678,
            before_max: 18_345_678,
            after_p50: 9_999,
            after_p99: 99_999,
            after_max: 999_999,
            guaranteed_p50: 9_999,
            guaranteed_p99: 99_999,
            guaranteed_max: 999_999,
        };
        let demo = DemoDocument {
            seed: 1,
            ranks: (0..16).map(rank).collect(),
            event_error_ns: errors,
            bound_coverage: 1.0,
            violations: Violations { before: 10_000, after: 0, collectives: 10_000 },
            straggler: Straggler { rank: 15, work: 2.1, because: None, extra_ns: 123_456_789, reported: Some(14) },
            standstill: Some(Standstill { rank: 15, seconds: 596.0, named: vec![15], summary: "word ".repeat(60) }),
            steps: 1_000,
            stamps: 1_000_000,
            trained_seconds: 600.0,
            seconds: 610.0,
            report: PathBuf::from("rankscope-demo-1/report/report.html"),
            timeline: PathBuf::from("rankscope-demo-1/timeline.pftrace"),
        };
        let drawn = draw(&demo, Style { color: false, width: 80 });
        let wide: Vec<&str> = drawn.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([signed(0), signed(-999), signed(1_000), signed(-3_210_334)], ["+0", "-999", "+1,000", "-3,210,334"]);
        assert_eq!([scaled(9_999), scaled(10_000), scaled(12_345_678)], ["9999 ns", "10.0 us", "12.3 ms"]);
        assert_eq!([percent(1.0), percent(0.999_999), percent(0.5)], ["100 %", "99.99 %", "50 %"]);
    }
}
