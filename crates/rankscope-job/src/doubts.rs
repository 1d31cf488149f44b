//! Whether the traces given are those of one job, each rank once.
//!
//! Files that contradict each other are still accounted one by one; but what is between ranks (who is late, what waits for whom,
//! whose clock is ahead) is not asked of them. A wrong name is worse than none.

use std::collections::BTreeMap;

use rankscope_document::CautionKind;
use rankscope_time::Rank;
use rankscope_trace::RankSource;

use crate::Part;
use crate::words::{list, range, time};

/// Something that speaks against these traces being one job's, each rank once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// These ranks have the same events to the nanosecond.
    SameEvents { ranks: Vec<Rank> },
    /// The files of these ranks do not say whose they are.
    NumberedByName { ranks: Vec<Rank>, of: usize },
    /// Profilers of one job write one format.
    Formats { ranks: BTreeMap<&'static str, Vec<Rank>> },
    /// The files say that their jobs are of different sizes.
    WorldSizes { ranks: BTreeMap<u32, Vec<Rank>> },
    /// A rank that its job, by what the files say, does not have.
    BeyondWorld { ranks: Vec<Rank>, world_size: u32 },
    /// No step was recorded by all.
    Steps { ranks: BTreeMap<(i64, i64), Vec<Rank>> },
    /// Recordings that lie so far apart in time that no clock explains it.
    Times { ranks: Vec<Rank>, apart_ns: i64 },
}

impl Doubt {
    /// What it is called in documents.
    pub(crate) fn kind(&self) -> CautionKind {
        match self {
            Self::SameEvents { .. } => CautionKind::SameBytes,
            Self::NumberedByName { .. } => CautionKind::RankByOrder,
            Self::Formats { .. } => CautionKind::MixedFormats,
            Self::WorldSizes { .. } | Self::BeyondWorld { .. } => CautionKind::WorldSize,
            Self::Steps { .. } => CautionKind::Window,
            Self::Times { .. } => CautionKind::TimeRange,
        }
    }

    /// The ranks it is about.
    pub(crate) fn ranks(&self) -> Vec<Rank> {
        match self {
            Self::SameEvents { ranks }
            | Self::NumberedByName { ranks, .. }
            | Self::BeyondWorld { ranks, .. }
            | Self::Times { ranks, .. } => ranks.clone(),
            Self::Formats { ranks } => ranks.values().flatten().copied().collect(),
            Self::WorldSizes { ranks } => ranks.values().flatten().copied().collect(),
            Self::Steps { ranks } => ranks.values().flatten().copied().collect(),
        }
    }

    /// What is wrong, what follows and what to do.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::SameEvents { ranks } => format!(
                "Ranks {} left the same file: one of them overwrote the other's, or a file was copied. Ranks are not compared. Give \
                 each process a log directory of its own.",
                list(ranks)
            ),
            Self::NumberedByName { ranks, of } => format!(
                "{} of {of} files do not record their rank and were numbered by name. Ranks are not compared. Name the files rank0, rank1 and so on if they belong to one job.",
                ranks.len()
            ),
            Self::Formats { ranks } => {
                let formats: Vec<_> = ranks.iter().map(|(format, ranks)| format!("rank {} {format}", list(ranks))).collect();
                format!(
                    "The files have different formats ({}), so they are not from one job. Ranks are not compared.",
                    formats.join(", ")
                )
            }
            Self::WorldSizes { ranks } => {
                let sizes: Vec<_> = ranks.iter().map(|(size, ranks)| format!("rank {} of {size}", list(ranks))).collect();
                format!("The files come from jobs of different sizes: {}. Ranks are not compared.", sizes.join(", "))
            }
            Self::BeyondWorld { ranks, world_size } => format!(
                "There is a trace of rank {}, but the files say that the job has {world_size} ranks. Ranks are not compared.",
                list(ranks)
            ),
            Self::Steps { ranks } => {
                let steps: Vec<_> =
                    ranks.iter().map(|(steps, ranks)| format!("rank {} {}", list(ranks), range(*steps))).collect();
                format!("The ranks recorded no step in common: {}. They are not compared.", steps.join(", "))
            }
            Self::Times { ranks, apart_ns } => format!(
                "Rank {} was recorded {} away from the others, too far apart for a wrong clock: the files are from different runs. Ranks are not compared.",
                list(ranks),
                time(*apart_ns)
            ),
        }
    }
}

/// Clocks of hosts of one cluster differ by less, unless nobody set them.
const APART_MAX_NS: i64 = 3_600 * 1_000_000_000;

