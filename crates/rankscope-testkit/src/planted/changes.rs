//! The changes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::PlantedJob;
use super::events::{
    Launched, category, collectives, end_ns, is_collective, is_work, launched, name, of, of_mut, start_ns, us,
};
use super::warp::Insertion;

/// Which work of a rank is meant.
#[derive(Clone, Copy, Debug)]
pub enum Device<'a> {
    /// What an operator of this name launches.
    Operator(&'a str),
    /// What an operator of this name launches when it is called with these shapes, as JSON writes them.
    Shapes(&'a str, &'a str),
    /// Kernels, copies and fills of this name.
    Named(&'a str),
}

impl PlantedJob {
    /// Operators of `rank` that launch work other than collectives, with their shapes: the longest in all first.
    pub fn operators(&self, rank: usize) -> Vec<(String, String)> {
        let trace = &self.ranks[rank];
        let events = of(trace);
        let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
        for one in
            launched(trace).iter().filter(|one| category(&events[one.work]) == "kernel" && !is_collective(&events[one.work]))
        {
            let operator = &events[one.operator];
            let shapes = operator["args"]["Input Dims"].to_string();
            *sums.entry((name(operator).to_owned(), shapes)).or_default() +=
                end_ns(&events[one.work]) - start_ns(&events[one.work]);
        }
        let mut sorted: Vec<_> = sums.into_iter().collect();
        sorted.sort_by_key(|(key, sum)| (std::cmp::Reverse(*sum), key.clone()));
        sorted.into_iter().map(|(key, _)| key).collect()
    }

    /// `device` takes `factor` times as long on `rank`.
    ///
    /// # Panics
    /// If there is no such work.
    pub fn slow(&mut self, rank: usize, device: Device<'_>, factor: f64) {
        let found = work(&self.ranks[rank], device);
        assert!(!found.is_empty(), "{device:?} is not in the trace");
        self.insert(rank, &stretched(&self.ranks[rank], &found, factor));
    }

    /// `device` takes `factor` times as long on all ranks.
    pub fn slow_on_all(&mut self, device: Device<'_>, factor: f64) {
        self.insert_in_all(|trace| stretched(trace, &work(trace, device), factor));
    }

    /// The kernels of `device` on `ranks` get another name.
    pub fn rename(&mut self, ranks: &[usize], device: Device<'_>, to: &str) {
        for rank in ranks {
            let found = work(&self.ranks[*rank], device);
            assert!(!found.is_empty(), "{device:?} is not in the trace");
            let events = of_mut(&mut self.ranks[*rank]);
            found.into_iter().for_each(|index| events[index]["name"] = to.into());
        }
    }

    /// Collectives that put in `elements` put in twice as many on all ranks, and take twice as long.
    ///
    /// # Panics
    /// If there is no such collective.
    pub fn double_collective(&mut self, elements: u64) {
        let is_meant = |event: &Value| event["args"]["In msg nelems"].as_u64() == Some(elements);
        self.insert_in_all(|trace| {
            let found: Vec<usize> = collectives(trace).into_iter().filter(|index| is_meant(&of(trace)[*index])).collect();
            assert!(!found.is_empty(), "no collective of {elements} elements");
            stretched(trace, &found, 2.0)
        });
        for rank in &mut self.ranks {
            for event in of_mut(rank).iter_mut().filter(|event| is_meant(event)) {
                for key in ["In msg nelems", "Out msg nelems"] {
                    event["args"][key] = event["args"][key].as_u64().map_or(Value::Null, |count| (2 * count).into());
                }
            }
        }
    }

    /// The mark of `step` is lost on `ranks`.
    pub fn lose_mark(&mut self, ranks: &[usize], step: i64) {
        let mark = format!("ProfilerStep#{step}");
        for rank in ranks {
            let events = of_mut(&mut self.ranks[*rank]);
            let before = events.len();
            events.retain(|event| name(event) != mark);
            assert!(events.len() < before, "{mark} is not in the trace");
        }
    }

    /// Each `operator` of `rank` is called with `to` in place of `from`.
    pub fn change_shapes(&mut self, ranks: &[usize], operator: &str, from: &str, to: &str) {
        let to: Value = serde_json::from_str(to).expect("shapes are JSON");
        for rank in ranks {
            for event in of_mut(&mut self.ranks[*rank]).iter_mut() {
                if category(event) == "cpu_op" && name(event) == operator && has_shapes(event, from) {
                    event["args"]["Input Dims"] = to.clone();
                }
            }
        }
    }

    /// After each `anchor` of `rank` another operator runs, called `operator`, whose kernel takes `length_ns`.
    pub fn add_operator(&mut self, rank: usize, anchor: &str, operator: &str, length_ns: i64) {
        const HOST_NS: i64 = 4_000;
        let trace = &self.ranks[rank];
        let events = of(trace);
        let mut calls: BTreeMap<usize, Launched> = BTreeMap::new();
        for one in launched(trace).into_iter().filter(|one| name(&events[one.operator]) == anchor) {
            calls.insert(one.operator, one);
        }
        assert!(!calls.is_empty(), "{anchor} is not in the trace");
        let (mut insertions, mut copies) = (Vec::new(), Vec::new());
        for (one, id) in calls.values().zip(900_000_001_i64..) {
            let host_ns = end_ns(&events[one.operator]);
            let device_ns = end_ns(&events[one.work]).max(host_ns);
            insertions.push(Insertion { at_ns: host_ns, length_ns: HOST_NS, of: None });
            insertions.push(Insertion { at_ns: device_ns, length_ns, of: None });
            copies.push((host_ns, copied(&events[one.operator], operator, id, host_ns + 500, 3_000)));
            let launch = name(&events[one.launch]).to_owned();
            copies.push((host_ns, copied(&events[one.launch], &launch, id, host_ns + 1_000, 1_000)));
            copies.push((device_ns, copied(&events[one.work], "planted_kernel(float*)", id, device_ns, length_ns)));
        }
        // What is copied comes later by all that is put in before it, and by the host's own time where both are at one instant.
        for (at_ns, copy) in &mut copies {
            let is_before = |insertion: &&Insertion| {
                insertion.at_ns < *at_ns || (insertion.at_ns == *at_ns && is_work(copy) && insertion.length_ns == HOST_NS)
            };
            let moved: i64 = insertions.iter().filter(is_before).map(|insertion| insertion.length_ns).sum();
            copy["ts"] = us(start_ns(copy) + moved);
        }
        self.insert(rank, &insertions);
        of_mut(&mut self.ranks[rank]).extend(copies.into_iter().map(|(_, copy)| copy));
    }

    /// The host of `rank` comes `length_ns` later with `count` of its launches, spread over the trace, that find the device idle.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn delay_launches(&mut self, rank: usize, count: usize, length_ns: i64) {
        let trace = &self.ranks[rank];
        let events = of(trace);
        let mut all: Vec<(i64, i64, i64)> = launched(trace)
            .iter()
            .map(|one| (start_ns(&events[one.work]), end_ns(&events[one.work]), start_ns(&events[one.launch])))
            .collect();
        all.sort_unstable();
        let mut busy_until = i64::MIN;
        let mut late = Vec::new();
        for (_, end_ns, launch_ns) in all {
            if busy_until != i64::MIN && launch_ns > busy_until {
                late.push(launch_ns);
            }
            busy_until = busy_until.max(end_ns);
        }
        assert!(late.len() >= count, "only {} launches find the device idle", late.len());
        let chosen = (0..count).map(|index| late[(2 * index + 1) * late.len() / (2 * count)]);
        let insertions: Vec<Insertion> = chosen.map(|at_ns| Insertion { at_ns, length_ns, of: None }).collect();
        self.insert(rank, &insertions);
    }
}

