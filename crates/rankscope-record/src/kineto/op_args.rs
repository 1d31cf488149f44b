//! What of an op becomes arguments of its span.
//!
//! What is worth the room is decided when the profiler is enabled: inputs, stacks and modules are kept only if somebody asked
//! for them. Nothing is allocated for an op whose name this thread has seen before.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU8, Ordering};

use rustc_hash::FxHashMap;

use super::inputs::EncodedInputs;
use super::keys::Key;
use super::{Op, ProfilerConfig};
use crate::names::{intern, intern_key};
use crate::scope::Scope;
use crate::span::{OpenSpan, begin_raw};
use crate::state::is_on;
use crate::value::Value;
use rankscope_recording::{Category, NameId};

/// What is worth an argument now; bits of [`INPUTS`] and its neighbours.
static WISHES: AtomicU8 = AtomicU8::new(0);
const INPUTS: u8 = 1;
const STACKS: u8 = 2;
const MODULES: u8 = 4;
const OVERLOADS: u8 = 8;

/// What `config` wants kept; nothing without one.
pub(super) fn set_wishes(config: Option<&ProfilerConfig>) {
    let wishes = config.map_or(0, |config| {
        let wish = |asked: bool, bit: u8| if asked { bit } else { 0 };
        wish(config.report_input_shapes || config.with_flops, INPUTS)
            | wish(config.with_stack, STACKS)
            | wish(config.with_modules, MODULES)
            | wish(config.experimental.capture_overload_names, OVERLOADS)
    });
    WISHES.store(wishes, Ordering::Relaxed);
}

/// Begins the span of `op`; none if it is not recorded.
pub(super) fn record(op: &Op<'_>, handle: u64) -> Option<OpenSpan> {
    let category = op.category();
    if !is_on(category) {
        return None;
    }
    let name = name_id(op.name, category, op.scope);
    if op.is_bare() && handle == 0 { begin_raw(name, &[]) } else { record_with_arguments(op, name, handle) }
}

/// Lists that are made anew for each op, in memory that stays.
#[derive(Default)]
struct Scratch {
    encoded: EncodedInputs,
    stack: String,
    modules: String,
}

fn record_with_arguments(op: &Op<'_>, name: NameId, handle: u64) -> Option<OpenSpan> {
    thread_local!(static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) });
    let mut scratch = SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let wishes = WISHES.load(Ordering::Relaxed);
    let mut args = Arguments::new();
    args.put_if(op.sequence_nr >= 0, Key::SequenceNumber.id(), Value::I64(op.sequence_nr));
    args.put_if(op.sequence_nr >= 0, Key::FwdThreadId.id(), Value::U64(op.forward_thread_id));
    args.put_if(op.debug_handle >= 0, Key::DebugHandle.id(), Value::I64(op.debug_handle));
    args.put_if(handle != 0, Key::RecordFunctionId.id(), Value::U64(handle));
    args.put_if(!op.backend.is_empty(), Key::Backend.id(), Value::Text(op.backend));
    args.put_if(wishes & OVERLOADS != 0 && !op.overload_name.is_empty(), Key::OverloadName.id(), Value::Text(op.overload_name));
    if wishes & STACKS != 0 && !op.call_stack.is_empty() {
        join(&mut scratch.stack, op.call_stack, ';');
        args.put(Key::CallStack.id(), Value::Text(&scratch.stack));
    }
    if wishes & MODULES != 0 && !op.module_hierarchy.is_empty() {
        join(&mut scratch.modules, op.module_hierarchy, '.');
        args.put(Key::ModuleHierarchy.id(), Value::Text(&scratch.modules));
    }
    if wishes & INPUTS != 0 && !op.inputs.is_empty() {
        let encoded = &mut scratch.encoded;
        encoded.encode(op.inputs);
        args.put(Key::InputDims.id(), Value::Json(&encoded.dims));
        args.put(Key::InputStrides.id(), Value::Json(&encoded.strides));
        args.put(Key::InputType.id(), Value::Json(&encoded.types));
        args.put(Key::ConcreteInputs.id(), Value::Json(&encoded.concrete));
    }
    if wishes & INPUTS != 0 {
        op.kwinputs.iter().take(MOST_KWINPUTS).for_each(|(key, value)| args.put(intern_key(key), *value));
    }
    let open = begin_raw(name, args.as_slice());
    _ = SCRATCH.try_with(|slot| slot.set(Some(scratch)));
    open
}

/// Keyword inputs that are kept.
const MOST_KWINPUTS: usize = 30;

/// Arguments on the stack; there is room for all that an op can have.
struct Arguments<'a> {
    list: [(NameId, Value<'a>); 12 + MOST_KWINPUTS],
    count: usize,
}

impl<'a> Arguments<'a> {
    fn new() -> Self {
        Self { list: [(NameId(0), Value::Bool(false)); 12 + MOST_KWINPUTS], count: 0 }
    }

    fn put(&mut self, key: NameId, value: Value<'a>) {
        self.list[self.count] = (key, value);
        self.count += 1;
    }

    fn put_if(&mut self, is_known: bool, key: NameId, value: Value<'a>) {
        if is_known {
            self.put(key, value);
        }
    }

    fn as_slice(&self) -> &[(NameId, Value<'a>)] {
        &self.list[..self.count]
    }
}

fn join(out: &mut String, parts: &[&str], between: char) {
    out.clear();
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            out.push(between);
        }
        out.push_str(part);
    }
}

/// The number of a name that is known only now, found without a lock when this thread has used it before.
fn name_id(text: &str, category: Category, scope: Scope) -> NameId {
    type Known = [FxHashMap<Box<str>, NameId>; Scope::ALL.len()];
    thread_local!(static KNOWN: RefCell<Known> = RefCell::default());
    let find = |known: &RefCell<Known>| {
        // A callback of an allocator may run an op while this one looks.
        let mut known = known.try_borrow_mut().ok()?;
        let known = &mut known[scope as usize];
        if let Some(id) = known.get(text) {
            return Some(*id);
        }
        if known.len() == MOST_KNOWN {
            known.clear();
        }
        let id = intern(text, category, scope);
        known.insert(text.into(), id);
        Some(id)
    };
    KNOWN.try_with(find).ok().flatten().unwrap_or_else(|| intern(text, category, scope))
}

/// Names a thread remembers per scope; a program that makes names up would otherwise fill the memory.
const MOST_KNOWN: usize = 4096;