/// What speaks against `parts`, whose ranks are settled, being one job's. Where clocks are `known`, times contradict nothing.
pub(crate) fn doubts(parts: &[Part], known: bool) -> Vec<Doubt> {
    if parts.len() < 2 {
        return Vec::new();
    }
    let found = [same_events(parts), by_name(parts), formats(parts), world_sizes(parts), steps(parts)];
    let times = if known { None } else { times(parts) };
    found.into_iter().flatten().chain(times).collect()
}

fn ranks_where(parts: &[Part], is: impl Fn(&Part) -> bool) -> Vec<Rank> {
    parts.iter().filter(|part| is(part)).map(Part::rank).collect()
}

fn same_events(parts: &[Part]) -> Option<Doubt> {
    let mut alike: BTreeMap<_, Vec<Rank>> = BTreeMap::new();
    // Files that say different ranks differ, whatever their events.
    let says_its_rank = |part: &Part| matches!(part.about.rank, Some((_, RankSource::Header | RankSource::Events)));
    let spans = |part: &Part| part.exports.iter().map(|export| export.spans).max().unwrap_or(0);
    for part in parts.iter().filter(|part| spans(part) > 1 && !says_its_rank(part)) {
        alike.entry(part.about.outline()).or_default().push(part.rank());
    }
    let ranks: Vec<Rank> = alike.into_values().filter(|group| group.len() > 1).flatten().collect();
    (!ranks.is_empty()).then_some(Doubt::SameEvents { ranks })
}

fn by_name(parts: &[Part]) -> Option<Doubt> {
    let guessed = |part: &Part| matches!(part.about.rank, Some((_, RankSource::Order)));
    let ranks = ranks_where(parts, guessed);
    (!ranks.is_empty()).then_some(Doubt::NumberedByName { ranks, of: parts.len() })
}

fn formats(parts: &[Part]) -> Option<Doubt> {
    let mut ranks: BTreeMap<&'static str, Vec<Rank>> = BTreeMap::new();
    for part in parts {
        ranks.entry(part.about.format.name()).or_default().push(part.rank());
    }
    (ranks.len() > 1).then_some(Doubt::Formats { ranks })
}

fn world_sizes(parts: &[Part]) -> Option<Doubt> {
    let mut ranks: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
    for part in parts {
        if let Some(size) = part.about.world_size {
            ranks.entry(size).or_default().push(part.rank());
        }
    }
    let world_size = *ranks.keys().next_back()?;
    let beyond = ranks_where(parts, |part| part.rank().0 >= world_size);
    match (ranks.len(), beyond.is_empty()) {
        (1, true) => None,
        (1, false) => Some(Doubt::BeyondWorld { ranks: beyond, world_size }),
        _ => Some(Doubt::WorldSizes { ranks }),
    }
}

fn steps(parts: &[Part]) -> Option<Doubt> {
    let mut ranks: BTreeMap<(i64, i64), Vec<Rank>> = BTreeMap::new();
    for part in parts {
        ranks.entry(part.about.step_range()?).or_default().push(part.rank());
    }
    // They are in order.
    let marked = |part: &Part, number: &i64| part.about.marked_steps.binary_search(number).is_ok();
    let common = parts[0].about.marked_steps.iter().any(|number| parts.iter().all(|part| marked(part, number)));
    (!common).then_some(Doubt::Steps { ranks })
}

/// The recording that lies furthest from all others, if that is too far.
fn times(parts: &[Part]) -> Option<Doubt> {
    let mut bounds: Vec<(i64, i64, Rank)> =
        parts.iter().filter_map(|part| part.about.bounds_ns.map(|(from, to)| (from, to, part.rank()))).collect();
    bounds.sort_unstable();
    let mut end_ns = bounds.first()?.1;
    let mut widest: Option<(i64, usize)> = None;
    for (at, (from, to, _)) in bounds.iter().enumerate().skip(1) {
        let gap_ns = from.saturating_sub(end_ns);
        if gap_ns > APART_MAX_NS && widest.is_none_or(|(other, _)| gap_ns > other) {
            widest = Some((gap_ns, at));
        }
        end_ns = end_ns.max(*to);
    }
    let (apart_ns, at) = widest?;
    let (before, after) = bounds.split_at(at);
    let fewer = if before.len() < after.len() { before } else { after };
    let mut ranks: Vec<Rank> = fewer.iter().map(|(.., rank)| *rank).collect();
    ranks.sort_unstable();
    Some(Doubt::Times { ranks, apart_ns })
}