/// The work that `device` means, without collectives.
fn work(trace: &Value, device: Device<'_>) -> Vec<usize> {
    let events = of(trace);
    let of_operator = |operator: &str, shapes: Option<&str>| {
        let is_meant = |event: &Value| name(event) == operator && shapes.is_none_or(|shapes| has_shapes(event, shapes));
        launched(trace).into_iter().filter(|one| is_meant(&events[one.operator])).map(|one| one.work).collect::<Vec<_>>()
    };
    let found = match device {
        Device::Operator(operator) => of_operator(operator, None),
        Device::Shapes(operator, shapes) => of_operator(operator, Some(shapes)),
        Device::Named(own) => {
            (0..events.len()).filter(|index| is_work(&events[*index]) && name(&events[*index]) == own).collect()
        }
    };
    found.into_iter().filter(|index| !is_collective(&events[*index])).collect()
}

fn has_shapes(operator: &Value, shapes: &str) -> bool {
    let own = operator["args"]["Input Dims"].to_string();
    own == shapes
}

fn stretched(trace: &Value, work: &[usize], factor: f64) -> Vec<Insertion> {
    let insertion = |index: &usize| {
        let event = &of(trace)[*index];
        let length_ns = ((end_ns(event) - start_ns(event)) as f64 * (factor - 1.0)).round() as i64;
        Insertion { at_ns: end_ns(event), length_ns, of: Some(*index) }
    };
    work.iter().map(insertion).collect()
}

fn copied(event: &Value, name: &str, id: i64, start_ns: i64, length_ns: i64) -> Value {
    let mut copy = event.clone();
    copy["name"] = name.into();
    copy["ts"] = us(start_ns);
    copy["dur"] = us(length_ns);
    let args = &mut copy["args"];
    for key in ["External id", "correlation"] {
        if args.get(key).is_some() {
            args[key] = id.into();
        }
    }
    copy
}
