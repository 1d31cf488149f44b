//! One rank's collectives, in columns.
//!
//! A job has millions of them, so each takes some 6 bytes: a rank does the same few operations in the same few groups, which are kept once,
//! and of the rest a [`Column`] keeps what cannot be foreseen. Nothing is rounded, sorted or left out.

use std::fmt;
use std::sync::Arc;

use rankscope_trace::SpanId;
use rustc_hash::FxHashMap;

use crate::column::Column;
use crate::{CollectiveStay, Kind, LocalCollective, Operation, Places, Sequence};

/// One rank's collectives, in an order that whoever makes them chooses.
#[derive(Clone, Default)]
pub struct Collectives {
    shapes: Shapes,
    /// By collective, the number of its shape.
    shape: Column,
    spans: Column,
    starts_ns: Column,
    stays_ns: Column,
    sequences: Column,
}

/// Some collectives in columns, but for what they do.
#[derive(Clone, Copy, Debug)]
pub struct StayColumns<'a> {
    /// The kernel or annotation of each.
    pub spans: &'a [SpanId],
    /// When the rank entered.
    pub starts_ns: &'a [i64],
    /// How long it stayed.
    pub stays_ns: &'a [i64],
    /// Sequence numbers within the communicator.
    pub sequences: &'a [Sequence],
}

impl Collectives {
    /// Adds one.
    #[inline]
    pub fn push(&mut self, stay: CollectiveStay<'_>) {
        let CollectiveStay { operation, span, start_ns, end_ns, group, sequence, peer } = stay;
        self.shape.push(self.shapes.number(operation, group, peer));
        self.spans.push(span.0.into());
        self.starts_ns.push(start_ns.cast_unsigned());
        self.stays_ns.push(end_ns.wrapping_sub(start_ns).cast_unsigned());
        self.sequences.push(sequence.stored());
    }

    /// Adds those of these `columns`, of which `shape` tells by its place what each one does, its group and its peer.
    ///
    /// # Panics
    /// If columns are not as long as each other.
    pub fn extend_by_columns<'a>(
        &mut self,
        columns: StayColumns<'_>,
        shape: impl Fn(usize) -> (&'a Arc<Operation>, u32, Option<u32>),
    ) {
        let StayColumns { spans, starts_ns, stays_ns, sequences } = columns;
        assert!([starts_ns.len(), stays_ns.len(), sequences.len()] == [spans.len(); 3], "columns are as long as each other");
        let shapes = &mut self.shapes;
        self.shape.extend((0..spans.len()).map(|at| {
            let (operation, group, peer) = shape(at);
            shapes.number(operation, group, peer)
        }));
        self.spans.extend(spans.iter().map(|span| span.0.into()));
        self.starts_ns.extend(starts_ns.iter().map(|ns| ns.cast_unsigned()));
        self.stays_ns.extend(stays_ns.iter().map(|ns| ns.cast_unsigned()));
        self.sequences.extend(sequences.iter().map(|sequence| sequence.stored()));
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The one numbered `at`.
    ///
    /// # Panics
    /// If there are not so many, as all questions about one of them do.
    #[inline]
    pub fn stay(&self, at: usize) -> CollectiveStay<'_> {
        let Shape { operation, group, peer } = self.shape_of(at);
        let start_ns = self.start_ns(at);
        let end_ns = start_ns.wrapping_add(self.stays_ns.get(at).cast_signed());
        let (span, sequence) = (self.span(at), self.sequence(at));
        CollectiveStay { operation, span, start_ns, end_ns, group: *group, sequence, peer: *peer }
    }

    /// When the rank entered the one numbered `at`.
    #[inline]
    pub fn start_ns(&self, at: usize) -> i64 {
        self.starts_ns.get(at).cast_signed()
    }

    /// When it entered and left it.
    #[inline]
    pub fn stamps_ns(&self, at: usize) -> (i64, i64) {
        let start_ns = self.start_ns(at);
        (start_ns, start_ns.wrapping_add(self.stays_ns.get(at).cast_signed()))
    }

    /// When the rank entered those at these `places`, and how long it stayed.
    ///
    /// # Panics
    /// If any is not there.
    pub fn gather(&self, places: &Places<'_>, starts_ns: &mut Vec<u64>, stays_ns: &mut Vec<u64>) {
        self.starts_ns.gather(places, starts_ns);
        self.stays_ns.gather(places, stays_ns);
    }

