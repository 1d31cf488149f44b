//! Management messages of IEEE 1588 as linuxptp answers them: a question, and the answers that are understood.
//!
//! A message is a header of 34 bytes (kind, version, length, …, the port that sends it, a sequence number), the port it is for, two
//! counts of hops, what is to be done, and one TLV: its kind, its length, the number of what is asked and, in an answer, its value.
//! Numbers are big-endian. Only `GET` is ever written.

use rankscope_clock::files::ClockIdentity;
use rankscope_time::Span;

const HEADER: usize = 34;
const VALUE: usize = 54;

const KIND_MANAGEMENT: u8 = 0x0d;
const VERSION: u8 = 2;
const CONTROL_MANAGEMENT: u8 = 4;
const NO_INTERVAL: u8 = 0x7f;
const ACTION_RESPONSE: u8 = 2;
const TLV_MANAGEMENT: u16 = 1;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Subject {
    /// How far the master is.
    Current = 0x2001,
    /// Which scale of time its master keeps.
    TimeProperties = 0x2003,
    /// Of linuxptp: what the last comparison with the master gave.
    TimeStatus = 0xc000,
    /// Of linuxptp: of each port its state and what stamps its packets.
    PortProperties = 0xc004,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Current { steps_removed: u16, path_delay: Span },
    TimeProperties { utc_offset_s: i16, counts_tai: bool },
    TimeStatus { ahead: Span, ingress_ns: i64, follows: bool, grandmaster: ClockIdentity },
    PortProperties { state: u8, stamping: u8, interface: String },
}

/// The question about `subject`, to every port.
pub(super) fn question(subject: Subject, sequence: u16) -> [u8; VALUE] {
    let mut bytes = [0; VALUE];
    bytes[..4].copy_from_slice(&[KIND_MANAGEMENT, VERSION, 0, VALUE as u8]);
    bytes[30..32].copy_from_slice(&sequence.to_be_bytes());
    bytes[32..HEADER].copy_from_slice(&[CONTROL_MANAGEMENT, NO_INTERVAL]);
    bytes[HEADER..44].fill(0xff);
    bytes[48..50].copy_from_slice(&TLV_MANAGEMENT.to_be_bytes());
    bytes[50..52].copy_from_slice(&2u16.to_be_bytes());
    bytes[52..].copy_from_slice(&(subject as u16).to_be_bytes());
    bytes
}

/// The answer to a question with that `sequence`, and whose clock it is from.
pub(super) fn answer(bytes: &[u8], sequence: u16) -> Option<(ClockIdentity, Answer)> {
    let header = bytes.first_chunk::<VALUE>()?;
    let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let is_answer = header[0] & 0x0f == KIND_MANAGEMENT && header[46] & 0x0f == ACTION_RESPONSE && short(48) == TLV_MANAGEMENT;
    if !is_answer || short(30) != sequence {
        return None;
    }
    let from = ClockIdentity(*header[20..].first_chunk()?);
    Some((from, value(short(52), &bytes[VALUE..])?))
}

