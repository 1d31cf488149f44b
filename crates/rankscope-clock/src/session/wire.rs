//! The packet: explicit little-endian, versioned, authenticated.
//!
//! ```text
//!  0  4  magic "RKSC"          16  4  edge src (control: sender)      32  8  first value
//!  4  1  version               20  4  edge dst (control: receiver)    40  8  second value
//!  5  1  kind                  24  4  sequence                        48 16  MAC of all before it
//!  6  2  a tag for each value  28  4  incarnation of the sender
//!  8  8  run id
//! ```
//!
//! A control packet has a body of any length where a probe has its two values. A value is mostly a time stamp that the receiver
//! could not know otherwise; its tag says what made the stamp and which packet it belongs to, so a stamp may travel late and
//! never be taken for another's. Reading is total: whatever the bytes, the answer is a packet or the reason why it is none.

use rankscope_time::Span;

use super::Stamp;
use super::key::{Key, MAC_LEN};
use crate::{Edge, HostInstant, NodeId, StampSource};

/// Length of every packet that is not a control packet.
pub const PROBE_LEN: usize = 64;

/// What comes before the values or the body.
pub const HEADER_LEN: usize = 32;

/// The longest control packet: it fits an Ethernet frame with room for tunnels.
pub const CONTROL_MAX: usize = 1200;

/// The longest body of a control packet.
pub const BODY_MAX: usize = CONTROL_MAX - HEADER_LEN - MAC_LEN;

const MAGIC: [u8; 4] = *b"RKSC";
const VERSION: u8 = 1;

/// What a packet is for. The prober is the edge's `src`, the listener its `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Prober: are you there?
    Syn = 1,
    /// Listener: yes, and this is how often I can answer a train.
    Ack = 2,
    /// Prober: first packet of an exchange.
    Pt1 = 3,
    /// Prober: second packet.
    Pt2 = 4,
    /// Prober: the train is over; what stamps do you owe me?
    Pt3 = 5,
    /// Listener: first answer, with the arrival of `Pt1`.
    Pr1 = 6,
    /// Listener: second answer, with the arrival of `Pt2`.
    Pr2 = 7,
    /// Listener: the stamp still owed, and what was lost.
    Pr3 = 8,
    /// Prober: I close the edge.
    ProberFin = 9,
    /// Listener: I close the edge.
    ListenerFin = 10,
    /// Listener: the prober's end is noted.
    ProberFinAck = 11,
    /// Prober: the listener's end is noted.
    ListenerFinAck = 12,
    /// Between nodes: windows, rounds and results.
    Control = 13,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Syn,
        Self::Ack,
        Self::Pt1,
        Self::Pt2,
        Self::Pt3,
        Self::Pr1,
        Self::Pr2,
        Self::Pr3,
        Self::ProberFin,
        Self::ListenerFin,
        Self::ProberFinAck,
        Self::ListenerFinAck,
        Self::Control,
    ];

    /// Whether the edge's listener is to read it.
    pub fn is_for_listener(self) -> bool {
        matches!(self, Self::Syn | Self::Pt1 | Self::Pt2 | Self::Pt3 | Self::ProberFin | Self::ListenerFinAck)
    }
}

/// Why bytes were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reject {
    /// Not as long as a packet of its kind.
    Length,
    /// Something else's packet.
    Magic,
    /// Another version of this program's.
    Version,
    /// Another run's.
    Run,
    /// Made with another key, or damaged.
    Mac,
    /// A kind that this version does not know.
    Kind,
    /// For an edge or a node that is none of ours, or on another edge's socket.
    Edge,
    /// Of a session that was never agreed on, or is over.
    Session,
    /// Seen before, or too old to tell.
    Replay,
    /// A control message that makes no sense.
    Body,
    /// Of a master that has been succeeded.
    Stale,
    /// Came over a transport that this node does not use.
    Transport,
}

impl Reject {
    /// How many reasons there are.
    pub const COUNT: usize = Self::Transport as usize + 1;
}

/// What says where a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What for.
    pub kind: Kind,
    /// Which run.
    pub run: u64,
    /// Which edge; of a control packet, from whom to whom.
    pub edge: Edge,
    /// Number of the exchange, the attempt or the message.
    pub sequence: u32,
    /// Which process of the sending node.
    pub incarnation: u32,
}

/// One of the two packets of an exchange in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `Pt1` or `Pr1`.
    First,
    /// `Pt2` or `Pr2`.
    Second,
}

impl Leg {
    /// Place in [`crate::Exchange::forward`] and [`crate::Exchange::reverse`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A stamp and the packet it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedStamp {
    /// When, on the sender's clock.
    pub stamp: Stamp,
    /// Which packet of the exchange.
    pub leg: Leg,
    /// How many exchanges before the one the packet names; at most [`CarriedStamp::BACK_MAX`].
    pub back: u8,
}

impl CarriedStamp {
    /// A stamp that is later than this is not worth having.
    pub const BACK_MAX: u8 = 30;
}

/// One of a probe's two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing to say.
    #[default]
    Nothing,
    /// The packet arrived, and no stamp came with it.
    Unstamped,
    /// A time stamp.
    Stamp(CarriedStamp),
    /// Whatever the kind of the packet says it is.
    Number(i64),
}

const TAG_NOTHING: u8 = 0;
const TAG_NUMBER: u8 = 0b100;
const TAG_UNSTAMPED: u8 = 0b1111_1000;

