//! What chronyd says of `CLOCK_REALTIME`: one question to its monitoring port, as `chronyc tracking` asks it, and the answer.
//!
//! The layout is that of version 6 of its protocol: a header of 20 bytes (version, 1, two spare, command 33, attempt, sequence,
//! eight spare), as long as the answer is; back come 28 bytes (version, 2, two spare, command, kind 5, status, six spare, sequence,
//! eight spare) and 76 of tracking. Numbers are big-endian, floats of a kind of their own. Nothing is ever set.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use rankscope_time::Span;

const VERSION: u8 = 6;
const COMMAND_TRACKING: [u8; 2] = [0, 33];
const REPLY_TRACKING: [u8; 2] = [0, 5];
const HEADER: usize = 28;
const REPLY: usize = HEADER + 76;

/// Where chronyd answers unless it is told otherwise, to this host alone.
const PORT: u16 = 323;

/// How far chronyd believes `CLOCK_REALTIME` to be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// Steps from a reference clock; the clock's own, one more than its source's.
    pub stratum: u16,
    /// Whether it follows a source: one that takes its own clock for right does not, and owns up to no error.
    pub synchronised: bool,
    /// What is still to be added to the clock.
    pub correction: Span,
    /// To the reference clock and back.
    pub root_delay: Span,
    /// What the clocks on the way may have gained since they were compared.
    pub root_dispersion: Span,
}

impl Tracking {
    /// What chronyd says now, if it answers within `patience`.
    ///
    /// # Errors
    /// Nobody listens, or what answers is no chronyd of this version.
    pub fn now(patience: Duration) -> io::Result<Self> {
        Self::ask((Ipv4Addr::LOCALHOST, PORT).into(), patience)
    }

    fn ask(monitor: SocketAddr, patience: Duration) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(monitor)?;
        socket.set_read_timeout(Some(patience))?;
        let sequence = std::process::id().to_be_bytes();
        socket.send(&question(sequence))?;
        let mut answer = [0; 2 * REPLY];
        let count = socket.recv(&mut answer)?;
        Self::read(&answer[..count], sequence).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// How far the clock may be off in all, if chronyd is right: what it would still correct, half the way there and back, and what
    /// may have been gained since.
    pub fn error_max(&self) -> Span {
        self.correction.abs() + Span::from_nanos(self.root_delay.as_nanos() / 2) + self.root_dispersion
    }

    fn read(answer: &[u8], sequence: [u8; 4]) -> Option<Self> {
        let header = answer.first_chunk::<HEADER>()?;
        let is_reply = header[..2] == [VERSION, 2] && header[4..6] == COMMAND_TRACKING && header[6..8] == REPLY_TRACKING;
        let (status, repeated) = (&header[8..10], &header[16..20]);
        if !is_reply || status != [0, 0] || repeated != sequence {
            return None;
        }
        let data = &answer[HEADER..];
        let short = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
        let seconds = |at: usize| data.get(at..)?.first_chunk().map(|bytes| span(u32::from_be_bytes(*bytes)));
        Some(Self {
            stratum: short(24)?,
            synchronised: short(26)? != UNSYNCHRONISED && data.get(..4)? != LOCAL,
            correction: seconds(40)?,
            root_delay: seconds(64)?,
            root_dispersion: seconds(68)?,
        })
    }
}

/// The leap status of a clock that follows nothing.
const UNSYNCHRONISED: u16 = 3;

/// The source of a clock that is its own.
const LOCAL: [u8; 4] = [127, 127, 1, 1];

fn question(sequence: [u8; 4]) -> [u8; REPLY] {
    let mut bytes = [0; REPLY];
    bytes[..2].copy_from_slice(&[VERSION, 1]);
    bytes[4..6].copy_from_slice(&COMMAND_TRACKING);
    bytes[8..12].copy_from_slice(&sequence);
    bytes
}

