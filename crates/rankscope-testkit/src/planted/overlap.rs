//! Overlap that is lost: kernels that ran beside a collective wait for its end, as on one stream.
//!
//! The collective takes as long as before; the kernels follow it one after the other, and all that comes later does so by as much as
//! they then end later than anything did.

use serde_json::Value;

use super::PlantedJob;
use super::events::{category, collectives, end_ns, is_collective, of, of_mut, start_ns, us};
use super::warp::Insertion;

/// A collective that no kernel may run beside any more.
struct Alone {
    /// The kernels that began during it, and where each begins now, before anything later is put in.
    moved: Vec<(usize, i64)>,
    put_in: Insertion,
}

impl PlantedJob {
    /// Kernels that ran beside collectives which put in `elements` run after them on `ranks`, and the other ranks wait for those.
    ///
    /// # Panics
    /// If no kernel runs beside such a collective.
    pub fn lose_overlap(&mut self, ranks: &[usize], elements: u64) {
        let is_everywhere = ranks.len() == self.ranks.len();
        let found: Vec<Vec<Alone>> = ranks.iter().map(|rank| alone(&self.ranks[*rank], elements)).collect();
        assert!(found.iter().all(|found| !found.is_empty()), "nothing runs beside a collective of {elements} elements");
        for (rank, found) in ranks.iter().zip(found) {
            // What is put in after the kernels moves none of them; what was put in for an earlier collective moves both.
            let mut before_ns = 0;
            let mut starts = Vec::new();
            for one in &found {
                starts.extend(one.moved.iter().map(|(index, start_ns)| (*index, start_ns + before_ns)));
                before_ns += one.put_in.length_ns;
            }
            let insertions: Vec<Insertion> = found.iter().map(|one| one.put_in).collect();
            if is_everywhere {
                self.insert_alone(*rank, &insertions);
            } else {
                self.insert(*rank, &insertions);
            }
            let events = of_mut(&mut self.ranks[*rank]);
            starts.into_iter().for_each(|(index, start_ns)| events[index]["ts"] = us(start_ns));
        }
    }
}

/// The collectives of `elements` beside which kernels begin, in order of time.
fn alone(trace: &Value, elements: u64) -> Vec<Alone> {
    let events = of(trace);
    let is_meant = |index: &usize| events[*index]["args"]["In msg nelems"].as_u64() == Some(elements);
    collectives(trace).into_iter().filter(is_meant).filter_map(|index| one_alone(events, &events[index])).collect()
}

fn one_alone(events: &[Value], collective: &Value) -> Option<Alone> {
    let (from_ns, until_ns) = (start_ns(collective), end_ns(collective));
    let is_beside =
        |event: &Value| category(event) == "kernel" && !is_collective(event) && (from_ns..until_ns).contains(&start_ns(event));
    let mut beside: Vec<usize> = (0..events.len()).filter(|index| is_beside(&events[*index])).collect();
    beside.sort_by_key(|index| start_ns(&events[*index]));
    let last_end_ns = beside.iter().map(|index| end_ns(&events[*index])).max()?.max(until_ns);
    let mut at_ns = until_ns;
    let mut moved = Vec::new();
    for index in beside {
        moved.push((index, at_ns));
        at_ns += end_ns(&events[index]) - start_ns(&events[index]);
    }
    let put_in = Insertion { at_ns: last_end_ns, length_ns: (at_ns - last_end_ns).max(0), of: None };
    Some(Alone { moved, put_in })
}
