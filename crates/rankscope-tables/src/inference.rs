//! Steps of an inference engine by what they do: prefill, decode, or both at once.
//!
//! vLLM and SGLang name an annotation after the batch that each step runs; nothing else tells prefill from decode. A step's time is that of
//! the work which its annotation encloses the launches of, from the first start to the last end. Steps that launch nothing are not counted.

use std::collections::hash_map::Entry;

use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Spread};

/// Whose annotation told a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum InferenceEngine {
    /// `execute_context_3(384)_generation_5(5)`, `execute_new_3_cached_5`.
    Vllm,
    /// `step[DECODE bs=16]`, `step[EXTEND bs=2 toks=107]`.
    Sglang,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Phase {
    /// Reads prompts.
    Prefill,
    /// Makes tokens.
    Decode,
    /// Both.
    Mixed,
}

/// All steps of one phase with so many requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InferenceRow {
    /// Whose steps.
    pub engine: InferenceEngine,
    /// What they do.
    pub phase: Phase,
    /// Requests in each.
    pub requests: u64,
    /// Tokens that all of them read or made; none where a name does not tell.
    pub tokens: Option<u64>,
    /// How long each took on devices, from the first start of its work to the last end.
    pub time: Spread,
    /// Sum of the lengths of their work, in nanoseconds.
    pub kernel_ns: i64,
}

/// What the name of an annotation tells of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    engine: InferenceEngine,
    phase: Phase,
    requests: u64,
    tokens: Option<u64>,
}

/// What tells a row from others.
type Key = (InferenceEngine, Phase, u64);

/// The work of one step so far: first start, last end, and sum of its lengths.
type Extent = (i64, i64, i64);

/// The steps of `trace`: prefill before decode, the smallest batches first.
pub fn inference(trace: &Trace, attribution: &Attribution) -> Vec<InferenceRow> {
    let mut told: FxHashMap<StrId, Option<Told>> = FxHashMap::default();
    let mut steps: FxHashMap<SpanId, (Told, Extent)> = FxHashMap::default();
    for one in &attribution.work {
        let Some(inside) = one.launch.or(one.owner.span()) else { continue };
        let annotations = attribution.around(inside).filter(|span| trace.kind(*span) == CategoryKind::UserAnnotation);
        let step = annotations.filter_map(|span| {
            let name = trace.spans.name[span.0 as usize];
            Some((span, (*told.entry(name).or_insert_with(|| Told::by_name(trace.strings.text(name))))?))
        });
        let Some((span, what)) = step.last() else { continue };
        let (from, to) = (trace.spans.start_ns(one.work), trace.spans.end_ns(one.work));
        let (_, extent) = steps.entry(span).or_insert((what, (from, to, 0)));
        *extent = (extent.0.min(from), extent.1.max(to), extent.2.saturating_add(dur_ns(trace, one.work)));
    }
    let mut rows: FxHashMap<Key, InferenceRow> = FxHashMap::default();
    for (told, extent) in steps.into_values() {
        let step = InferenceRow::of(told, extent);
        match rows.entry(step.key()) {
            Entry::Occupied(row) => row.into_mut().add(step),
            Entry::Vacant(place) => {
                place.insert(step);
            }
        }
    }
    let mut rows: Vec<InferenceRow> = rows.into_values().collect();
    rows.sort_by_key(InferenceRow::key);
    rows
}

/// Adds the steps of another stretch of time.
pub(crate) fn join(rows: &mut Vec<InferenceRow>, later: Vec<InferenceRow>) {
    join_rows(rows, later, InferenceRow::key, InferenceRow::add);
    rows.sort_by_key(InferenceRow::key);
}

impl InferenceRow {
    fn of(Told { engine, phase, requests, tokens }: Told, (from, to, kernel_ns): Extent) -> Self {
        let mut time = Spread::default();
        time.add(to.saturating_sub(from));
        Self { engine, phase, requests, tokens, time, kernel_ns }
    }

    fn key(&self) -> Key {
        (self.engine, self.phase, self.requests)
    }

    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.zip(more.tokens).map(|(own, more)| own.saturating_add(more));
        self.time.join(more.time);
        self.kernel_ns = self.kernel_ns.saturating_add(more.kernel_ns);
    }

    /// Time of the steps for each token, in nanoseconds.
    pub fn ns_per_token(&self) -> Option<f64> {
        self.tokens.filter(|tokens| *tokens > 0).map(|tokens| self.time.sum_ns as f64 / tokens as f64)
    }
}

impl Told {
    fn by_name(name: &str) -> Option<Self> {
        Self::vllm(name).or_else(|| Self::sglang(name))
    }

