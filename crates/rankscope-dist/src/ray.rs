//! Ray: one script for the cluster's own Python, which starts the commands as tasks.

use serde::Serialize;

use crate::{FINAL_CODES, RETRIES, Tasks};

/// How a cluster is met, and what is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ray {
    /// The address of its head, or `auto` for the one that this machine belongs to, or `local` for one that is made here.
    pub address: String,
    /// How many tasks; none for as many as suit the cluster.
    pub shards: Option<u32>,
    /// Whether to merge at the end.
    pub merge: bool,
    /// Whether progress is told as lines of JSON.
    pub json: bool,
}

const SCRIPT: &str = include_str!("map_on_ray.py");

#[derive(Serialize)]
struct Wanted<'a> {
    address: &'a str,
    map: &'a [String],
    merge: &'a [String],
    inputs: usize,
    shards: Option<u32>,
    memory_bytes: u64,
    retries: u32,
    final_codes: [u8; 3],
    json: bool,
}

/// A program in Python that maps and merges, and ends as those did.
pub fn ray(tasks: &Tasks, ray: &Ray) -> String {
    let wanted = Wanted {
        address: &ray.address,
        map: &tasks.map,
        merge: if ray.merge { &tasks.merge } else { &[] },
        inputs: tasks.inputs,
        shards: ray.shards,
        memory_bytes: tasks.memory_bytes,
        retries: RETRIES,
        final_codes: FINAL_CODES,
        json: ray.json,
    };
    // Text and numbers: nothing in it that JSON cannot hold.
    let wanted = serde_json::to_string(&wanted).unwrap_or_default();
    // What JSON quotes, Python reads.
    let literal = serde_json::Value::from(wanted);
    format!("{SCRIPT}\n\nsys.exit(main(json.loads({literal})))\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn what_is_wanted_is_one_literal_at_the_end() {
        let mut tasks = example();
        tasks.map.push("a \"b\"\\\n\u{e9}".to_owned());
        let script = ray(&tasks, &Ray { address: "auto".to_owned(), shards: None, merge: false, json: true });
        let last = script.lines().last().unwrap();
        let literal = last.strip_prefix("sys.exit(main(json.loads(").unwrap().strip_suffix(")))").unwrap();
        let wanted: String = serde_json::from_str(literal).unwrap();
        let wanted: serde_json::Value = serde_json::from_str(&wanted).unwrap();
        assert_eq!(wanted["map"][6], "a \"b\"\\\n\u{e9}");
        assert_eq!((&wanted["merge"], &wanted["retries"]), (&serde_json::json!([]), &3.into()));
    }
}
