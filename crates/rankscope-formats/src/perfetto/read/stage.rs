//! GPU work: render stages, which torch's newer profiler writes for kernels and copies, and GPU counters.

use rankscope_trace::{ArgValue, StrId, Strings};

use super::sequence::{Sequence, counter_specs};
use crate::perfetto::schema::stage;
use crate::wire::{Fields, Malformed, Value, packed_varints};

/// One `GpuRenderStageEvent`.
#[derive(Clone, Debug, Default)]
pub(super) struct Stage<'a> {
    message: &'a [u8],
    pub(super) event_id: u64,
    pub(super) duration: u64,
    pub(super) gpu: i64,
    queue_iid: u64,
    stage_iid: u64,
    old_queue: Option<u64>,
    old_stage: Option<u64>,
    name: Option<&'a [u8]>,
    name_iid: u64,
    kernel_iid: u64,
    pub(super) specifications: Option<&'a [u8]>,
    launch: Option<&'a [u8]>,
}

/// Queues and stages by number, as older drivers list them once for the whole file.
#[derive(Debug, Default)]
pub(super) struct OldNames {
    queues: Vec<String>,
    stages: Vec<String>,
}

impl OldNames {
    /// Takes `Specifications` in.
    pub(super) fn learn(&mut self, message: &[u8]) {
        for (number, value) in Fields::of(message).flatten() {
            let name = || text_field(value.bytes(), 1).map(|name| String::from_utf8_lossy(name).into_owned());
            match number {
                2 => self.queues.push(name().unwrap_or_default()),
                3 => self.stages.push(name().unwrap_or_default()),
                _ => {}
            }
        }
    }
}

impl<'a> Stage<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut of = Self { message, ..Self::default() };
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                stage::EVENT_ID => of.event_id = value.u64(),
                stage::DURATION => of.duration = value.u64(),
                stage::GPU_ID => of.gpu = i64::from(value.u64() as i32),
                stage::QUEUE_IID => of.queue_iid = value.u64(),
                stage::STAGE_IID => of.stage_iid = value.u64(),
                stage::OLD_QUEUE => of.old_queue = Some(value.u64()),
                stage::OLD_STAGE => of.old_stage = Some(value.u64()),
                stage::NAME => of.name = Some(value.bytes()),
                stage::NAME_IID => of.name_iid = value.u64(),
                stage::KERNEL_IID => of.kernel_iid = value.u64(),
                stage::SPECIFICATIONS => of.specifications = Some(value.bytes()),
                stage::LAUNCH => of.launch = Some(value.bytes()),
                _ => {}
            }
        }
        Ok(of)
    }

    /// Whether this is work and not only the list of names.
    pub(super) fn is_work(&self) -> bool {
        self.specifications.is_none() || self.duration > 0 || self.stage_iid > 0
    }

    /// The name of the hardware queue, `None` if it was never sent.
    pub(super) fn queue(&self, sequence: &Sequence, old: &OldNames, strings: &mut Strings) -> Option<StrId> {
        match self.old_queue {
            Some(at) if self.queue_iid == 0 => {
                let name = usize::try_from(at).ok().and_then(|at| old.queues.get(at));
                Some(name.map(|name| strings.intern(name)).unwrap_or_else(|| strings.intern(&format!("queue {at}"))))
            }
            _ => sequence.stages.get(self.queue_iid),
        }
    }

    /// What sort of work it is.
    pub(super) fn stage(&self, sequence: &Sequence, old: &OldNames, strings: &mut Strings) -> Option<StrId> {
        match self.old_stage {
            Some(at) if self.stage_iid == 0 => {
                let name = usize::try_from(at).ok().and_then(|at| old.stages.get(at));
                Some(name.map(|name| strings.intern(name)).unwrap_or_else(|| strings.intern(&format!("stage {at}"))))
            }
            _ => sequence.stages.get(self.stage_iid),
        }
    }

    /// Its own name, or the kernel's; `None` if it has neither.
    pub(super) fn name(&self, sequence: &Sequence, strings: &mut Strings) -> Option<StrId> {
        let plain = self.name.map(|name| strings.intern(&String::from_utf8_lossy(name)));
        plain.or_else(|| sequence.names.get(self.name_iid)).or_else(|| sequence.kernels.get(self.kernel_iid))
    }

    /// Event ids of the stages this one waited for.
    pub(super) fn waits(&self) -> impl Iterator<Item = u64> + use<'a> {
        Fields::of(self.message).flatten().filter(|(number, _)| *number == stage::WAIT_IDS).flat_map(|(_, value)| {
            let (one, list) = match value {
                Value::Bytes(list) => (None, list),
                other => (Some(other.u64()), &[][..]),
            };
            one.into_iter().chain(packed_varints(list))
        })
    }

    /// Extra data and launch parameters as arguments.
    pub(super) fn args(&self, sequence: &Sequence, strings: &mut Strings, args: &mut Vec<(StrId, ArgValue)>) {
        for (_, value) in Fields::of(self.message).flatten().filter(|(number, _)| *number == stage::EXTRA_DATA) {
            let key = text_field(value.bytes(), 1).unwrap_or_default();
            let text = String::from_utf8_lossy(text_field(value.bytes(), 2).unwrap_or_default()).into_owned();
            let key = strings.intern(&String::from_utf8_lossy(key));
            // Everything is text here; what reads back as the same text is a number.
            let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            args.push((key, number.map_or_else(|| ArgValue::Text(strings.intern(&text)), ArgValue::I64)));
        }
        for (number, value) in Fields::of(self.launch.unwrap_or_default()).flatten() {
            match number {
                1 => args.push((strings.intern("grid"), extent(value.bytes(), strings))),
                2 => args.push((strings.intern("block"), extent(value.bytes(), strings))),
                3 => args.extend(launch_arg(value.bytes(), sequence, strings)),
                _ => {}
            }
        }
    }
}

