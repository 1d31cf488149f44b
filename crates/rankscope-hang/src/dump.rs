//! What one rank dumped, with everything that repeats kept once.

use std::cell::Cell;

use crate::call::{Call, Once, Shape, ShapeId, operation};
use crate::error::Error;
use crate::pickled::Pickled;
use crate::raw::{RawCall, RawDump, RawFrame};

/// What one rank dumped.
#[derive(Debug, Default)]
pub struct Dump {
    /// The rank, in the rare dump that says it.
    pub(crate) rank: Option<u32>,
    /// Names of groups, and what they are called.
    pub(crate) groups: Once<Box<str>>,
    pub(crate) descriptions: Vec<Box<str>>,
    /// Ranks of groups, by name, as far as they were configured under a name.
    pub(crate) members: Vec<(Box<str>, Vec<u32>)>,
    /// By group, how many ranks it has, where that is told.
    pub(crate) sizes: Vec<(u32, u32)>,
    /// By group: last collective enqueued, and last completed.
    pub(crate) status: Vec<(u32, Option<u64>, Option<u64>)>,
    pub(crate) calls: Vec<Call>,
    pub(crate) shapes: Once<Shape>,
    pub(crate) sites: Once<Box<str>>,
    /// Whether calls are gloo's, which leaves no word of messages.
    pub(crate) is_gloo: bool,
}

impl Dump {
    /// The dump that `bytes` are.
    ///
    /// # Errors
    /// [`Error`], where they are none.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).ok_or(Error::Empty)?;
        match first {
            0x80 => Self::read_pickle(bytes),
            b'{' => Self::of(serde_json::from_slice(bytes)?),
            b'[' => Self::of(RawDump { entries: serde_json::from_slice(bytes)?, ..RawDump::default() }),
            _ => Err(Error::NeitherForm),
        }
    }

    /// The rank, in the rare dump that says it.
    pub const fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// Whether it says anything at all: the recorder of a library that the job does not use writes dumps that do not.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.status.is_empty()
    }

    fn read_pickle(bytes: &[u8]) -> Result<Self, Error> {
        use serde::Deserialize as _;

        let pickle = rankscope_pickle::read(bytes)?;
        let steps = Cell::new(0);
        let root = Pickled::new(pickle.root(), &steps);
        Self::of(match pickle.root().container() {
            Some((_, rankscope_pickle::Kind::List)) => RawDump { entries: Vec::deserialize(root)?, ..RawDump::default() },
            _ => RawDump::deserialize(root)?,
        })
    }

    fn of(raw: RawDump<'_>) -> Result<Self, Error> {
        if raw.version.is_none() && raw.entries.is_empty() && raw.pg_status.is_empty() {
            return Err(Error::Other);
        }
        let mut dump = Self { rank: raw.rank.count().and_then(|rank| u32::try_from(rank).ok()), ..Self::default() };
        // Status is by the number that a group has on this rank, and calls say its name.
        let mut names: Vec<(String, u32)> = Vec::new();
        for call in &raw.entries {
            let number = call.pg_id.0.map(|number| number.to_string());
            let name = call.process_group.name.as_deref().or(number.as_deref()).unwrap_or_default();
            let group = dump.group(name, call.process_group.description.as_deref().unwrap_or_default());
            if let Some(number) = number.filter(|number| names.iter().all(|(known, _)| known != number)) {
                names.push((number, group));
            }
            dump.add(group, call);
        }
        for (number, status) in &raw.pg_status {
            let known = names.iter().find(|(known, _)| known == number).map(|(_, group)| *group);
            let group = known.unwrap_or_else(|| dump.group(number, ""));
            let (enqueued, completed) = (status.last_enqueued_collective.count(), status.last_completed_collective.count());
            dump.status.push((group, enqueued, completed));
        }
        let members = raw.pg_config.iter().map(|(name, group)| (Box::from(name.as_ref()), ranks(&group.ranks)));
        dump.members = members.collect();
        Ok(dump)
    }

    pub(crate) fn group(&mut self, name: &str, description: &str) -> u32 {
        let place = self.groups.place(name.into());
        if self.descriptions.len() < self.groups.list.len() {
            self.descriptions.push(description.into());
        }
        place
    }

    fn add(&mut self, group: u32, raw: &RawCall<'_>) {
        let (operation, message) = operation(&raw.profiling_name);
        self.is_gloo |= raw.profiling_name.starts_with("gloo:");
        let shape = Shape {
            operation: operation.into(),
            inputs: elements(raw.input_sizes.as_deref()),
            outputs: elements(raw.output_sizes.as_deref()),
            dtypes: raw.input_dtypes.iter().flatten().map(|dtype| dtype.as_ref().into()).collect(),
        };
        let is_message = raw.is_p2p.unwrap_or(false) || message.is_some();
        if is_message && message.is_none() {
            // With whom is not told, so that nothing follows from it.
            return;
        }
        let site = site(&raw.frames).map(|site| self.sites.place(site));
        let sequence = raw.collective_seq_id.count().filter(|sequence| *sequence > 0 && !is_message);
        // A call without a number cannot be found on other ranks, so nobody is held to be stuck in it.
        let is_unnumbered = sequence.is_none() && !is_message;
        self.calls.push(Call {
            group,
            sequence: sequence.unwrap_or(0),
            shape: ShapeId(self.shapes.place(shape)),
            created_ns: raw.time_created_ns.0.unwrap_or(0),
            record: raw.record_id.count().unwrap_or(0),
            message,
            // Gloo's calls stay scheduled for ever: that they were retired is their end.
            done: raw.retired.unwrap_or(false) || raw.state == "completed" || is_unnumbered,
            site,
        });
    }
}

/// `[0, 1]`, as numbers.
fn ranks(text: &str) -> Vec<u32> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').filter_map(|rank| rank.trim().parse().ok()).collect()
}

/// Elements of each tensor.
fn elements(sizes: Option<&[Vec<i64>]>) -> Box<[i64]> {
    let of = |sizes: &Vec<i64>| sizes.iter().fold(1_i64, |all, size| all.saturating_mul(*size));
    sizes.unwrap_or_default().iter().map(of).collect()
}

/// The innermost frame that is not torch's own: where the user's program called.
fn site(frames: &[RawFrame<'_>]) -> Option<Box<str>> {
    let own = |frame: &&RawFrame<'_>| {
        let torch = ["/torch/", "<frozen", "<string>", "/multiprocessing/", "/threading.py"];
        !frame.filename.is_empty() && !torch.iter().any(|part| frame.filename.contains(part))
    };
    let frame = frames.iter().find(own)?;
    let file = frame.filename.rsplit('/').next().unwrap_or_default();
    Some(match frame.line.0 {
        Some(line) => format!("{} ({file}:{line})", frame.name).into(),
        None => format!("{} ({file})", frame.name).into(),
    })
}
