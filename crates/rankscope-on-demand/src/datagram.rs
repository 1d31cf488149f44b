//! Datagrams between a process and its daemon: a size, a type of 32 bytes, and a payload; numbers as this machine writes them.

/// The head: the size of the payload, and its type.
pub const HEAD_BYTES: usize = 8 + KIND_BYTES;

const KIND_BYTES: usize = 32;

/// The largest payload.
pub const PAYLOAD_MAX: usize = 64 << 10;

/// A process and those that started it, at most.
pub const PIDS_MAX: usize = 64;

/// What a process may be profiled by: bits of a poll.
pub const ACTIVITIES: i32 = 2;

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is there, with a GPU.
    Context(Context),
    /// It asks for a configuration.
    Poll(Poll),
}

/// A process with a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Which.
    pub gpu: i32,
    /// The process.
    pub pid: i32,
    /// The job, by the launcher's number; 0 where there is none.
    pub job: i64,
}

/// A question for a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Which kinds of configuration it takes.
    pub kinds: i32,
    /// The job.
    pub job: i64,
    /// The process, and those that started it.
    pub pids: Vec<i32>,
}

/// Why a datagram is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is shorter than its head, or than that says.
    #[error("cut off")]
    Cut,
    /// Its size is not what its content takes.
    #[error("of another size than it says")]
    Size,
    /// It is larger than any that is taken.
    #[error("too large")]
    TooLarge,
    /// Its type is none.
    #[error("of an unknown type")]
    Kind,
    /// A process that is none, or too many.
    #[error("of no process, or of too many")]
    Pids,
    /// The process that it names does not have the socket that it came from.
    #[error("from another process than it says")]
    Forged,
    /// There are too many processes.
    #[error("of one process too many")]
    Full,
}

impl Said {
    /// What `bytes` say.
    ///
    /// # Errors
    /// [`Refused`], for whatever no process of torch sends.
    pub fn read(bytes: &[u8]) -> Result<Self, Refused> {
        let (size, rest) = bytes.split_first_chunk::<8>().ok_or(Refused::Cut)?;
        let (kind, payload) = rest.split_first_chunk::<KIND_BYTES>().ok_or(Refused::Cut)?;
        let size = u64::from_ne_bytes(*size);
        match usize::try_from(size) {
            Ok(size) if size > PAYLOAD_MAX => return Err(Refused::TooLarge),
            Ok(size) if size > payload.len() => return Err(Refused::Cut),
            Ok(size) if size == payload.len() => {}
            _ => return Err(Refused::Size),
        }
        if kind.starts_with(b"ctxt") {
            context(payload)
        } else if kind.starts_with(b"req") {
            poll(payload)
        } else {
            Err(Refused::Kind)
        }
    }

    /// The datagram that says it.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Context(Context { gpu, pid, job }) => {
                framed("ctxt", &[&gpu.to_ne_bytes()[..], &pid.to_ne_bytes(), &job.to_ne_bytes()].concat())
            }
            Self::Poll(Poll { kinds, job, pids }) => {
                let count = i32::try_from(pids.len()).unwrap_or(i32::MAX);
                let mut payload = [&kinds.to_ne_bytes()[..], &count.to_ne_bytes(), &job.to_ne_bytes()].concat();
                pids.iter().for_each(|pid| payload.extend(pid.to_ne_bytes()));
                framed("req", &payload)
            }
        }
    }

    /// The process that it names.
    pub fn pid(&self) -> i32 {
        match self {
            Self::Context(context) => context.pid,
            Self::Poll(poll) => poll.pids.first().copied().unwrap_or(0),
        }
    }
}

/// The answer to a poll: a configuration, or none.
pub fn configuration(text: Option<&str>) -> Vec<u8> {
    framed("req", text.unwrap_or_default().as_bytes())
}

/// The answer to a context: how many processes there are on its GPU.
pub fn count(processes: i32) -> Vec<u8> {
    framed("ctxt", &processes.to_ne_bytes())
}

/// The configuration in an answer to a poll; none where there is nothing to do, or it is no such answer.
pub fn answered(bytes: &[u8]) -> Option<&str> {
    let payload = bytes.get(HEAD_BYTES..).filter(|payload| !payload.is_empty())?;
    let size = u64::from_ne_bytes(*bytes.first_chunk()?);
    (size == payload.len() as u64 && bytes[8..].starts_with(b"req")).then(|| std::str::from_utf8(payload).ok()).flatten()
}

