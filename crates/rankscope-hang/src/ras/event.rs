//! What NCCL's service tells by itself: that a process joined the job, or is given up. Only as JSON, which is asked for.

use serde::Deserialize;

use super::{Process, RasError};

/// What has become of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RasEventKind {
    /// It joined: `PEER_NEW`.
    Joined,
    /// It is given up: `PEER_DEAD`.
    Dead,
    /// Something that is not known here, in NCCL's word.
    Other(String),
}

impl RasEventKind {
    const JOINED: &str = "PEER_NEW";
    const DEAD: &str = "PEER_DEAD";

    fn of(name: String) -> Self {
        match name.as_str() {
            Self::JOINED => Self::Joined,
            Self::DEAD => Self::Dead,
            _ => Self::Other(name),
        }
    }

    /// NCCL's word for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Joined => Self::JOINED,
            Self::Dead => Self::DEAD,
            Self::Other(name) => name,
        }
    }
}

/// Something that the service told by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RasEvent {
    /// What it is.
    pub kind: RasEventKind,
    /// When, as the service's host reads its clock.
    pub time: String,
    /// The host of the process, as NCCL knows it: an address.
    pub host: Option<String>,
    /// Its number there.
    pub pid: Option<u64>,
    /// What else is said.
    pub details: String,
}

#[derive(Deserialize)]
struct Raw {
    event: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    peer: RawPeer,
    #[serde(default)]
    details: String,
}

#[derive(Default, Deserialize)]
struct RawPeer {
    host: Option<String>,
    pid: Option<u64>,
    /// With a port, where the service knows no more.
    addr: Option<String>,
}

impl RasEvent {
    /// What `bytes` say, which the service sent by itself.
    ///
    /// # Errors
    /// [`RasError::Json`], where that is no event.
    pub fn read(bytes: &[u8]) -> Result<Self, RasError> {
        let text = String::from_utf8_lossy(bytes);
        let raw: Raw = match serde_json::from_str(&text) {
            // NCCL writes details as they are, quotes and all; without them the rest is JSON.
            Err(error) if error.is_syntax() => {
                without_details(&text).and_then(|text| serde_json::from_str(&text).ok()).ok_or(error)
            }
            read => read,
        }
        .map_err(RasError::Json)?;
        let RawPeer { host, pid, addr } = raw.peer;
        let kind = RasEventKind::of(raw.event);
        Ok(Self { kind, time: raw.timestamp, host: host.or(addr), pid, details: raw.details })
    }

    pub(super) fn process(&self) -> Option<Process> {
        Some(Process { host: self.host.as_deref()?.into(), pid: self.pid? })
    }
}

fn without_details(text: &str) -> Option<String> {
    let at = text.find(",\n  \"details\":")?;
    Some(format!("{}\n}}", &text[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_process_tells_where_it_is() {
        let text = r#"{
  "timestamp": "2026-11-28 08:00:00",
  "group": "LIFECYCLE",
  "event": "PEER_DEAD",
  "peer": {
    "host": "10.0.0.2",
    "pid": 13,
    "cuda_devs": [0,1],
    "nvml_devs": [0,1]
  },
  "details": ""
}
"#;
        let event = RasEvent::read(text.as_bytes()).unwrap();
        assert_eq!((event.kind.clone(), event.host.as_deref(), event.pid), (RasEventKind::Dead, Some("10.0.0.2"), Some(13)));
        assert_eq!(event.time, "2026-11-28 08:00:00");
        let quoted = text.replace("\"details\": \"\"", "\"details\": \"a \"quoted\" word\"");
        assert_eq!(RasEvent::read(quoted.as_bytes()).unwrap(), event);
    }

    #[test]
    fn what_is_not_known_keeps_its_name_and_what_is_no_event_is_refused() {
        let other = RasEvent::read(br#"{"event": "COMM_STUCK", "peer": {"addr": "10.0.0.2<4711>"}, "details": "x"}"#).unwrap();
        assert_eq!(other.kind, RasEventKind::Other("COMM_STUCK".to_owned()));
        assert_eq!((other.host.as_deref(), other.pid, other.details.as_str()), (Some("10.0.0.2<4711>"), None, "x"));
        for bytes in [&b"plain\n"[..], b"{}", b"{\"event\": 3}", b"", b"\xff"] {
            assert!(RasEvent::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
