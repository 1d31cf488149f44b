//! The ways between nodes, as agents measured them last: the last window of each file of windows. Files grow for as long as a job runs, so
//! only their ends are read.

use std::path::Path;

use rankscope_clock::EdgeRecord;
use rankscope_clock::files::read_windows;
use rankscope_document::LiveLink;
use rankscope_run::{files_in, last_lines};

/// The end of a file of windows that is read: a window of a node with many edges is some kilobytes.
const TAIL_BYTES: u64 = 1 << 16;

/// Links of the last window of each node, by their nodes.
pub(super) fn links(clock: &Path) -> Vec<LiveLink> {
    let mut links: Vec<LiveLink> = files_in(clock).unwrap_or_default().iter().flat_map(|path| last(path)).collect();
    links.sort_by_key(|link| (link.from, link.to));
    links
}

fn last(path: &Path) -> Vec<LiveLink> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !(name.starts_with("windows-") && name.ends_with(".jsonl")) {
        return Vec::new();
    }
    let windows = read_windows(&name, &last_lines(path, TAIL_BYTES).unwrap_or_default()).windows;
    windows.last().map(|window| window.edges.iter().map(link).collect()).unwrap_or_default()
}

fn link(record: &EdgeRecord) -> LiveLink {
    let fit = record.fits.iter().rev().find_map(|fit| fit.as_ref().ok());
    let error_ns =
        |offset_ns: i64, low_ns: i64, high_ns: i64| (high_ns.saturating_sub(offset_ns)).max(offset_ns.saturating_sub(low_ns));
    LiveLink {
        from: record.edge.src.0,
        to: record.edge.dst.0,
        rtt_min_ns: fit.map(|fit| fit.rtt_min.as_nanos()),
        offset_ns: fit.map(|fit| fit.offset.as_nanos()),
        offset_error_ns: fit.map(|fit| error_ns(fit.offset.as_nanos(), fit.bound.lo.as_nanos(), fit.bound.hi.as_nanos())),
        answered: record.counts.complete,
        lost: record.counts.lost_forward.saturating_add(record.counts.lost_reverse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_clock::files::encode_window;
    use rankscope_clock::{Edge, HostInstant, LinkCounts, NodeId, NodeWindow};

    #[test]
    fn of_a_long_file_the_last_window_counts_and_half_a_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let window = |number: u64| {
            let edge = EdgeRecord {
                counts: LinkCounts { complete: 7, lost_forward: number as u32, ..LinkCounts::default() },
                ..EdgeRecord::new(Edge { src: NodeId(3), dst: NodeId(5) }, Vec::new())
            };
            let at = HostInstant::from_nanos_since_epoch;
            let (start, end) = (at(number as i64), at(number as i64 + 1));
            let node = NodeWindow { node: NodeId(3), window_id: number, round: Some(number), start, end, edges: vec![edge] };
            encode_window(&node)
        };
        let lines: Vec<String> = (0..2_000).map(|number| window(number).trim_end().to_owned()).collect();
        let text = lines.join("\n") + "\n{\"window_start";
        assert!(text.len() as u64 > 2 * TAIL_BYTES);
        std::fs::write(folder.path().join("windows-node3.jsonl"), text).unwrap();
        std::fs::write(folder.path().join("offsets.jsonl"), "{}\n").unwrap();
        let links = links(folder.path());
        assert_eq!(links.len(), 1, "{links:?}");
        assert_eq!((links[0].from, links[0].to, links[0].lost, links[0].rtt_min_ns), (3, 5, 1_999, None));
    }
}