    /// Adds when the rank entered those at these `places`, and when it left. Where they follow each other nothing is there twice.
    ///
    /// # Panics
    /// If any is not there.
    pub fn add_stamps(&self, places: &Places<'_>, entered_ns: &mut Vec<i64>, left_ns: &mut Vec<i64>) {
        let (mut starts_ns, mut stays_ns) = ([0; STAMPS], [0; STAMPS]);
        let mut add = |starts_ns: &[u64], stays_ns: &[u64]| {
            entered_ns.extend(starts_ns.iter().map(|start_ns| start_ns.cast_signed()));
            left_ns.extend(
                starts_ns.iter().zip(stays_ns).map(|(start_ns, stay_ns)| start_ns.wrapping_add(*stay_ns).cast_signed()),
            );
        };
        let Places::Following(range) = places else {
            let (mut starts_ns, mut stays_ns) = (Vec::new(), Vec::new());
            self.gather(places, &mut starts_ns, &mut stays_ns);
            return add(&starts_ns, &stays_ns);
        };
        let (mut from, mut left) = (range.start, range.len());
        while left > 0 {
            // As far as columns are in one piece.
            let count = (STAMPS - from % STAMPS).min(left);
            self.starts_ns.read(from, &mut starts_ns[..count]);
            self.stays_ns.read(from, &mut stays_ns[..count]);
            add(&starts_ns[..count], &stays_ns[..count]);
            (from, left) = (from + count, left - count);
        }
    }

    /// Whether any of them may do something of such a kind. One that does is not looked for among them.
    pub fn may_have(&self, is: impl Fn(Kind) -> bool) -> bool {
        self.shapes.list.iter().any(|shape| is(shape.operation.kind))
    }

    /// Whether both have the same sequence numbers, kept in the same bytes; others may have the same, too.
    pub(crate) fn are_numbered_as(&self, other: &Self) -> bool {
        self.sequences.is_kept_as(&other.sequences)
    }

    /// The group that all of them are of, if that is one.
    pub(crate) fn only_group(&self) -> Option<u32> {
        let first = self.shapes.list.first()?.group;
        self.shapes.list.iter().all(|shape| shape.group == first).then_some(first)
    }

    /// How long it stayed.
    #[inline]
    pub fn stay_ns(&self, at: usize) -> i64 {
        self.stays_ns.get(at).cast_signed()
    }

    /// The kernel or annotation that it is.
    pub fn span(&self, at: usize) -> SpanId {
        SpanId(self.spans.get(at) as u32)
    }

    /// Its sequence number.
    #[inline]
    pub fn sequence(&self, at: usize) -> Sequence {
        Sequence::from_stored(self.sequences.get(at))
    }

    /// What it does.
    #[inline]
    pub fn operation(&self, at: usize) -> &Arc<Operation> {
        &self.shape_of(at).operation
    }

    /// Index of its process group in the rank's list.
    #[inline]
    pub fn group(&self, at: usize) -> u32 {
        self.shape_of(at).group
    }

    /// The other rank or the root, where it has one and that is recorded.
    pub fn peer(&self, at: usize) -> Option<u32> {
        self.shape_of(at).peer
    }

    /// The first one.
    pub fn first(&self) -> Option<CollectiveStay<'_>> {
        (!self.is_empty()).then(|| self.stay(0))
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CollectiveStay<'_>> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|at| self.stay(at))
    }

    /// All of them, to be changed.
    pub fn to_rows(&self) -> Vec<LocalCollective> {
        self.iter().map(CollectiveStay::to_local).collect()
    }

    /// Operations that are different, each once, as far as they are shared; with how many collectives do each.
    pub fn operations(&self) -> Vec<(&Arc<Operation>, usize)> {
        if let [only] = self.shapes.list.as_slice() {
            return Vec::from_iter((!self.is_empty()).then_some((&only.operation, self.len())));
        }
        let mut counts = vec![0; self.shapes.list.len()];
        (0..self.len()).for_each(|at| counts[self.shape.get(at) as usize] += 1);
        self.shapes.list.iter().map(|shape| &shape.operation).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    #[inline]
    fn shape_of(&self, at: usize) -> &Shape {
        match self.shapes.list.as_slice() {
            [only] if at < self.len() => only,
            shapes => &shapes[self.shape.get(at) as usize],
        }
    }

    /// Lets go of room for more. More may be added all the same.
    pub fn shrink_to_fit(&mut self) {
        self.shape.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.starts_ns.shrink_to_fit();
        self.stays_ns.shrink_to_fit();
        self.sequences.shrink_to_fit();
    }
}

impl Extend<LocalCollective> for Collectives {
    fn extend<I: IntoIterator<Item = LocalCollective>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row.as_stay()));
        self.shrink_to_fit();
    }
}

impl FromIterator<LocalCollective> for Collectives {
    fn from_iter<I: IntoIterator<Item = LocalCollective>>(rows: I) -> Self {
        let mut collectives = Self::default();
        collectives.extend(rows);
        collectives
    }
}

impl From<Vec<LocalCollective>> for Collectives {
    fn from(rows: Vec<LocalCollective>) -> Self {
        rows.into_iter().collect()
    }
}

/// Stamps that are read before anything is made of them.
const STAMPS: usize = 256;

