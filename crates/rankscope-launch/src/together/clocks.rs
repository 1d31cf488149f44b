//! The clock of one node, out of what the agents of the run have written until now.

use std::path::{Path, PathBuf};

use rankscope_clock::NodeId;
use rankscope_clock::solved::{self, Readings, RunOffsets, WindowsReader};
use rankscope_on_demand::wall_ns;
use rankscope_run::{SideFile, clock_files, files_in, read_side};
use rankscope_time::{ClockMap, HostClock, Instant, Knot, Rate, ReferenceClock};

/// What converts between the reference clock and the wall clock of a node.
pub(super) struct NodeClock {
    to_reference: ClockMap<HostClock, ReferenceClock>,
    realtime: Vec<Knot>,
}

impl NodeClock {
    /// That of `node` in the run at `run`; none where it is not known.
    pub(super) fn read(run: &Path, node: u32) -> Option<Self> {
        let folder = run.join("clock");
        let files = clock_files(std::slice::from_ref(&folder)).ok();
        let bytes = |path: &PathBuf| Some((path.display().to_string(), read_side(path, SideFile::Clock).ok()?));
        let (mut windows, mut offsets) = (WindowsReader::default(), RunOffsets::default());
        let (mut has_windows, mut has_offsets) = (false, false);
        for (name, bytes) in files.iter().flat_map(|files| &files.windows).filter_map(bytes) {
            has_windows |= windows.add(&name, &bytes).is_ok();
        }
        for (name, bytes) in files.iter().flat_map(|files| &files.offsets).filter_map(bytes) {
            has_offsets |= offsets.add(&name, &bytes).is_ok();
        }
        let is_reading =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("snapshots-node"));
        let mut readings = Readings::default();
        for (name, bytes) in files_in(&folder).unwrap_or_default().iter().filter(|path| is_reading(path)).filter_map(bytes) {
            readings.add(&name, &bytes);
        }
        let realtime = readings.realtime;
        let measured = solved::measured(has_windows.then(|| windows.finish()), has_offsets.then_some(offsets), realtime);
        let clock = measured.clocks.into_iter().find(|clock| clock.node == NodeId(node))?;
        Some(Self { to_reference: clock.to_reference, realtime: clock.realtime })
    }

    /// What the wall clock shows at an instant of the reference clock.
    pub(super) fn wall_ns(&self, reference_ns: i64) -> Option<i64> {
        wall_ns(reference_ns, &self.to_reference, &self.realtime)
    }

    /// What the reference clock shows when the wall clock shows `wall_ns`.
    pub(super) fn reference_ns(&self, wall_ns: i64) -> Option<i64> {
        let host = match self.realtime.is_empty() {
            true => Instant::from_nanos_since_epoch(wall_ns),
            false => {
                let wall: ClockMap<HostClock, HostClock> =
                    ClockMap::from_knots(self.realtime.clone(), Rate::from_ppb(0)).ok()?;
                wall.map(Instant::from_nanos_since_epoch(wall_ns))
            }
        };
        Some(self.to_reference.map(host).nanos_since_epoch())
    }
}
