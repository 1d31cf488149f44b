//! What the planes of several nodes are called in one file.
//!
//! Viewers draw `/host:CPU` and `/device:GPU:<n>` and little else, so the origin of this scheme dresses everything as one of
//! those and tells nodes apart by number:
//!
//! | plane of node k | becomes |
//! |---|---|
//! | `/host:CPU`, k = 0 | `/host:CPU`, its lines `/node:0/...` |
//! | `/host:CPU`, k > 0 | `/device:GPU:<10000 k>` |
//! | `/device:GPU:<n>` | `/device:GPU:<100 + 64 k + n>` |
//! | any other, the i-th of its file | `/device:GPU:<50000 + 100 k + i>_misc_<name>` |
//!
//! The number is also the plane's id; ids of lines grow by 1,000,000 k. Beyond 64 devices a node, 154 nodes or 100 planes a file
//! the numbers meet; a number that is taken gives way to one from 1,000,000,000 on. The readable scheme keeps the same ids and
//! says what things are: `/node:<k>/device:GPU:<n>`, `/node:<k>/host_threads`, `/node:<k>/<name>`.

use rustc_hash::FxHashSet;

use super::schema;

/// How planes of several nodes are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaneNames {
    /// As XLA's viewers draw them.
    #[default]
    Viewer,
    /// As they are.
    Readable,
}

/// Where a plane goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: i64,
    pub(super) name: String,
    /// What comes before the names of its lines.
    pub(super) line_prefix: String,
    /// What is added to the ids of its lines.
    pub(super) line_id_base: i64,
}

/// The places of a file that are taken.
#[derive(Debug, Default)]
pub(super) struct Places {
    names: PlaneNames,
    ids: FxHashSet<i64>,
    taken: FxHashSet<String>,
    clashes: i64,
}

impl Places {
    pub(super) fn new(names: PlaneNames) -> Self {
        Self { names, ..Self::default() }
    }

    /// The place of the plane `name`, the `index`th of the file of `node`.
    pub(super) fn place(&mut self, node: u32, index: usize, name: &str) -> Place {
        let (k, gpu) = (i64::from(node), gpu_of_name(name));
        let (is_host, keeps_name) = (name == schema::HOST_PLANE, name == schema::HOST_PLANE && node == 0);
        let id = self.free_id(match gpu {
            Some(n) => 100_i64.saturating_add(64 * k).saturating_add(n),
            None if is_host => 10_000 * k,
            None => 50_000 + 100 * k + index as i64,
        });
        let name = match (self.names, gpu) {
            (PlaneNames::Readable, Some(n)) => format!("/node:{node}/device:GPU:{n}"),
            (PlaneNames::Readable, None) if is_host => format!("/node:{node}/host_threads"),
            (PlaneNames::Readable, None) => format!("/node:{node}/{}", name.trim_start_matches('/')),
            (PlaneNames::Viewer, None) if keeps_name => name.to_owned(),
            (PlaneNames::Viewer, None) if !is_host => format!("/device:GPU:{id}_misc_{name}"),
            (PlaneNames::Viewer, _) => format!("/device:GPU:{id}"),
        };
        let prefixed = keeps_name && self.names == PlaneNames::Viewer;
        let line_prefix = if prefixed { format!("/node:{node}/") } else { String::new() };
        Place { id, name: self.free_name(name), line_prefix, line_id_base: 1_000_000 * k }
    }

    /// A free id, and a name for a plane that is of no file.
    pub(super) fn named(&mut self, name: &str) -> (i64, String) {
        (self.free_id(CLASHES), self.free_name(name.to_owned()))
    }

    fn free_id(&mut self, wanted: i64) -> i64 {
        let mut id = wanted;
        while !self.ids.insert(id) {
            id = CLASHES + self.clashes;
            self.clashes += 1;
        }
        id
    }

    fn free_name(&mut self, wanted: String) -> String {
        let mut name = wanted.clone();
        for copy in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{wanted} ({copy})");
        }
        name
    }
}

/// Where numbers go that are taken.
const CLASHES: i64 = 1_000_000_000;

/// The number of a plane `/device:GPU:<n>`.
fn gpu_of_name(name: &str) -> Option<i64> {
    name.rsplit_once("/device:GPU:").and_then(|(_, number)| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn placed(places: &mut Places, node: u32, index: usize, name: &str) -> (i64, String) {
        let place = places.place(node, index, name);
        (place.id, place.name)
    }

    #[test]
    fn planes_are_called_as_the_origin_calls_them() {
        let mut places = Places::new(PlaneNames::Viewer);
        for (node, index, name, expected) in [
            (0, 0, "/host:CPU", (0, "/host:CPU")),
            (0, 1, "/device:GPU:3", (103, "/device:GPU:103")),
            (0, 2, "/host:metadata", (50_002, "/device:GPU:50002_misc_/host:metadata")),
            (2, 0, "/host:CPU", (20_000, "/device:GPU:20000")),
            (2, 1, "/device:GPU:3", (231, "/device:GPU:231")),
            (2, 2, "/host:metadata", (50_202, "/device:GPU:50202_misc_/host:metadata")),
        ] {
            assert_eq!(placed(&mut places, node, index, name), (expected.0, expected.1.to_owned()));
        }
        let mut places = Places::new(PlaneNames::Viewer);
        let (first, third) = (places.place(0, 0, "/host:CPU"), places.place(3, 0, "/host:CPU"));
        assert_eq!((first.line_prefix.as_str(), first.line_id_base), ("/node:0/", 0));
        assert_eq!((third.line_prefix.as_str(), third.line_id_base), ("", 3_000_000));
    }

    #[test]
    fn readable_names_say_what_things_are() {
        let mut places = Places::new(PlaneNames::Readable);
        assert_eq!(placed(&mut places, 1, 0, "/host:CPU"), (10_000, "/node:1/host_threads".into()));
        assert_eq!(placed(&mut places, 1, 1, "/device:GPU:0"), (164, "/node:1/device:GPU:0".into()));
        assert_eq!(placed(&mut places, 1, 2, "/host:metadata"), (50_102, "/node:1/host:metadata".into()));
    }

    proptest! {
        #[test]
        fn no_two_planes_share_a_place(
            readable in any::<bool>(),
            planes in prop::collection::vec((0..400_u32, 0..300_usize, prop_oneof![
                Just("/host:CPU".to_owned()),
                (0..200_i64).prop_map(|n| format!("/device:GPU:{n}")),
                "[a-c]{0,2}",
            ]), 0..200),
        ) {
            let mut places = Places::new(if readable { PlaneNames::Readable } else { PlaneNames::Viewer });
            let placed: Vec<_> = planes.iter().map(|(node, index, name)| places.place(*node, *index, name)).collect();
            let ids: FxHashSet<_> = placed.iter().map(|place| place.id).collect();
            let names: FxHashSet<_> = placed.iter().map(|place| &place.name).collect();
            prop_assert_eq!((ids.len(), names.len()), (planes.len(), planes.len()));
        }
    }
}
