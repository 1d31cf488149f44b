//! Raw probe logs: one line per packet and its answer, five columns separated by tabs.
//!
//! `seq a_tx_ns b_rx_ns b_tx_ns a_rx_ns`: `a` sends, `b` receives, `b` sends, `a` receives; 0 marks a missing stamp. Two
//! lines make an exchange: `seq / 2` is its number. A header, blank lines, disorder and duplicates are no problems. A line that
//! is no packet is a problem that is listed and stepped over; whether a log with nothing else is an error is for the caller,
//! who knows its name.

use std::fmt;

use rankscope_time::Span;

use crate::{Exchange, HostInstant, Passage};

/// What a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeLog {
    /// In order of their numbers.
    pub exchanges: Vec<Exchange>,
    /// Lines that are no packets, in order.
    pub problems: Vec<LineProblem>,
}

/// A line that is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineProblem {
    /// Which line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: LineProblemKind,
}

/// What may be wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineProblemKind {
    /// Not five columns. Holds how many there are.
    Columns(usize),
    /// The column of that name is no integer, or one out of range.
    NotANumber(&'static str),
    /// So many lines up to here are no packets that the rest is not read.
    TooMany,
    /// The file ends inside the line, so the last number may have lost digits.
    Truncated,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.kind {
            LineProblemKind::Columns(count) => write!(f, "expected {} columns separated by tabs, found {count}", COLUMNS.len()),
            LineProblemKind::NotANumber(column) => write!(f, "{column} is not an integer in range"),
            LineProblemKind::TooMany => {
                write!(f, "{PROBLEMS_MAX} lines up to here are not packets; reading stops here")
            }
            LineProblemKind::Truncated => f.write_str("the file ends within this line, which is ignored"),
        }
    }
}

/// A file with more lines that are no packets is no log.
const PROBLEMS_MAX: usize = 100_000;

const COLUMNS: [&str; 5] = ["seq", "a_tx_ns", "b_rx_ns", "b_tx_ns", "a_rx_ns"];

/// One line: the number of the packet, its way there, and the way back.
struct Row {
    sequence: u32,
    second: bool,
    forward: Passage,
    reverse: Passage,
}

/// Reads the log in `bytes`.
pub fn parse(bytes: &[u8]) -> ProbeLog {
    let mut log = ProbeLog::default();
    let mut rows = Vec::with_capacity(bytes.len() / 80);
    let mut lines = bytes.split(|byte| *byte == b'\n').zip(1..).peekable();
    while let Some((text, line)) = lines.next() {
        let text = text.trim_ascii_end();
        let header = line == 1 && text.starts_with(COLUMNS[0].as_bytes());
        if text.is_empty() || header {
            continue;
        }
        // Without a line end behind it, nobody knows whether the last number is whole.
        let parsed = if lines.peek().is_some() { parse_row(text) } else { Err(LineProblemKind::Truncated) };
        match parsed {
            Ok(row) => rows.push(row),
            Err(kind) => log.problems.push(LineProblem { line, kind }),
        }
        if log.problems.len() == PROBLEMS_MAX {
            log.problems.push(LineProblem { line, kind: LineProblemKind::TooMany });
            break;
        }
    }
    log.exchanges = exchanges(rows);
    log
}

