//! The plane `/rankscope:clock`, as an XSpace of its own.
//!
//! ```text
//! plane /rankscope:clock   stats schema, run_id, rank, world_size, boot_id
//!   line Clock Anchors     an event "Anchor" each, at the wall clock's time
//!     event                stats wall_ns, raw_ns, width_ns
//! ```
//! What a line counts from is moved by XLA when it completes the trace, statistics are not: an event's place is its time on the trace's
//! own clock, whatever that is, and `raw_ns` what the raw clock showed there.

use crate::wire::Message;
use crate::{About, Anchor};

/// The layout of what is in the plane.
const SCHEMA: i64 = 1;

const PLANE: &str = "/rankscope:clock";
const LINE: &str = "Clock Anchors";
const EVENT: &str = "Anchor";

/// Names of statistics; the id of one is its place, counted from 1.
const STATS: [&str; 8] = ["schema", "run_id", "rank", "world_size", "boot_id", "wall_ns", "raw_ns", "width_ns"];

/// The bytes of an `XSpace` that holds the plane and nothing else.
pub fn encode(about: &About, anchors: &[Anchor]) -> Vec<u8> {
    let mut space = Message::default();
    space.message(1, |plane| {
        plane.text(2, PLANE);
        if let Some(first) = anchors.first() {
            plane.message(3, |line| encode_line(line, first.wall_ns, anchors));
        }
        plane.message(4, |entry| {
            entry.varint(1, 1).message(2, |event| {
                event.varint(1, 1).text(2, EVENT);
            });
        });
        for (id, name) in (1..).zip(STATS) {
            plane.message(5, |entry| {
                entry.varint(1, id).message(2, |stat| {
                    stat.varint(1, id).text(2, name);
                });
            });
        }
        encode_about(plane, about);
    });
    space.into_bytes()
}

fn encode_line(line: &mut Message, origin_ns: i64, anchors: &[Anchor]) {
    line.varint(1, 1).text(2, LINE).int(3, origin_ns);
    for anchor in anchors {
        // Offsets reach 106 days; without one that lies farther out nothing is wrong with the others.
        let offset_ps = anchor.wall_ns.checked_sub(origin_ns).and_then(|ns| ns.checked_mul(1000));
        let Some(offset_ps) = offset_ps else { continue };
        line.message(4, |event| {
            event.varint(1, 1).int(2, offset_ps);
            number(event, 4, "wall_ns", anchor.wall_ns);
            number(event, 4, "raw_ns", anchor.raw_ns);
            number(event, 4, "width_ns", i64::try_from(anchor.width_ns).unwrap_or(i64::MAX));
        });
    }
}

fn encode_about(plane: &mut Message, about: &About) {
    number(plane, 6, "schema", SCHEMA);
    for (key, text) in [("run_id", &about.run_id), ("boot_id", &about.boot_id)] {
        if let Some(text) = text {
            plane.message(6, |stat| {
                stat.varint(1, id(key)).text(5, text);
            });
        }
    }
    for (key, value) in [("rank", about.rank), ("world_size", about.world_size)] {
        if let Some(value) = value {
            number(plane, 6, key, value.into());
        }
    }
}

fn number(to: &mut Message, field: u32, key: &str, value: i64) {
    to.message(field, |stat| {
        stat.varint(1, id(key)).int(4, value);
    });
}

/// The id of the statistic `key`.
fn id(key: &str) -> u64 {
    STATS.iter().position(|name| *name == key).map_or(0, |at| at as u64 + 1)
}
