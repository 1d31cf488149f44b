//! A recording as an indented tree of text, so that a test says in one literal what it expects of all of it.
//!
//! One line a span, where it began, under the one it began in: name, category, arguments, those of its end, and what is odd about
//! it. Instants, values, flows and the two ends of async spans have lines of their own. Threads come in the order of their first
//! event, and are told apart where there are several. Ids are numbered as they come up; times are left out, because no test
//! knows them: their order is the tree.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_formats::recording::{
    ArgView, Args, Category, Chunks, CounterValue, Cut, Event, FlowStage, NameId, RESUMED, Recording, Thread, What, take_out,
};

/// The lines of what `cut` has of `recording`.
///
/// # Panics
/// For a span that comes twice, and for one that neither ends nor is cut.
pub(crate) fn tree<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> Vec<String> {
    let first = |thread: &&Thread| Some(recording.replay(thread, cut).next()?.0.tick);
    let mut threads: Vec<(u64, &Thread)> =
        recording.threads().iter().filter_map(|thread| Some((first(&thread)?, thread))).collect();
    threads.sort_by_key(|(tick, thread)| (*tick, thread.stream));
    let mut printer = Printer { names: Names::of(recording), numbers: BTreeMap::new(), seen: BTreeSet::new() };
    if let [(_, thread)] = threads[..] {
        return printer.thread(recording, thread, cut, 0);
    }
    let mut lines = Vec::new();
    for (_, thread) in threads {
        lines.push(if thread.name == own_name() { "thread".to_owned() } else { format!("thread {}", thread.name) });
        lines.extend(printer.thread(recording, thread, cut, 1));
    }
    lines
}

/// What the harness calls the thread of this test, and threads that it starts have by default.
fn own_name() -> String {
    std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default().trim_end().to_owned()
}

struct Printer {
    names: Names,
    /// What the ids of flows and async spans are shown as.
    numbers: BTreeMap<u64, usize>,
    /// Spans so far, by their correlation ids.
    seen: BTreeSet<u64>,
}

/// A span that has not ended yet.
struct Open {
    /// Its place among the lines.
    line: usize,
    depth: usize,
    name: String,
}

impl Printer {
    fn thread<C: Chunks>(&mut self, recording: &Recording<C>, thread: &Thread, cut: &Cut, depth: usize) -> Vec<String> {
        let (mut lines, mut open) = (Vec::<String>::new(), Vec::<Open>::new());
        let mut replay = recording.replay(thread, cut);
        while let Some((event, args)) = replay.next() {
            let depth = open.last().map_or(depth, |around| around.depth + 1);
            match event.what {
                What::Begin { id, number } => {
                    assert!(id == 0 || self.seen.insert(id), "a span comes once");
                    let name = self.names.text(event.name);
                    let name = number.map_or(name.to_owned(), |number| format!("{name}#{number}"));
                    open.push(Open { line: lines.len(), depth, name: name.clone() });
                    lines.push(format!("{}{name} {}{}", "  ".repeat(depth), self.names.category(event.name), self.args(args)));
                }
                What::End { unfinished, above } => {
                    let ended = take_out(&mut open, above).expect("every end has its begin");
                    let line = &mut lines[ended.line];
                    if !args.is_empty() {
                        *line += &format!(" end{}", self.args(args));
                    }
                    let above: Vec<&str> = open[open.len() - above as usize..].iter().map(|other| &other.name[..]).collect();
                    if !above.is_empty() {
                        *line += &format!(" (overlaps {})", above.join(", "));
                    }
                    if unfinished {
                        *line += " (unfinished)";
                    }
                }
                _ => lines.push(format!("{}{}", "  ".repeat(depth), self.moment(&event, args))),
            }
        }
        assert!(open.is_empty(), "every begin has an end or a cut");
        lines
    }

    /// What is no end of a span that nests.
    fn moment(&mut self, event: &Event, args: Args<'_>) -> String {
        let titled = |names: &Names| format!("{} {}", names.text(event.name), names.category(event.name));
        let what = match event.what {
            What::Instant => format!("! {}", titled(&self.names)),
            What::Counter(CounterValue::I64(value)) => format!("{} = {value}", titled(&self.names)),
            What::Counter(CounterValue::F64(value)) => format!("{} = {value:?}", titled(&self.names)),
            What::Flow { id, stage } => {
                let stage = match stage {
                    FlowStage::Start => "start",
                    FlowStage::Step => "step",
                    FlowStage::End => "end",
                };
                format!("flow {} {stage}: {}", self.number(id), self.names.text(event.name))
            }
            What::AsyncBegin { id } => format!("async {} begin: {}", self.number(id), titled(&self.names)),
            What::AsyncEnd { id } => format!("async {} end: {}", self.number(id), self.names.text(event.name)),
            What::Memory { bytes, device_type, device_index, out_of_memory, .. } => {
                let what = if out_of_memory { "out of memory" } else { "memory" };
                format!("{what} {bytes:+} on {device_type}:{device_index}")
            }
            What::Begin { .. } | What::End { .. } => unreachable!("spans have lines of their own"),
        };
        what + &self.args(args)
    }

    fn number(&mut self, id: u64) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(id).or_insert(next)
    }

    fn args(&self, args: Args<'_>) -> String {
        let one = |(key, value): (NameId, ArgView<'_>)| match (self.names.text(key), value) {
            // What it says are times.
            (RESUMED, _) => " (resumed)".to_owned(),
            (key, ArgView::Cut { true_len }) => format!(" {key} cut from {true_len}"),
            (key, value) => format!(" {key}={}", self.value(value)),
        };
        args.iter().map(one).collect()
    }

    /// No two kinds of values look alike.
    fn value(&self, value: ArgView<'_>) -> String {
        match value {
            ArgView::I64(value) => value.to_string(),
            ArgView::U64(value) => format!("{value}u"),
            ArgView::F64(value) => format!("{value:?}"),
            ArgView::Bool(value) => value.to_string(),
            ArgView::Text(text) => format!("'{}'", text.replace('\'', "\\'")),
            ArgView::Name(name) => format!("name({})", self.names.text(name)),
            ArgView::Bytes(bytes) => format!("bytes{bytes:?}"),
            ArgView::I64s(list) => format!("{:?}", list.collect::<Vec<_>>()),
            ArgView::Json(json) => format!("json({json})"),
            ArgView::Cut { true_len } => format!("cut from {true_len}"),
        }
    }
}

/// The texts of a recording, and the categories they are of.
struct Names(Vec<(String, String)>);

impl Names {
    fn of<C: Chunks>(recording: &Recording<C>) -> Self {
        let category = |number| Category::of(number).map_or("unknown", Category::name);
        Self(recording.names().iter().map(|name| (name.text.to_string(), format!("[{}]", category(name.category)))).collect())
    }

    fn text(&self, name: NameId) -> &str {
        &self.0[name.0 as usize].0
    }

    fn category(&self, name: NameId) -> &str {
        &self.0[name.0 as usize].1
    }
}