fn value(subject: u16, value: &[u8]) -> Option<Answer> {
    let byte = |at: usize| value.get(at).copied();
    let short = |at: usize| value.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    let long = |at: usize| value.get(at..)?.first_chunk().map(|bytes| i64::from_be_bytes(*bytes));
    Some(match subject {
        // Intervals are in parts of 2^16 of a nanosecond.
        subject if subject == Subject::Current as u16 => {
            Answer::Current { steps_removed: short(0)?, path_delay: Span::from_nanos(long(10)? >> 16) }
        }
        subject if subject == Subject::TimeProperties as u16 => {
            Answer::TimeProperties { utc_offset_s: short(0)?.cast_signed(), counts_tai: byte(2)? & 0x08 != 0 }
        }
        subject if subject == Subject::TimeStatus as u16 => Answer::TimeStatus {
            ahead: Span::from_nanos(long(0)?),
            ingress_ns: long(8)?,
            follows: value.get(38..42)? != [0; 4],
            grandmaster: ClockIdentity(*value.get(42..)?.first_chunk()?),
        },
        subject if subject == Subject::PortProperties as u16 => {
            let name = value.get(13..13 + usize::from(byte(12)?))?;
            Answer::PortProperties {
                state: byte(10)?,
                stamping: byte(11)?,
                interface: String::from_utf8_lossy(name).into_owned(),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLAVE: ClockIdentity = ClockIdentity([0xb2, 0xfa, 0x4d, 0xff, 0xfe, 0x90, 0x37, 0xb8]);
    const MASTER: ClockIdentity = ClockIdentity([0x4e, 0x87, 0x9f, 0xff, 0xfe, 0x37, 0x93, 0xff]);

    /// What ptp4l 3.1.1 answered to questions of sequence 7, software stamps on a virtual cable: one that follows a master, then that
    /// master.
    pub(in super::super) const ANSWERS: [[&[u8]; 4]; 2] = [
        [
            b"\x0d\x02\0H\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xb2\xfaM\xff\xfe\x907\xb8\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\0\x14\x20\x01\0\x01\xff\xff\xff\xff\xff$\0\0\0\0\0\0\x09'\0\0",
            b"\x0d\x02\0:\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xb2\xfaM\xff\xfe\x907\xb8\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\0\x06\x20\x03\0%\0\xa0",
            b"\x0d\x02\0h\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xb2\xfaM\xff\xfe\x907\xb8\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\x004\xc0\0\xff\xff\xff\xff\xff\xff\xff$\x18\xecG\xb5-\x99\xf4\xeb\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
              \0\0\0\0\0\0\0\0\0\x01N\x87\x9f\xff\xfe7\x93\xff",
            b"\x0d\x02\0F\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xb2\xfaM\xff\xfe\x907\xb8\0\x01\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\
              \0\0\x02\0\0\x01\0\x12\xc0\x04\xb2\xfaM\xff\xfe\x907\xb8\0\x01\x08\0\x02vB\0",
        ],
        [
            b"\x0d\x02\0H\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0N\x87\x9f\xff\xfe7\x93\xff\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\0\x14\x20\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\x0d\x02\0:\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0N\x87\x9f\xff\xfe7\x93\xff\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\0\x06\x20\x03\0%\0\xa0",
            b"\x0d\x02\0h\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0N\x87\x9f\xff\xfe7\x93\xff\0\0\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\0\
              \0\x02\0\0\x01\x004\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0N\
              \x87\x9f\xff\xfe7\x93\xff",
            b"\x0d\x02\0F\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0N\x87\x9f\xff\xfe7\x93\xff\0\x01\0\x07\x04\x7f\0\0\0\0\0\0\0\0\x124\
              \0\0\x02\0\0\x01\0\x12\xc0\x04N\x87\x9f\xff\xfe7\x93\xff\0\x01\x06\0\x02vA\0",
        ],
    ];

    #[test]
    fn answers_mean_what_pmc_prints() {
        let read = ANSWERS[0].map(|bytes| answer(bytes, 7).unwrap());
        let port = Answer::PortProperties { state: 8, stamping: 0, interface: "vB".to_owned() };
        let ahead = Span::from_nanos(-220);
        let ingress_ns = 1_795_889_194_893_702_379;
        let expected = [
            Answer::Current { steps_removed: 1, path_delay: Span::from_nanos(2_343) },
            Answer::TimeProperties { utc_offset_s: 37, counts_tai: false },
            Answer::TimeStatus { ahead, ingress_ns, follows: true, grandmaster: MASTER },
            port,
        ];
        assert_eq!(read, expected.map(|answer| (SLAVE, answer)));
    }

    #[test]
    fn a_question_is_what_pmc_asks() {
        let asked = question(Subject::PortProperties, 0x1234);
        assert_eq!(asked[..4], [0x0d, 2, 0, 54]);
        assert_eq!((&asked[30..34], &asked[34..44]), (&[0x12, 0x34, 4, 0x7f][..], &[0xff; 10][..]));
        assert_eq!(asked[44..], [0, 0, 0, 0, 0, 1, 0, 2, 0xc0, 4]);
    }

    #[test]
    fn what_is_not_the_answer_is_none() {
        let whole = ANSWERS[0][0];
        assert_eq!(answer(whole, 8), None, "to another question");
        for (at, value) in [(0, 0x0b), (46, 1), (49, 2), (53, 9)] {
            let mut other = whole.to_vec();
            other[at] = value;
            assert_eq!(answer(&other, 7), None, "byte {at}");
        }
        let cut = (0..whole.len()).filter(|length| answer(&whole[..*length], 7).is_some()).count();
        assert_eq!(cut, 0);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(which in 0..4usize, at in 0..104usize, byte: u8, length in 0..104usize) {
            let mut bytes = ANSWERS[0][which].to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = answer(&bytes, 7);
        }
    }
}
