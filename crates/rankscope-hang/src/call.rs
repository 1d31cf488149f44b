//! A call to a communication library, and what of it has to be the same on every rank.

use rustc_hash::FxHashMap;

/// How a collective of one rank has to fit those of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The operation, without the library's name: `all_reduce`.
    pub(crate) operation: Box<str>,
    /// Elements of each input and of each output, or bytes where those were recorded; empty where neither was.
    pub(crate) inputs: Box<[i64]>,
    pub(crate) outputs: Box<[i64]>,
    /// Types of the elements of inputs.
    pub(crate) dtypes: Box<[Box<str>]>,
}

/// A shape of one dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShapeId(pub(crate) u32);

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Way {
    Send,
    Receive,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The group, as the dump numbers it.
    pub(crate) group: u32,
    /// The number of the collective in its group; 0 for messages.
    pub(crate) sequence: u64,
    pub(crate) shape: ShapeId,
    pub(crate) created_ns: i64,
    /// Its place among the calls of its recorder, where times are the same.
    pub(crate) record: u64,
    /// A message, with its other end as a place in the group.
    pub(crate) message: Option<(Way, u32)>,
    pub(crate) done: bool,
    /// Where in the user's program, as the dump numbers it.
    pub(crate) site: Option<u32>,
}

impl Call {
    /// What orders the calls of a rank: when they were made, and of those of one time which came first.
    pub(crate) const fn age(&self) -> (i64, u64) {
        (self.created_ns, self.record)
    }
}

/// Values that repeat, each once.
#[derive(Debug)]
pub(crate) struct Once<T> {
    pub(crate) list: Vec<T>,
    places: FxHashMap<T, u32>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Once<T> {
    /// The place of `value`.
    pub(crate) fn place(&mut self, value: T) -> u32 {
        if let Some(place) = self.places.get(&value) {
            return *place;
        }
        // A dump has fewer calls than that.
        let place = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(value.clone());
        self.places.insert(value, place);
        place
    }
}

/// The operation that `profiling_name` is of, `all_reduce` of `nccl:all_reduce`, and the message that it is: `nccl:send 0->1`, where a
/// rank that is not told is a question mark.
pub(crate) fn operation(profiling_name: &str) -> (&str, Option<(Way, u32)>) {
    let name = profiling_name.split_once(':').map_or(profiling_name, |(_, name)| name).trim();
    let Some((operation, ends)) = name.split_once(' ') else { return (name, None) };
    let end = |text: &str| text.trim().parse().ok();
    let message = match (ends.split_once("->"), ends.split_once("<-")) {
        (Some((_, to)), _) => end(to).map(|to| (Way::Send, to)),
        (_, Some((_, from))) => end(from).map(|from| (Way::Receive, from)),
        _ => None,
    };
    (operation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_calls_tell_operations_and_the_ends_of_messages() {
        for (name, expected) in [
            ("nccl:all_reduce", ("all_reduce", None)),
            ("barrier", ("barrier", None)),
            ("nccl:send 0->1", ("send", Some((Way::Send, 1)))),
            ("gloo:recv 1<-0", ("recv", Some((Way::Receive, 0)))),
            ("gloo:recv 1<-?", ("recv", None)),
            ("", ("", None)),
        ] {
            assert_eq!(operation(name), expected, "{name}");
        }
    }
}
