//! A live page as the dump that it is: the last calls of its rank, in groups whose ranks are counted and not listed.

use rankscope_recording::{LivePage, PageArrival, PageOp};

use crate::call::{Call, Shape, ShapeId};
use crate::dump::Dump;

impl Dump {
    /// What `page` tells.
    pub(crate) fn of_page(page: &LivePage) -> Self {
        let mut dump = Self::default();
        // A page may have one name twice, cut where it was too long.
        let groups: Vec<u32> = page.groups.iter().map(|group| dump.group(&group.name, "")).collect();
        dump.sizes = groups.iter().copied().zip(page.groups.iter().map(|group| group.members)).collect();
        for (record, arrival) in (0..).zip(&page.arrivals) {
            let Some(group) = groups.get(arrival.group) else { continue };
            let shape = ShapeId(dump.shapes.place(shape(arrival)));
            dump.calls.push(Call {
                group: *group,
                sequence: arrival.sequence,
                shape,
                created_ns: page.state.wall_ns(arrival.arrived_ns),
                record,
                message: None,
                done: arrival.left_ns != 0,
                site: None,
            });
        }
        dump
    }
}

/// What has to be the same on every rank. How much is moved is compared where ranks surely count it alike.
fn shape(arrival: &PageArrival) -> Shape {
    let is_counted_alike = matches!(arrival.op, PageOp::AllReduce | PageOp::AllGather | PageOp::ReduceScatter);
    let inputs = is_counted_alike.then(|| i64::try_from(arrival.bytes).unwrap_or(i64::MAX));
    Shape { operation: arrival.op.name().into(), inputs: inputs.into_iter().collect(), ..Shape::default() }
}