/// Names kept as the categories Kineto gives the same work.
pub(super) fn category_of(stage: &str) -> &str {
    match stage {
        "Kernel" => "kernel",
        "Memcpy" => "gpu_memcpy",
        "Memset" => "gpu_memset",
        "Annotation" => "gpu_user_annotation",
        other => other,
    }
}

/// One `GpuCounterEvent`: the GPU and each counter's name and value. Counters without a name are left out.
pub(super) fn counters(message: &[u8], sequence: &mut Sequence, strings: &mut Strings) -> Option<(i64, Vec<(StrId, f64)>)> {
    let (mut gpu, mut descriptor) = (0, 0);
    for field in Fields::of(message) {
        match field.ok()? {
            // Older files describe the counters in the event itself; they then hold for the sequence.
            (1, value) => {
                for (id, name) in counter_specs(value.bytes()) {
                    sequence.gpu_counters.insert((0, id), strings.intern(&String::from_utf8_lossy(name)));
                }
            }
            (3, value) => gpu = i64::from(value.u64() as i32),
            (4, value) => descriptor = value.u64(),
            _ => {}
        }
    }
    let mut values = Vec::new();
    for (_, value) in Fields::of(message).flatten().filter(|(number, _)| *number == 2) {
        let (mut id, mut sample) = (0, 0.0);
        for field in Fields::of(value.bytes()) {
            match field.ok()? {
                (1, value) => id = value.u64(),
                (2, value) => sample = value.i64() as f64,
                (3, value) => sample = value.f64(),
                _ => {}
            }
        }
        values.extend(sequence.gpu_counters.get(&(descriptor, id)).map(|name| (*name, sample)));
    }
    Some((gpu, values))
}

fn launch_arg(message: &[u8], sequence: &Sequence, strings: &mut Strings) -> Option<(StrId, ArgValue)> {
    let (mut key, mut argument) = (None, None);
    for (number, value) in Fields::of(message).flatten() {
        match number {
            1 => key = sequence.kernel_args.get(value.u64()),
            2 => key = Some(strings.intern(&String::from_utf8_lossy(value.bytes()))),
            3 => argument = Some(ArgValue::I64(value.i64())),
            4 => argument = Some(ArgValue::U64(value.u64())),
            5 => argument = Some(ArgValue::F64(value.f64())),
            6 => argument = Some(ArgValue::Text(strings.intern(&String::from_utf8_lossy(value.bytes())))),
            7 => argument = sequence.texts.get(value.u64()).map(ArgValue::Text),
            _ => {}
        }
    }
    Some((key?, argument?))
}

/// A size in three dimensions, as Kineto writes it.
fn extent(message: &[u8], strings: &mut Strings) -> ArgValue {
    let mut sizes = [0; 3];
    for (number, value) in Fields::of(message).flatten() {
        if let Some(size) = sizes.get_mut((number as usize).wrapping_sub(1)) {
            *size = value.u64();
        }
    }
    let [x, y, z] = sizes;
    ArgValue::Json(strings.intern(&format!("[{x}, {y}, {z}]")))
}

fn text_field(message: &[u8], wanted: u32) -> Option<&[u8]> {
    Fields::of(message).flatten().find(|(number, _)| *number == wanted).map(|(_, value)| value.bytes())
}