    fn vllm(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("execute_")?;
        // Newer versions number the steps.
        let rest = number(rest).and_then(|(_, rest)| rest.strip_prefix('_')).unwrap_or(rest);
        let of = |prefill: u64, decode: u64, tokens| {
            let phase = match (prefill, decode) {
                (_, 0) => Phase::Prefill,
                (0, _) => Phase::Decode,
                _ => Phase::Mixed,
            };
            Some(Self { engine: InferenceEngine::Vllm, phase, requests: prefill.checked_add(decode)?, tokens })
        };
        if let Some(rest) = rest.strip_prefix("new_") {
            let (new, rest) = number(rest)?;
            let (cached, _) = number(rest.strip_prefix("_cached_")?)?;
            return of(new, cached, None);
        }
        let (prefill, rest) = number(rest.strip_prefix("context_")?)?;
        let (read, rest) = batch(rest)?;
        let Some(rest) = rest.strip_prefix("_generation_") else { return of(prefill, 0, read) };
        let (decode, rest) = number(rest)?;
        let (made, _) = batch(rest)?;
        of(prefill, decode, read.zip(made).and_then(|(read, made)| read.checked_add(made)))
    }

    fn sglang(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix("step[")?.strip_suffix(']')?.split(' ');
        let phase = match words.next()? {
            "EXTEND" => Phase::Prefill,
            "DECODE" => Phase::Decode,
            "MIXED" => Phase::Mixed,
            _ => return None,
        };
        let values: Vec<(&str, &str)> = words.filter_map(|word| word.split_once('=')).collect();
        let value = |key: &str| values.iter().find(|(known, _)| *known == key)?.1.parse().ok();
        let requests: u64 = value("bs")?;
        // One for each request, where nothing else is there.
        let tokens = value("toks").or_else(|| (phase == Phase::Decode).then_some(requests));
        Some(Self { engine: InferenceEngine::Sglang, phase, requests, tokens })
    }
}

/// The number that `text` begins with, and what follows.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The tokens of a batch as `(384)` or `(sq384sk512...)`, the queries' lengths summed, and what follows.
fn batch(text: &str) -> Option<(Option<u64>, &str)> {
    let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
    let tokens = number(inside.strip_prefix("sq").unwrap_or(inside)).map(|(tokens, _)| tokens);
    Some((tokens, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn names_of_steps_tell_phase_requests_and_tokens() {
        let told = |name: &str| Told::by_name(name).map(|told| (told.engine, told.phase, told.requests, told.tokens));
        let (vllm, sglang) = (InferenceEngine::Vllm, InferenceEngine::Sglang);
        for (name, expected) in [
            ("execute_context_3(384)_generation_5(5)", Some((vllm, Phase::Mixed, 8, Some(389)))),
            ("execute_context_0(0)_generation_64(64)", Some((vllm, Phase::Decode, 64, Some(64)))),
            ("execute_context_2(1024)_generation_0(0)", Some((vllm, Phase::Prefill, 2, Some(1_024)))),
            (
                "execute_7_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq1sk300sqsq1sqsk1)",
                Some((vllm, Phase::Mixed, 5, Some(129))),
            ),
            ("execute_new_2_cached_0", Some((vllm, Phase::Prefill, 2, None))),
            ("step[DECODE bs=16]", Some((sglang, Phase::Decode, 16, Some(16)))),
            ("step[EXTEND bs=2 toks=107]", Some((sglang, Phase::Prefill, 2, Some(107)))),
            ("step[MIXED bs=2]", Some((sglang, Phase::Mixed, 2, None))),
            ("execute_model", None),
            ("execute_context_many(3)", None),
            ("execute_context_99999999999999999999(1)", None),
            ("step[IDLE]", None),
            ("ProfilerStep#3", None),
        ] {
            assert_eq!(told(name), expected, "{name}");
        }
    }

    #[test]
    fn a_step_lasts_from_its_first_work_to_its_last() {
        let mut made = Made::default();
        made.annotation("step[EXTEND bs=1 toks=100]", 0, 10);
        made.launch("cudaLaunchKernel", 1, 1, 1);
        made.kernel("gemm", 7, 20, 40, 1);
        for (number, start) in [(2, 20), (3, 40)] {
            made.annotation("step[DECODE bs=4]", start, 10);
            // One launch of a graph, two kernels with a gap between them.
            made.launch("cudaGraphLaunch", start + 1, 1, number);
            made.kernel("attention", 7, 50 * start, 10, number);
            made.kernel("gemm", 7, 50 * start + 15, 5, number);
        }
        made.annotation("step[DECODE bs=4]", 60, 10);
        let rows = inference(&made.trace, &Attribution::of(&made.trace));
        let row = |row: &InferenceRow| (row.phase, row.requests, row.time.count, row.tokens, row.time.sum_ns, row.kernel_ns);
        assert_eq!(
            rows.iter().map(row).collect::<Vec<_>>(),
            [(Phase::Prefill, 1, 1, Some(100), 40_000, 40_000), (Phase::Decode, 4, 2, Some(8), 40_000, 30_000)]
        );
        assert_eq!(rows[1].ns_per_token(), Some(5_000.0));
    }
}
