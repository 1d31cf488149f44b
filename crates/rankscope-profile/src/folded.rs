//! Folded stacks: a line a stack, frames from the outermost on with semicolons between, a space, the weight.
//!
//! `flamegraph.pl` and `inferno-flamegraph` draw them. The weight is nanoseconds of self time, so that all lines add up to the
//! time that the spans of each thread cover. The format knows no escapes: a semicolon in a name becomes a colon, a control
//! character a space.

use std::io::{self, Write};

use rankscope_analyze::spans::Stacks;

/// Writes the stacks that have time of their own.
///
/// # Errors
/// What `out` fails with.
pub fn folded(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    for (at, stack) in stacks.list.iter().enumerate().filter(|(_, stack)| stack.self_ns > 0) {
        let frames: Vec<String> = stacks.path(at).into_iter().map(frame).collect();
        writeln!(out, "{} {}", frames.join(";"), stack.self_ns)?;
    }
    Ok(())
}

fn frame(name: &str) -> String {
    let name = if name.is_empty() { "(no name)" } else { name };
    name.chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect()
}