fn framed(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut name = [0; KIND_BYTES];
    name[..kind.len()].copy_from_slice(kind.as_bytes());
    [&(payload.len() as u64).to_ne_bytes()[..], &name, payload].concat()
}

fn context(payload: &[u8]) -> Result<Said, Refused> {
    if payload.len() != 16 {
        return Err(Refused::Size);
    }
    let context = Context { gpu: i32_at(payload, 0), pid: i32_at(payload, 4), job: i64_at(payload, 8) };
    if context.pid > 0 { Ok(Said::Context(context)) } else { Err(Refused::Pids) }
}

fn poll(payload: &[u8]) -> Result<Said, Refused> {
    if payload.len() < 16 {
        return Err(Refused::Size);
    }
    let count = usize::try_from(i32_at(payload, 4)).map_err(|_| Refused::Pids)?;
    if count == 0 || count > PIDS_MAX {
        return Err(Refused::Pids);
    }
    if payload.len() != 16 + count * 4 {
        return Err(Refused::Size);
    }
    let pids: Vec<i32> = (0..count).map(|place| i32_at(payload, 16 + place * 4)).collect();
    if pids.first().is_none_or(|pid| *pid <= 0) {
        return Err(Refused::Pids);
    }
    Ok(Said::Poll(Poll { kinds: i32_at(payload, 0), job: i64_at(payload, 8), pids }))
}

/// The number at `at`, which has been checked to be there.
fn i32_at(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i32::from_ne_bytes(*chunk))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i64::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What an unmodified torch process of six generations sends.
    fn golden() -> Vec<u8> {
        let mut bytes = vec![40, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"req");
        bytes.extend([0; 29]);
        bytes.extend([2, 0, 0, 0, 6, 0, 0, 0]);
        bytes.extend([0; 8]);
        for pid in [4711_i32, 4700, 4600, 4500, 12, 1] {
            bytes.extend(pid.to_le_bytes());
        }
        bytes
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_poll_of_a_torch_process_is_read_and_written_byte_by_byte() {
        let poll = Said::Poll(Poll { kinds: 2, job: 0, pids: vec![4711, 4700, 4600, 4500, 12, 1] });
        assert_eq!(Said::read(&golden()), Ok(poll.clone()));
        assert_eq!((poll.bytes(), golden().len()), (golden(), 80));
        assert_eq!(configuration(None)[..12], [0, 0, 0, 0, 0, 0, 0, 0, b'r', b'e', b'q', 0]);
        assert_eq!(answered(&configuration(Some("A=1\n"))), Some("A=1\n"));
        assert_eq!(answered(&configuration(None)), None);
    }

    #[test]
    fn what_no_process_sends_is_refused() {
        let changed = |at: usize, value: u8| {
            let mut bytes = golden();
            bytes[at] = value;
            Said::read(&bytes)
        };
        assert_eq!(Said::read(&golden()[..79]), Err(Refused::Cut));
        assert_eq!(Said::read(&[golden(), vec![0]].concat()), Err(Refused::Size));
        assert_eq!(changed(44, 5), Err(Refused::Size), "five processes in the space of six");
        assert_eq!(changed(44, 65), Err(Refused::Pids));
        assert_eq!(changed(47, 0x80), Err(Refused::Pids), "less than none");
        assert_eq!(changed(8, b'x'), Err(Refused::Kind));
        assert_eq!(changed(3, 1), Err(Refused::TooLarge));
        assert_eq!(changed(7, 1), if usize::BITS == 64 { Err(Refused::TooLarge) } else { Err(Refused::Size) });
    }

    proptest! {
        #[test]
        fn whatever_is_taken_is_written_as_it_came(bytes in proptest::collection::vec(any::<u8>(), 0..120), keep in any::<bool>()) {
            let bytes = if keep { [&golden()[..44], &bytes].concat() } else { bytes };
            if let Ok(said) = Said::read(&bytes) {
                prop_assert_eq!(&said.bytes()[40..], &bytes[40..]);
            }
        }
    }
}