/// Seconds: an exponent of 7 bits and a coefficient of 25, both signed, with the point before the coefficient.
fn span(float: u32) -> Span {
    let exponent = (float as i32) >> 25;
    let coefficient = ((float << 7) as i32) >> 7;
    Span::from_nanos((f64::from(coefficient) * f64::from(exponent - 25).exp2() * 1e9).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What chronyd 4.3 answered, and what `chronyc -c tracking` made of it: stratum 6, -0.000001396 s to correct, a root delay of
    /// 0.000003613 s and a dispersion of 0.000002711 s.
    const ANSWER: &[u8; REPLY] = b"\x06\x02\0\0\0\x21\0\x05\0\0\0\0\0\0\0\0\x06\x5f\x0e\xf6\0\0\0\0\0\0\0\0\x7f\0\0\x01\x7f\0\0\
        \x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x06\0\0\0\0\0\0\x6b\x0a\xea\x07\0\x77\xf5\x7c\xdd\x44\xa1\xdc\xcd\x66\x98\xdf\xd6\xcd\
        \xad\x9f\xfb\x10\xe8\x98\xf1\x58\x3a\xc6\xfe\x8f\x24\xf4\xde\xf2\x76\xde\xde\xb5\xec\x3d\0\x92\x43\x5a";
    const SEQUENCE: [u8; 4] = [0x06, 0x5f, 0x0e, 0xf6];

    #[test]
    fn an_answer_means_what_chronyc_prints() {
        let tracking = Tracking::read(ANSWER, SEQUENCE).unwrap();
        let nanos = Span::from_nanos;
        let (correction, root_delay, root_dispersion) = (nanos(-1_396), nanos(3_613), nanos(2_711));
        assert_eq!(tracking, Tracking { stratum: 6, synchronised: true, correction, root_delay, root_dispersion });
        assert_eq!(tracking.error_max(), nanos(1_396 + 1_806 + 2_711));
    }

    #[test]
    fn a_question_is_what_chronyc_asks() {
        let asked = question([0x05, 0x6f, 0x83, 0x37]);
        assert_eq!(asked[..12], *b"\x06\x01\0\0\0\x21\0\0\x05\x6f\x83\x37");
        assert!(asked.len() == 104 && asked[12..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_is_not_the_answer_is_none() {
        assert_eq!(Tracking::read(ANSWER, [0; 4]), None, "to another question");
        for (at, value) in [(0, 5), (1, 1), (5, 34), (7, 6), (9, 2)] {
            let mut other = *ANSWER;
            other[at] = value;
            assert_eq!(Tracking::read(&other, SEQUENCE), None, "byte {at}");
        }
        let mut alone = *ANSWER;
        alone[HEADER + 27] = 3;
        assert!(!Tracking::read(&alone, SEQUENCE).unwrap().synchronised);
        let mut own = *ANSWER;
        own[HEADER..HEADER + 4].copy_from_slice(&LOCAL);
        assert!(!Tracking::read(&own, SEQUENCE).unwrap().synchronised);
    }

    #[test]
    fn it_is_asked_over_a_socket() {
        let chronyd = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let monitor = chronyd.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            let mut asked = [0; REPLY];
            let (_, from) = chronyd.recv_from(&mut asked).unwrap();
            let mut answer = *ANSWER;
            answer[16..20].copy_from_slice(&asked[8..12]);
            chronyd.send_to(&answer, from).unwrap();
        });
        let tracking = Tracking::ask(monitor, Duration::from_secs(60)).unwrap();
        answering.join().unwrap();
        assert_eq!(tracking.stratum, 6);
        assert!(Tracking::ask(monitor, Duration::from_secs(60)).is_err(), "nobody listens any more");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), float in any::<u32>()) {
            let _ = (Tracking::read(&bytes, SEQUENCE), span(float));
        }

        #[test]
        fn floats_keep_their_seven_digits(seconds in -4.0..4.0f64) {
            // As chronyd writes them: the coefficient takes all of its bits but the sign.
            let exponent = seconds.abs().log2().floor() as i32 + 2;
            let coefficient = (seconds * f64::from(25 - exponent).exp2()).round() as i32;
            let float = (exponent as u32) << 25 | coefficient as u32 & 0x01ff_ffff;
            let error_ns = (span(float).as_nanos() as f64 - seconds * 1e9).abs();
            prop_assert!(error_ns <= seconds.abs() * 1e9 / 8e6 + 1.0, "{} for {seconds}", span(float));
        }
    }
}
