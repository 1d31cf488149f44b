//! Events as text, for whoever wants to look at them without a viewer.

use anyhow::Result;
use rankscope_cli::output;
use rankscope_collectives::{CommPatterns, extract};
use rankscope_time::Rank;
use rankscope_trace::Trace;

use super::Args;

/// Text is handed to the terminal in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// Prints what `args` ask for of a trace on the common clock: number, start, length, track and name, set apart by tabs.
pub(super) fn events(args: &Args, number: u32, trace: &Trace) -> Result<()> {
    let mut text = String::new();
    if args.print_events {
        for span in trace.spans.ids() {
            let row = trace.spans.row(span);
            let track = output::one_line(trace.strings.text(trace.tracks.get(row.track).name));
            let name = output::one_line(trace.strings.text(row.name));
            text += &format!("{number}\t{}\t{}\t{track}\t{name}\n", row.start_ns, row.dur_ns);
            if text.len() > PIECE_BYTES {
                output::answer(&text)?;
                text.clear();
            }
        }
    }
    if args.print_collectives {
        let found = extract(Rank(number), trace, &CommPatterns::with_user(&[])?);
        for collective in found.collectives.iter() {
            let dur_ns = collective.end_ns.saturating_sub(collective.start_ns);
            let (kind, name) = (collective.kind.name(), output::one_line(&collective.name));
            text += &format!("{number}\t{}\t{dur_ns}\t{kind}\t{name}\n", collective.start_ns);
        }
    }
    if text.is_empty() { Ok(()) } else { Ok(output::answer(&text)?) }
}
