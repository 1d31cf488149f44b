//! Stacks of Python and C++ frames, each looked at once however many allocations have it.

use rankscope_pickle::{ContainerId, Value};
use rustc_hash::FxHashMap;

use super::{SnapshotError, Steps};

/// What one stack holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackHeld {
    /// The device.
    pub device: i64,
    /// The innermost frame of the program itself: the first Python frame that is not torch's, else the first Python frame, else the
    /// first frame outside the allocator. None where no stack was recorded, and of what was allocated before the recorded events.
    pub frame: Option<String>,
    /// The Python frames, or where there are none all, innermost first, at most 6.
    pub stack: Option<String>,
    /// Whether it was allocated before the recorded events.
    pub before_recording: bool,
    /// How many allocations; none of what was allocated before.
    pub count: Option<u64>,
    /// Their bytes.
    pub bytes: i64,
}

/// Frames of a stack that are named.
pub(super) const FRAMES: usize = 6;

/// Frames of the allocator and of what records stacks: they are innermost in every stack.
const ALLOCATOR: [&str; 4] = [
    "torch::unwind::",
    "torch::CapturedTraceback::",
    "torch::cuda::(anonymous namespace)::gather",
    "c10::cuda::CUDACachingAllocator::",
];

/// A stack, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StackId(usize);

/// All stacks met.
#[derive(Default)]
pub(super) struct Stacks {
    /// The innermost frame of the program, and the stack.
    all: Vec<(String, String)>,
    by_text: FxHashMap<(String, String), StackId>,
    by_list: FxHashMap<ContainerId, Option<StackId>>,
}

impl Stacks {
    /// The stack of `holder`, a block or an event; none where none was recorded.
    pub(super) fn of(&mut self, holder: Value<'_>, steps: &mut Steps) -> Result<Option<StackId>, SnapshotError> {
        let Some(frames) = holder.get("frames") else { return Ok(None) };
        let Some((list, _)) = frames.container() else { return Ok(None) };
        if let Some(known) = self.by_list.get(&list) {
            return Ok(*known);
        }
        let mut lines: Vec<(String, bool, bool)> = Vec::new();
        for frame in frames.items() {
            steps.take()?;
            let said = |key| frame.get(key).and_then(Value::as_str).unwrap_or("?");
            let (name, file) = (said("name"), said("filename"));
            let line = frame.get("line").and_then(Value::as_i64).unwrap_or(0);
            if ALLOCATOR.iter().any(|own| name.starts_with(own)) {
                continue;
            }
            let is_python = file.ends_with(".py");
            let of_torch = is_python && (file.contains("/torch/") || file.starts_with("torch/"));
            let place = if is_python { format!("{name} ({}:{line})", short(file)) } else { name.to_owned() };
            lines.push((place, is_python, of_torch));
        }
        let id = Self::summed(&lines).map(|text| self.id(text));
        self.by_list.insert(list, id);
        Ok(id)
    }

    fn summed(lines: &[(String, bool, bool)]) -> Option<(String, String)> {
        let own = lines.iter().find(|(_, is_python, of_torch)| *is_python && !of_torch);
        let innermost = own.or_else(|| lines.iter().find(|(_, is_python, _)| *is_python)).or(lines.first())?;
        let any_python = lines.iter().any(|(_, is_python, _)| *is_python);
        let shown = lines.iter().filter(|(_, is_python, _)| *is_python || !any_python).take(FRAMES);
        let stack: Vec<&str> = shown.map(|(place, ..)| place.as_str()).collect();
        Some((innermost.0.clone(), stack.join(" < ")))
    }

    fn id(&mut self, text: (String, String)) -> StackId {
        let next = StackId(self.all.len());
        let id = *self.by_text.entry(text.clone()).or_insert(next);
        if id == next {
            self.all.push(text);
        }
        id
    }

    /// Sums of bytes by stack as rows, the most first.
    pub(super) fn rows(&self, device: i64, sums: &FxHashMap<Option<StackId>, (u64, i64)>) -> Vec<StackHeld> {
        let row = |(stack, (count, bytes)): (&Option<StackId>, &(u64, i64))| {
            let text = stack.map(|stack| self.all[stack.0].clone());
            let (frame, stack) = text.map_or((None, None), |(frame, stack)| (Some(frame), Some(stack)));
            StackHeld { device, frame, stack, before_recording: false, count: Some(*count), bytes: *bytes }
        };
        let mut rows: Vec<StackHeld> = sums.iter().map(row).collect();
        sort(&mut rows);
        rows
    }
}

pub(super) fn sort(rows: &mut [StackHeld]) {
    rows.sort_by(|a, b| (a.device, b.bytes, &a.frame, &a.stack).cmp(&(b.device, a.bytes, &b.frame, &b.stack)));
}

/// A path without what every file of an installation has in front.
fn short(file: &str) -> &str {
    ["site-packages/", "dist-packages/"].iter().find_map(|folder| Some(file.rsplit_once(folder)?.1)).unwrap_or(file)
}
