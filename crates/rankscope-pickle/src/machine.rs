//! The stack machine. Values that are finished wait on the stack; a mark remembers how high it was when a container began.

use rustc_hash::FxHashMap;

use crate::Error;
use crate::input::Input;
use crate::opcode::{Does, of_code};
use crate::value::{Container, ContainerId, Kind, Pickle, Plain};

/// How much a pickle may hold. Python's own pickles stay far below.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Values on the stack: Python fills containers a thousand at a time, but a tuple at once.
    pub stack: usize,
    /// Containers that are open at once. Python's own pickler goes about a thousand deep.
    pub marks: usize,
    /// Containers in all: an instruction of one byte makes one, which takes many.
    pub containers: usize,
}

impl Limits {
    /// Those of a file of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { stack: 1 << 20, marks: 10_000, containers: (bytes.len() / 4).max(1 << 20) }
    }
}

pub(crate) struct Machine<'a> {
    input: Input<'a>,
    limits: Limits,
    stack: Vec<Plain<'a>>,
    marks: Vec<usize>,
    memo: Memo<'a>,
    containers: Vec<Container<'a>>,
}

/// What is remembered: numbers come in order, but in files that are made by hand.
#[derive(Default)]
struct Memo<'a> {
    dense: Vec<Plain<'a>>,
    sparse: FxHashMap<u64, Plain<'a>>,
}

impl<'a> Memo<'a> {
    fn put(&mut self, index: u64, value: Plain<'a>) {
        match usize::try_from(index) {
            Ok(at) if at < self.dense.len() => self.dense[at] = value,
            Ok(at) if at == self.dense.len() => self.dense.push(value),
            _ => {
                self.sparse.insert(index, value);
            }
        }
    }

    fn get(&self, index: u64) -> Option<Plain<'a>> {
        let dense = usize::try_from(index).ok().and_then(|at| self.dense.get(at));
        dense.or_else(|| self.sparse.get(&index)).copied()
    }

    fn len(&self) -> u64 {
        (self.dense.len() + self.sparse.len()) as u64
    }
}

/// An instruction on its way: what it is called, and where it stands.
#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    at: usize,
}

impl Step {
    fn damaged(self) -> Error {
        Error::Damaged { name: self.name, at: self.at }
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: Limits) -> Self {
        let (stack, marks, containers) = (Vec::new(), Vec::new(), Vec::new());
        Self { input: Input::new(bytes), limits, stack, marks, memo: Memo::default(), containers }
    }