/// The same collectives in the same order, however they are kept.
impl PartialEq for Collectives {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Collectives {}

impl fmt::Debug for Collectives {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

/// What collectives of a rank have in common: what they do, in which group and with whom.
#[derive(Clone)]
struct Shape {
    operation: Arc<Operation>,
    group: u32,
    peer: Option<u32>,
}

/// Shapes, each once as far as operations are shared.
#[derive(Clone, Default)]
struct Shapes {
    list: Vec<Shape>,
    /// By the place of the operation, which stays as long as the list holds it.
    known: FxHashMap<(usize, u32, Option<u32>), u64>,
    last: u64,
}

impl Shapes {
    #[inline]
    fn number(&mut self, operation: &Arc<Operation>, group: u32, peer: Option<u32>) -> u64 {
        let is_same = |shape: &Shape| Arc::ptr_eq(&shape.operation, operation) && shape.group == group && shape.peer == peer;
        if !self.list.get(self.last as usize).is_some_and(is_same) {
            let key = (Arc::as_ptr(operation) as usize, group, peer);
            self.last = *self.known.entry(key).or_insert_with(|| {
                self.list.push(Shape { operation: Arc::clone(operation), group, peer });
                self.list.len() as u64 - 1
            });
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamp() -> impl Strategy<Value = i64> {
        prop_oneof![4 => 1_790_000_000_000_000_000i64..1_790_000_002_000_000_000, 1 => any::<i64>()]
    }

    prop_compose! {
        fn row(operations: Vec<Arc<Operation>>)(
            operation in prop::sample::select(operations), start_ns in stamp(), long_ns in prop_oneof![4 => 0i64..1_000_000, 1 => any::<i64>()],
            span in any::<u32>(), group in 0u32..3, sequence in prop::option::of(prop_oneof![0u64..9, any::<u64>()]),
            peer in prop::option::of(0u32..3)
        ) -> LocalCollective {
            let stay = LocalCollective::new(SpanId(span), start_ns, start_ns.wrapping_add(long_ns), operation);
            LocalCollective { group, sequence: Sequence::of(sequence), peer, ..stay }
        }
    }

    fn rows() -> impl Strategy<Value = Vec<LocalCollective>> {
        let operations = [Kind::AllReduce, Kind::Send, Kind::AllReduce].map(|kind| Arc::new(Operation::of(kind)));
        prop::collection::vec(row(operations.to_vec()), 0..600)
    }

    proptest! {
        #[test]
        fn rows_come_back_and_are_told_one_by_one(rows in rows()) {
            let columns = Collectives::from(rows.clone());
            prop_assert_eq!(columns.to_rows(), rows.clone());
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(columns.stamps_ns(at), (row.start_ns, row.end_ns));
                prop_assert_eq!(columns.stay_ns(at), row.end_ns.wrapping_sub(row.start_ns));
                prop_assert_eq!((columns.span(at), columns.sequence(at), columns.group(at)), (row.span, row.sequence, row.group));
                prop_assert!(Arc::ptr_eq(columns.operation(at), &row.operation) && columns.peer(at) == row.peer);
            }
            for every in [1, 3] {
                let (mut entered_ns, mut left_ns) = (vec![7], vec![8]);
                let places: Vec<u64> = (0..rows.len() as u64).skip(rows.len() / 5).step_by(every).collect();
                columns.add_stamps(&Places::of(&places), &mut entered_ns, &mut left_ns);
                let own = places.iter().map(|at| columns.stamps_ns(*at as usize));
                prop_assert_eq!(entered_ns.into_iter().zip(left_ns).collect::<Vec<_>>(), std::iter::once((7, 8)).chain(own).collect::<Vec<_>>());
            }
            prop_assert_eq!(columns.operations().iter().map(|(_, count)| count).sum::<usize>(), rows.len());
            prop_assert_eq!(&rows.iter().cloned().collect::<Collectives>(), &columns);
            let (pushed, added) = rows.split_at(rows.len() / 3);
            let mut at_once = Collectives::from(pushed.to_vec());
            let of_added = StayColumns {
                spans: &added.iter().map(|row| row.span).collect::<Vec<_>>(),
                starts_ns: &added.iter().map(|row| row.start_ns).collect::<Vec<_>>(),
                stays_ns: &added.iter().map(|row| row.end_ns.wrapping_sub(row.start_ns)).collect::<Vec<_>>(),
                sequences: &added.iter().map(|row| row.sequence).collect::<Vec<_>>(),
            };
            at_once.extend_by_columns(of_added, |at| (&added[at].operation, added[at].group, added[at].peer));
            prop_assert_eq!(at_once.to_rows(), rows.clone());
            let mut twice = columns.clone();
            twice.extend(rows.clone());
            prop_assert_eq!(twice.to_rows(), [rows.clone(), rows.clone()].concat());
            prop_assert_eq!(twice == columns, rows.is_empty());
        }
    }

    #[test]
    fn a_thousand_shapes_and_one_long_stay_are_told_apart() {
        let operation = Arc::new(Operation::of(Kind::Send));
        let row = |at: u32| {
            let stay = LocalCollective::new(SpanId(at), i64::from(at), 10 + i64::from(at), Arc::clone(&operation));
            LocalCollective { peer: Some(at), ..stay }
        };
        let mut rows: Vec<LocalCollective> = (0..70_000).map(row).collect();
        rows[69_000].end_ns = i64::MAX;
        assert_eq!(Collectives::from(rows.clone()).to_rows(), rows);
    }
}
