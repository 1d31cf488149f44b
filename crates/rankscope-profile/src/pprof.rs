//! pprof's `profile.proto`: stacks with two values, the number of spans and their self time in nanoseconds.
//!
//! Fields by number, as <https://github.com/google/pprof/blob/main/proto/profile.proto> has them. Every frame is a function and
//! a location of its own: spans have no addresses. Whoever writes the file compresses it; pprof reads it either way.

use std::io::{self, Write};

use rankscope_analyze::spans::Stacks;
use rankscope_formats::wire::Encoder;
use rankscope_trace::{StrId, Strings};
use rustc_hash::FxHashMap;

mod profile {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Writes the stacks that have spans. `bounds_ns` is when the recording began and ended, in nanoseconds since the Unix epoch.
///
/// # Errors
/// What `out` fails with.
pub fn pprof(stacks: &Stacks, bounds_ns: (i64, i64), out: &mut impl Write) -> io::Result<()> {
    let mut file = File { strings: Strings::default(), message: Encoder::default(), out };
    for (sort, unit) in [("spans", "count"), ("time", "nanoseconds")] {
        let [sort, unit] = [sort, unit].map(|text| file.string(text));
        file.message.message(profile::SAMPLE_TYPE, |value_type| {
            value_type.varint(1, sort).varint(2, unit);
        });
    }
    let functions = file.functions(stacks)?;
    for (at, stack) in stacks.list.iter().enumerate().filter(|(_, stack)| stack.count > 0) {
        let mut locations = Encoder::default();
        let path = std::iter::successors(Some(at), |at| stacks.list[*at].below);
        path.for_each(|at| locations.raw_varint(functions[&stacks.list[at].frame]));
        let mut values = Encoder::default();
        values.raw_varint(stack.count);
        values.raw_varint(stack.self_ns as u64);
        file.message.message(profile::SAMPLE, |sample| {
            sample.bytes_field(1, locations.bytes()).bytes_field(2, values.bytes());
        });
        file.flush()?;
    }
    let (start_ns, end_ns) = bounds_ns;
    let default = file.string("time");
    file.message
        .varint(profile::TIME_NANOS, start_ns as u64)
        .varint(profile::DURATION_NANOS, end_ns.saturating_sub(start_ns) as u64)
        .varint(profile::DEFAULT_SAMPLE_TYPE, default);
    file.strings()
}

struct File<'a, W> {
    /// What the file calls its string table; the empty string comes first in both.
    strings: Strings,
    message: Encoder,
    out: &'a mut W,
}

impl<W: Write> File<'_, W> {
    fn string(&mut self, text: &str) -> u64 {
        self.strings.intern(text).0.into()
    }

    /// A function and a location for each frame; both have the same number, which begins at one.
    fn functions(&mut self, stacks: &Stacks) -> io::Result<FxHashMap<StrId, u64>> {
        let mut functions = FxHashMap::default();
        for stack in &stacks.list {
            let number = functions.len() as u64 + 1;
            if functions.contains_key(&stack.frame) {
                continue;
            }
            functions.insert(stack.frame, number);
            let name = self.string(stacks.frames.text(stack.frame));
            self.message.message(profile::FUNCTION, |function| {
                function.varint(1, number).varint(2, name).varint(3, name);
            });
            self.message.message(profile::LOCATION, |location| {
                location.varint(1, number).message(4, |line| {
                    line.varint(1, number);
                });
            });
            self.flush()?;
        }
        Ok(functions)
    }

    fn strings(mut self) -> io::Result<()> {
        let strings = std::mem::take(&mut self.strings);
        for (_, text) in strings.iter() {
            self.message.string(profile::STRING, text);
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.message.bytes())?;
        self.message.clear();
        Ok(())
    }
}