    pub(crate) fn run(mut self) -> Result<Pickle<'a>, Error> {
        if self.input.byte() != Ok(0x80) || !matches!(self.input.byte(), Ok(2..=5)) {
            return Err(Error::NotAPickle);
        }
        loop {
            let at = self.input.at;
            let code = self.input.byte()?;
            let (name, does) = of_code(code).ok_or(Error::Unknown { code, at })?;
            let step = Step { name, at };
            if does == Does::Stop {
                let root = self.pop(step)?;
                return Ok(Pickle { containers: self.containers, root });
            }
            self.step(does, step)?;
            if self.stack.len() > self.limits.stack {
                return Err(Error::TooMuch { what: "unfinished values", at });
            }
        }
    }

    /// One instruction: an exhaustive match, each arm a line or two.
    fn step(&mut self, does: Does, step: Step) -> Result<(), Error> {
        match does {
            Does::Stop | Does::Refused => return Err(Error::Refused { name: step.name, at: step.at }),
            Does::Nothing8 => drop(self.input.take(8)?),
            Does::Mark if self.marks.len() == self.limits.marks => {
                return Err(Error::TooMuch { what: "open containers", at: step.at });
            }
            Does::Mark => self.marks.push(self.stack.len()),
            Does::Pop => drop(self.pop(step)?),
            Does::PopMark => drop(self.since_mark(step)?),
            Does::Dup => self.stack.push(self.top(step)?),
            Does::None => self.stack.push(Plain::None),
            Does::True => self.stack.push(Plain::Bool(true)),
            Does::False => self.stack.push(Plain::Bool(false)),
            Does::Int(width) => {
                let number = self.input.number(width)?;
                // Four bytes have a sign, fewer have none.
                let value = if width == 4 { i64::from((number as u32).cast_signed()) } else { number as i64 };
                self.stack.push(Plain::Int(value));
            }
            Does::Long(width) => {
                let value = integer(self.input.counted(width)?).ok_or(Error::TooWide { at: step.at })?;
                self.stack.push(value);
            }
            Does::Float => {
                // The only number that is written with its highest byte first.
                let bits = self.input.number(8)?.swap_bytes();
                self.stack.push(Plain::Float(f64::from_bits(bits)));
            }
            Does::Text(width) => {
                let bytes = self.input.counted(width)?;
                // Python lets lone halves of surrogate pairs pass, which is no text elsewhere.
                self.stack.push(std::str::from_utf8(bytes).map_or(Plain::Bytes(bytes), Plain::Text));
            }
            Does::Bytes(width) => {
                let bytes = self.input.counted(width)?;
                self.stack.push(Plain::Bytes(bytes));
            }
            Does::EmptyList => self.push_container(Kind::List, Vec::new(), step)?,
            Does::EmptyTuple => self.push_container(Kind::Tuple, Vec::new(), step)?,
            Does::EmptyDict => self.push_container(Kind::Dict, Vec::new(), step)?,
            Does::EmptySet => self.push_container(Kind::Set, Vec::new(), step)?,
            Does::List => self.close(Kind::List, step)?,
            Does::Tuple => self.close(Kind::Tuple, step)?,
            Does::Dict => self.close(Kind::Dict, step)?,
            Does::FrozenSet => self.close(Kind::Set, step)?,
            Does::TupleOf(count) => {
                let items = self.pop_many(count, step)?;
                self.push_container(Kind::Tuple, items, step)?;
            }
            Does::Append => {
                let items = self.pop_many(1, step)?;
                self.extend(Kind::List, items, step)?;
            }
            Does::SetItem => {
                let items = self.pop_many(2, step)?;
                self.extend(Kind::Dict, items, step)?;
            }
            Does::Appends => self.extend_since_mark(Kind::List, step)?,
            Does::SetItems => self.extend_since_mark(Kind::Dict, step)?,
            Does::AddItems => self.extend_since_mark(Kind::Set, step)?,
            Does::Put(width) => {
                let index = self.input.number(width)?;
                self.memo.put(index, self.top(step)?);
            }
            Does::Memoize => self.memo.put(self.memo.len(), self.top(step)?),
            Does::Get(width) => {
                let index = self.input.number(width)?;
                self.stack.push(self.memo.get(index).ok_or_else(|| step.damaged())?);
            }
        }
        Ok(())
    }

    /// The lowest place on the stack that is not before the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn top(&self, step: Step) -> Result<Plain<'a>, Error> {
        self.stack[self.floor()..].last().copied().ok_or_else(|| step.damaged())
    }

    fn pop(&mut self, step: Step) -> Result<Plain<'a>, Error> {
        let top = self.top(step)?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_many(&mut self, count: usize, step: Step) -> Result<Vec<Plain<'a>>, Error> {
        let first = self.stack.len().checked_sub(count).filter(|first| *first >= self.floor());
        Ok(self.stack.split_off(first.ok_or_else(|| step.damaged())?))
    }

    /// Takes what is on the stack since the last mark, and the mark.
    fn since_mark(&mut self, step: Step) -> Result<Vec<Plain<'a>>, Error> {
        let mark = self.marks.pop().ok_or_else(|| step.damaged())?;
        Ok(self.stack.split_off(mark))
    }

    fn close(&mut self, kind: Kind, step: Step) -> Result<(), Error> {
        let items = self.since_mark(step)?;
        self.push_container(kind, items, step)
    }

    fn push_container(&mut self, kind: Kind, items: Vec<Plain<'a>>, step: Step) -> Result<(), Error> {
        if kind == Kind::Dict && !items.len().is_multiple_of(2) {
            return Err(step.damaged());
        }
        let number = u32::try_from(self.containers.len()).ok().filter(|_| self.containers.len() < self.limits.containers);
        let id = ContainerId(number.ok_or(Error::TooMuch { what: "containers", at: step.at })?);
        self.containers.push(Container { kind, items });
        self.stack.push(Plain::Container(id));
        Ok(())
    }

    fn extend_since_mark(&mut self, kind: Kind, step: Step) -> Result<(), Error> {
        let items = self.since_mark(step)?;
        self.extend(kind, items, step)
    }

    /// Puts `items` into the container on top.
    fn extend(&mut self, kind: Kind, items: Vec<Plain<'a>>, step: Step) -> Result<(), Error> {
        let Plain::Container(id) = self.top(step)? else { return Err(step.damaged()) };
        let container = &mut self.containers[id.0 as usize];
        if container.kind != kind || (kind == Kind::Dict && !items.len().is_multiple_of(2)) {
            return Err(step.damaged());
        }
        container.items.extend(items);
        Ok(())
    }
}

/// The integer that `bytes` are, lowest first, with a sign.
fn integer<'a>(bytes: &[u8]) -> Option<Plain<'a>> {
    let is_negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let rest = if is_negative { 0xff } else { 0 };
    let mut low = [rest; 8];
    let (own, beyond) = bytes.split_at(bytes.len().min(8));
    low[..own.len()].copy_from_slice(own);
    if beyond.iter().any(|byte| *byte != rest) {
        return None;
    }
    let number = i64::from_le_bytes(low);
    match (is_negative, number) {
        // The ninth byte is there for the sign alone.
        (false, ..0) => Some(Plain::Wide(u64::from_le_bytes(low))),
        (true, 0..) => None,
        _ => Some(Plain::Int(number)),
    }
}
