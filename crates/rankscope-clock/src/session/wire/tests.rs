use proptest::prelude::*;

use super::*;

fn key() -> Key {
    Key::derive(b"secret")
}

fn stamps() -> impl Strategy<Value = super::Value> {
    let source = prop_oneof![Just(StampSource::Hardware), Just(StampSource::Kernel), Just(StampSource::User)];
    let leg = prop_oneof![Just(Leg::First), Just(Leg::Second)];
    let stamp = (any::<i64>(), source, leg, 0..=CarriedStamp::BACK_MAX).prop_map(|(ns, source, leg, back)| {
        let stamp = Stamp { at: HostInstant::from_nanos_since_epoch(ns), source };
        Value::Stamp(CarriedStamp { stamp, leg, back })
    });
    prop_oneof![Just(Value::Nothing), Just(Value::Unstamped), any::<i64>().prop_map(Value::Number), stamp]
}

fn headers(kinds: std::ops::Range<usize>) -> impl Strategy<Value = Header> {
    (kinds, any::<u64>(), any::<(u32, u32)>(), any::<u32>(), any::<u32>()).prop_map(
        |(kind, run, (src, dst), sequence, incarnation)| Header {
            kind: Kind::ALL[kind],
            run,
            edge: Edge { src: NodeId(src), dst: NodeId(dst) },
            sequence,
            incarnation,
        },
    )
}

proptest! {
    #[test]
    fn probes_come_out_as_they_went_in(header in headers(0..12), values in [stamps(), stamps()]) {
        let bytes = seal_probe(&key(), &header, values);
        prop_assert_eq!(open(&bytes, &key(), header.run), Ok(Opened { header, values, body: &[] }));
    }

    #[test]
    fn control_packets_come_out_as_they_went_in(header in headers(12..13), body in prop::collection::vec(any::<u8>(), 0..BODY_MAX)) {
        let bytes = seal_control(&key(), &header, &body);
        let opened = open(&bytes, &key(), header.run);
        prop_assert_eq!(opened, Ok(Opened { header, values: [Value::Nothing; 2], body: &body }));
    }

    #[test]
    fn any_bytes_are_a_packet_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..1300)) {
        prop_assert!(open(&bytes, &key(), 1).is_err());
    }
}

fn example() -> (Header, [Value; 2]) {
    let edge = Edge { src: NodeId(3), dst: NodeId(0x0102) };
    let header = Header { kind: Kind::Pr2, run: 0x1122_3344_5566_7788, edge, sequence: 7, incarnation: 0xaabb_ccdd };
    let stamp = |ns, source| Stamp { at: HostInstant::from_nanos_since_epoch(ns), source };
    let first = CarriedStamp { stamp: stamp(1_790_000_000_000_000_001, StampSource::Kernel), leg: Leg::Second, back: 0 };
    let second = CarriedStamp { stamp: stamp(-2, StampSource::User), leg: Leg::First, back: 3 };
    (header, [Value::Stamp(first), Value::Stamp(second)])
}

#[test]
fn the_layout_is_the_one_that_is_written_down() {
    let (header, values) = example();
    let bytes = seal_probe(&key(), &header, values);
    #[rustfmt::skip]
    let expected = [
        b'R', b'K', b'S', b'C', 1, 7, 0b110, 0b0001_1011,
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        3, 0, 0, 0, 2, 1, 0, 0,
        7, 0, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa,
        0x01, 0x00, 0xf3, 0x23, 0x84, 0x5b, 0xd7, 0x18,
        0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ];
    assert_eq!(bytes[..48], expected);
    assert_eq!(bytes[48..], GOLDEN_MAC);
}

/// Computed from the written layout, apart from this code. Another MAC is another protocol: it would need another version.
#[rustfmt::skip]
const GOLDEN_MAC: [u8; MAC_LEN] = [
    0xd6, 0x9a, 0x47, 0xcb, 0x7e, 0x8b, 0x6a, 0x7f,
    0x8b, 0x18, 0x3f, 0xa5, 0x78, 0xd7, 0xb2, 0x50,
];

#[test]
fn every_flipped_bit_is_found() {
    let (header, values) = example();
    let good = seal_probe(&key(), &header, values);
    for bit in 0..8 * PROBE_LEN {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0..4 => Reject::Magic,
            4 => Reject::Version,
            8..16 => Reject::Run,
            _ => Reject::Mac,
        };
        assert_eq!(open(&bytes, &key(), header.run), Err(expected), "bit {bit}");
    }
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    let (header, values) = example();
    let probe = seal_probe(&key(), &header, values);
    for len in 0..PROBE_LEN {
        assert!(open(&probe[..len], &key(), header.run).is_err(), "{len} bytes");
    }
    // Signed by the right key and of the wrong length all the same.
    let long = seal_control(&key(), &header, &[0; 17]);
    assert_eq!(open(&long, &key(), header.run), Err(Reject::Length));
    let control = Header { kind: Kind::Control, ..header };
    assert_eq!(seal_control(&key(), &control, &[0; 2000]).len(), CONTROL_MAX);
}

#[test]
fn another_secret_is_another_key() {
    let (header, values) = example();
    let bytes = seal_probe(&key(), &header, values);
    for secret in [b"".as_slice(), b"Secret", b"secret\0"] {
        assert_eq!(open(&bytes, &Key::derive(secret), header.run), Err(Reject::Mac));
    }
    assert_eq!(open(&bytes, &key(), 1), Err(Reject::Run), "a foreign run is called that, whatever its key");
}