impl Value {
    /// Bits 0 and 1 of a stamp's tag are its source and never zero; bit 2 is its leg; the rest is how far back it reaches.
    fn parts(self) -> (u8, i64) {
        match self {
            Self::Nothing => (TAG_NOTHING, 0),
            Self::Unstamped => (TAG_UNSTAMPED, 0),
            Self::Number(number) => (TAG_NUMBER, number),
            Self::Stamp(CarriedStamp { stamp, leg, back }) => {
                let source = match stamp.source {
                    StampSource::Hardware => 1,
                    StampSource::Kernel => 2,
                    StampSource::User => 3,
                };
                (source | (leg as u8) << 2 | back.min(CarriedStamp::BACK_MAX) << 3, stamp.at.nanos_since_epoch())
            }
        }
    }

    fn of(tag: u8, value: i64) -> Self {
        let source = match tag & 0b11 {
            1 => StampSource::Hardware,
            2 => StampSource::Kernel,
            3 => StampSource::User,
            _ if tag == TAG_NUMBER => return Self::Number(value),
            _ if tag == TAG_UNSTAMPED => return Self::Unstamped,
            _ => return Self::Nothing,
        };
        let leg = if tag & 0b100 == 0 { Leg::First } else { Leg::Second };
        let stamp = Stamp { at: HostInstant::from_nanos_since_epoch(value), source };
        Self::Stamp(CarriedStamp { stamp, leg, back: tag >> 3 })
    }

    /// A span as a number.
    pub(super) fn span(span: Span) -> Self {
        Self::Number(span.as_nanos())
    }
}

/// A packet that was made with the right key for the right run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Where it belongs.
    pub header: Header,
    /// The values of a probe; nothing in a control packet.
    pub values: [Value; 2],
    /// The body of a control packet; empty in a probe.
    pub body: &'a [u8],
}

/// Writes a packet of two values. `header.kind` is not [`Kind::Control`].
pub fn seal_probe(key: &Key, header: &Header, values: [Value; 2]) -> [u8; PROBE_LEN] {
    let mut bytes = [0; PROBE_LEN];
    let [(tag_a, a), (tag_b, b)] = values.map(Value::parts);
    bytes[..HEADER_LEN].copy_from_slice(&header_bytes(header, [tag_a, tag_b]));
    bytes[32..40].copy_from_slice(&a.to_le_bytes());
    bytes[40..48].copy_from_slice(&b.to_le_bytes());
    let mac = key.mac(&bytes[..48]);
    bytes[48..].copy_from_slice(&mac);
    bytes
}

/// Writes a control packet. A body longer than [`BODY_MAX`] is cut, and will be refused by the reader.
pub fn seal_control(key: &Key, header: &Header, body: &[u8]) -> Vec<u8> {
    let body = &body[..body.len().min(BODY_MAX)];
    let mut bytes = Vec::with_capacity(HEADER_LEN + body.len() + MAC_LEN);
    bytes.extend_from_slice(&header_bytes(header, [TAG_NOTHING; 2]));
    bytes.extend_from_slice(body);
    sign(key, bytes)
}

/// Signs bytes, whatever they are: how tests make packets that get past the signature and are wrong all the same.
pub fn sign(key: &Key, mut bytes: Vec<u8>) -> Vec<u8> {
    let mac = key.mac(&bytes);
    bytes.extend_from_slice(&mac);
    bytes
}

/// Reads a packet of run `run`.
///
/// # Errors
///
/// Why it is none, the most telling reason first: a foreign run has a foreign key, and is called what it is.
pub fn open<'a>(bytes: &'a [u8], key: &Key, run: u64) -> Result<Opened<'a>, Reject> {
    if bytes.len() < HEADER_LEN + MAC_LEN || bytes.len() > CONTROL_MAX {
        return Err(Reject::Length);
    }
    let (signed, mac) = bytes.split_at(bytes.len() - MAC_LEN);
    let (head, body) = signed.split_at(HEADER_LEN);
    if head[..4] != MAGIC {
        return Err(Reject::Magic);
    }
    if head[4] != VERSION {
        return Err(Reject::Version);
    }
    let found_run = u64::from_le_bytes(eight(&head[8..]));
    if found_run != run {
        return Err(Reject::Run);
    }
    if !key.made(signed, mac) {
        return Err(Reject::Mac);
    }
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == head[5]).ok_or(Reject::Kind)?;
    let header = Header {
        kind,
        run,
        edge: edge_of(head),
        sequence: u32::from_le_bytes(four(&head[24..])),
        incarnation: u32::from_le_bytes(four(&head[28..])),
    };
    if kind == Kind::Control {
        return Ok(Opened { header, values: [Value::Nothing; 2], body });
    }
    if body.len() != 16 {
        return Err(Reject::Length);
    }
    let value = |i: usize| Value::of(head[6 + i], i64::from_le_bytes(eight(&body[8 * i..])));
    Ok(Opened { header, values: [value(0), value(1)], body: &[] })
}

/// The edge that a packet names, whoever made it: good for a diagnosis and for nothing else.
pub(super) fn claimed_edge(bytes: &[u8]) -> Option<Edge> {
    (bytes.len() >= HEADER_LEN).then(|| edge_of(bytes))
}

fn header_bytes(header: &Header, tags: [u8; 2]) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = VERSION;
    bytes[5] = header.kind as u8;
    bytes[6..8].copy_from_slice(&tags);
    bytes[8..16].copy_from_slice(&header.run.to_le_bytes());
    bytes[16..20].copy_from_slice(&header.edge.src.0.to_le_bytes());
    bytes[20..24].copy_from_slice(&header.edge.dst.0.to_le_bytes());
    bytes[24..28].copy_from_slice(&header.sequence.to_le_bytes());
    bytes[28..32].copy_from_slice(&header.incarnation.to_le_bytes());
    bytes
}

fn edge_of(head: &[u8]) -> Edge {
    let node = |at: usize| NodeId(u32::from_le_bytes(four(&head[at..])));
    Edge { src: node(16), dst: node(20) }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (four(bytes), four(&bytes[4..]));
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests;
