use std::path::Path;

use super::*;

fn adam() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory-snapshot/adam.pickle");
    std::fs::read(path).expect("the fixture is there")
}

fn snapshot(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
    Snapshot::of(&rankscope_pickle::read(bytes).expect("it is a pickle"))
}

/// Figures of a script in Python that reads the same file.
#[test]
fn sums_of_a_real_snapshot_are_those_of_python() {
    let own = snapshot(&adam()).unwrap();
    assert_eq!(own.devices.len(), 1);
    let device = &own.devices[0];
    assert_eq!((device.device, device.segments, device.blocks), (0, 12, 89));
    assert_eq!((device.reserved, device.allocated, device.inactive), (106_954_752, 98_103_296, 8_851_456));
    assert_eq!((device.largest_inactive, device.pending), (4_194_304, 0));
    assert_eq!(device.reserved, device.allocated + device.pending + device.inactive);
    let peak = &own.peaks[0];
    assert_eq!((peak.events, peak.start, peak.most, peak.end), (734, 0, 98_103_296, 98_103_296));
    assert_eq!(peak.held.iter().map(|row| row.bytes).sum::<i64>(), peak.most);
    assert_eq!(own.live.iter().map(|row| row.bytes).sum::<i64>(), device.allocated);
    let forward = |row: &&StackHeld| row.frame.as_deref() == Some("<module> (/tmp/g2.py:7)");
    let kept = own.live.iter().find(forward).expect("four tensors are kept");
    assert_eq!((kept.count, kept.bytes), (Some(4), 16 << 20));
    let failed = FailedAllocation { device: 0, requested: 4 << 40, device_free: Some(84_123_254_784) };
    assert_eq!(own.failed, [failed]);
    assert!(own.segments.is_sorted_by(|a, b| a.total >= b.total));
}

#[test]
fn a_stack_without_python_is_named_by_the_first_frame_outside_the_allocator() {
    let text = |text: &str| [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let frame =
        |name: &str| [b"}(".to_vec(), text("name"), text(name), text("filename"), text("x.cpp"), b"u".to_vec()].concat();
    let frames = [frame("torch::unwind::unwind()"), frame("at::empty_cuda"), frame("at::mm")].concat();
    let bytes = [b"\x80\x02}".to_vec(), text("frames"), b"](".to_vec(), frames, b"es.".to_vec()].concat();
    let pickle = rankscope_pickle::read(&bytes).unwrap();
    let mut stacks = Stacks::default();
    let id = stacks.of(pickle.root(), &mut Steps { left: 9 }).unwrap();
    let row = &stacks.rows(0, &[(id, (1, 5))].into_iter().collect())[0];
    assert_eq!((row.frame.as_deref(), row.stack.as_deref()), (Some("at::empty_cuda"), Some("at::empty_cuda < at::mm")));
}

#[test]
fn what_is_no_snapshot_is_told_from_what_is_damaged() {
    assert_eq!(snapshot(b"\x80\x02]."), Err(SnapshotError::NotASnapshot));
    assert_eq!(snapshot(b"\x80\x02}X\x08\x00\x00\x00segments]s."), Ok(Snapshot::default()));
    let damaged = b"\x80\x02}X\x08\x00\x00\x00segments]}as.";
    assert_eq!(snapshot(damaged), Err(SnapshotError::Damaged { what: "segment", at: 0 }));
}

#[test]
fn events_in_endless_places_are_refused() {
    // device_traces is a list of a thousand times the same list, which has a thousand times the same event.
    let event = b"}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00otheru";
    let mut bytes = b"\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces](](".to_vec();
    bytes.extend(event);
    bytes.extend([b'q', 1]);
    bytes.extend([b'h', 1].repeat(1_000));
    bytes.extend([b'e', b'q', 2]);
    bytes.extend([b'h', 2].repeat(1_000));
    bytes.extend(b"eu.");
    assert_eq!(snapshot(&bytes), Err(SnapshotError::TooMuch));
}

#[test]
fn a_snapshot_that_is_cut_or_changed_is_refused_or_read() {
    let bytes = adam();
    for length in (0..bytes.len()).step_by(97) {
        assert!(rankscope_pickle::read(&bytes[..length]).is_err(), "cut to {length}");
    }
    for at in (0..bytes.len()).step_by(61) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x11;
        let _either = rankscope_pickle::read(&changed).map(|pickle| Snapshot::of(&pickle));
    }
}