fn parse_row(text: &[u8]) -> Result<Row, LineProblemKind> {
    let mut fields = [0i64; 5];
    let mut count = 0;
    for text in text.split(|byte| *byte == b'\t') {
        if let Some(field) = fields.get_mut(count) {
            *field = integer(text).ok_or(LineProblemKind::NotANumber(COLUMNS[count]))?;
        }
        count += 1;
    }
    if count != fields.len() {
        return Err(LineProblemKind::Columns(count));
    }
    let [packet, a_tx, b_rx, b_tx, a_rx] = fields;
    let sequence = u32::try_from(packet.div_euclid(2)).map_err(|_| LineProblemKind::NotANumber(COLUMNS[0]))?;
    let forward = Passage { sent: stamp(a_tx), received: stamp(b_rx) };
    let reverse = Passage { sent: stamp(b_tx), received: stamp(a_rx) };
    Ok(Row { sequence, second: packet % 2 == 1, forward, reverse })
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn stamp(ns: i64) -> Option<HostInstant> {
    (ns != 0).then(|| HostInstant::from_nanos_since_epoch(ns))
}

fn exchanges(mut rows: Vec<Row>) -> Vec<Exchange> {
    rows.sort_by_key(|row| row.sequence);
    let mut exchanges = Vec::with_capacity(rows.len() / 2 + 1);
    for same in rows.chunk_by(|a, b| a.sequence == b.sequence) {
        let mut exchange = Exchange { sequence: same[0].sequence, ..Exchange::default() };
        for row in same {
            let index = usize::from(row.second);
            keep_first(&mut exchange.forward[index], row.forward);
            keep_first(&mut exchange.reverse[index], row.reverse);
        }
        exchanges.push(exchange);
    }
    exchanges
}

/// Of duplicates the first complete one counts. Stamps of two copies are never mixed: one may belong to another packet.
fn keep_first(kept: &mut Passage, found: Passage) {
    let complete = |passage: &Passage| passage.sent.is_some() && passage.received.is_some();
    if *kept == Passage::default() || (!complete(kept) && complete(&found)) {
        *kept = found;
    }
}

/// Cuts `exchanges` into windows of `length` on `a`'s clock, from the first exchange on. A last window shorter than half a
/// length joins the one before: it would hold too little to be worth a line. Exchanges that `a` never stamped are left out.
pub fn cut(mut exchanges: Vec<Exchange>, length: Span) -> Vec<Vec<Exchange>> {
    let length_ns = length.as_nanos().max(1);
    exchanges.retain(|exchange| instant(exchange).is_some());
    exchanges.sort_by_key(instant);
    let Some(first) = exchanges.first().and_then(instant) else { return Vec::new() };
    let window = |exchange: &Exchange| instant(exchange).map(|at| (at - first).as_nanos() / length_ns);
    let mut windows: Vec<Vec<Exchange>> = exchanges.chunk_by(|a, b| window(a) == window(b)).map(<[_]>::to_vec).collect();
    let is_short = |last: &Vec<Exchange>| {
        let spent = last.last().and_then(instant).map_or(0, |at| (at - first).as_nanos() % length_ns);
        spent < length_ns / 2
    };
    if windows.len() > 1
        && let Some(rest) = windows.pop_if(|last| is_short(last))
        && let Some(last) = windows.last_mut()
    {
        last.extend(rest);
    }
    windows
}

/// When an exchange took place: the first stamp that `a` has of it.
fn instant(exchange: &Exchange) -> Option<HostInstant> {
    let [first, second] = &exchange.forward;
    let [third, fourth] = &exchange.reverse;
    first.sent.or(second.sent).or(third.received).or(fourth.received)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: i64) -> Option<HostInstant> {
        Some(HostInstant::from_nanos_since_epoch(ns))
    }

    #[test]
    fn two_lines_make_an_exchange() {
        let log = parse(b"seq\ta_tx_ns\tb_rx_ns\tb_tx_ns\ta_rx_ns\n7\t20\t21\t22\t23\n6\t10\t11\t0\t13\r\n\n");
        let forward = [Passage { sent: at(10), received: at(11) }, Passage { sent: at(20), received: at(21) }];
        let reverse = [Passage { sent: None, received: at(13) }, Passage { sent: at(22), received: at(23) }];
        assert_eq!(log, ProbeLog { exchanges: vec![Exchange { sequence: 3, forward, reverse }], problems: vec![] });
    }

    #[test]
    fn of_duplicates_the_first_complete_one_counts() {
        let log = parse(b"0\t10\t0\t20\t21\n0\t10\t15\t30\t31\n0\t10\t16\t40\t41\n");
        assert_eq!(log.exchanges.len(), 1);
        assert_eq!(log.exchanges[0].forward[0], Passage { sent: at(10), received: at(15) });
        assert_eq!(log.exchanges[0].reverse[0], Passage { sent: at(20), received: at(21) });
    }

    #[test]
    fn garbage_is_listed_and_stepped_over() {
        let log = parse(b"0\t1\t2\t3\t4\nhello\n2\t1\tx\t3\t4\n99999999999999\t1\t2\t3\t4\n1\t5\t6\t7\t8\n4\t1\t2\t3");
        let problems: Vec<_> = log.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "line 2: seq is not an integer in range",
                "line 3: b_rx_ns is not an integer in range",
                "line 4: seq is not an integer in range",
                "line 6: the file ends within this line, which is ignored",
            ]
        );
        assert_eq!(log.exchanges.len(), 1);
        assert_eq!(parse(b"0\t1\t2\n").problems[0].kind, LineProblemKind::Columns(3));
    }

    #[test]
    fn an_empty_log_holds_nothing() {
        assert_eq!(parse(b""), ProbeLog::default());
        assert_eq!(cut(Vec::new(), Span::from_nanos(5)), Vec::<Vec<Exchange>>::new());
    }

    fn sent_at(ns: i64) -> Exchange {
        Exchange { forward: [Passage { sent: at(ns), received: None }; 2], ..Exchange::default() }
    }

    #[test]
    fn a_short_rest_joins_the_window_before() {
        let lengths = |until: i64| {
            let windows = cut((100..until).map(sent_at).collect(), Span::from_nanos(10));
            windows.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(104), [4]);
        assert_eq!(lengths(120), [10, 10]);
        assert_eq!(lengths(124), [10, 14]);
        assert_eq!(lengths(126), [10, 10, 6]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            parse(&bytes);
        }

        #[test]
        fn cutting_loses_nothing(mut times in prop::collection::vec(any::<i64>(), 0..50), length in any::<i64>()) {
            let windows = cut(times.iter().copied().map(sent_at).collect(), Span::from_nanos(length));
            let mut kept: Vec<_> = windows.concat().iter().filter_map(instant).collect();
            kept.sort_unstable();
            times.sort_unstable();
            prop_assert_eq!(kept.into_iter().map(HostInstant::nanos_since_epoch).collect::<Vec<_>>(), times);
        }
    }
}
