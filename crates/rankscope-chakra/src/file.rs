//! A file of the schema 0.0.4 of MLCommons' Chakra (`et_def.proto`): a message about the file and a message a node, each behind
//! its length. Attributes have the types that the feeders of its repository read.

use rankscope_formats::wire::Encoder;
use rankscope_time::Span;

/// Identifies a node within its file.
pub(crate) type Id = u64;

/// What a node does.
pub(crate) enum Node<'a> {
    /// Computation of this many operations.
    Compute {
        time: Span,
        operations: u64,
    },
    /// A copy that reads and writes so many bytes.
    Copy {
        time: Span,
        bytes: u64,
    },
    /// A message from `src` to `dst`, as the one or the other sees it.
    Send(&'a Message),
    Receive(&'a Message),
}

/// What a send and a receive agree on.
pub(crate) struct Message {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) bytes: u64,
    /// Tells messages between the same two apart.
    pub(crate) tag: u32,
}

/// Types of nodes, as numbered there.
const COMPUTATION: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;

/// A file as it grows.
pub(crate) struct File {
    encoder: Encoder,
    next: Id,
}

impl File {
    pub(crate) fn new() -> Self {
        let mut encoder = Encoder::default();
        encoder.delimited(|message| {
            message.string(1, "0.0.4");
        });
        Self { encoder, next: 0 }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.encoder.into_bytes()
    }

    /// Appends a node that takes what `data` made, and comes after `order`.
    pub(crate) fn node(&mut self, name: &str, node: &Node<'_>, data: &[Id], order: &[Id]) -> Id {
        let id = self.next;
        self.next += 1;
        self.encoder.delimited(|message| {
            message.varint(1, id).string(2, name).varint(3, node.kind());
            packed(message, 4, order);
            packed(message, 5, data);
            if let Node::Compute { time, .. } | Node::Copy { time, .. } = node {
                // Whole microseconds are all that the schema has; none that is done takes no time.
                message.varint(7, (time.as_nanos().max(0) as u64).div_ceil(1_000));
            }
            attribute(message, "is_cpu_op", 27, 0);
            node.attributes(message);
        });
        id
    }
}

/// Where the values of attributes stand, by type.
const INT32: u32 = 7;
const INT64: u32 = 9;
const UINT64: u32 = 13;

impl Node<'_> {
    fn kind(&self) -> u64 {
        match self {
            Self::Compute { .. } | Self::Copy { .. } => COMPUTATION,
            Self::Send(_) => SEND,
            Self::Receive(_) => RECEIVE,
        }
    }

    fn attributes(&self, message: &mut Encoder) {
        match self {
            // Simulators that have a roofline divide the one by the other: computation is bound by operations, a copy by bytes.
            Self::Compute { operations, .. } => {
                attribute(message, "num_ops", INT64, *operations);
                attribute(message, "tensor_size", UINT64, 1);
            }
            Self::Copy { bytes, .. } => {
                attribute(message, "num_ops", INT64, 1);
                attribute(message, "tensor_size", UINT64, *bytes);
            }
            Self::Send(one) | Self::Receive(one) => {
                attribute(message, "comm_size", INT64, one.bytes);
                attribute(message, "comm_src", INT32, one.src.into());
                attribute(message, "comm_dst", INT32, one.dst.into());
                attribute(message, "comm_tag", INT32, one.tag.into());
            }
        }
    }
}

fn attribute(message: &mut Encoder, name: &str, field: u32, value: u64) {
    message.message(10, |attribute| {
        attribute.string(1, name).varint(field, value);
    });
}

/// A list of numbers.
fn packed(message: &mut Encoder, field: u32, ids: &[Id]) {
    if ids.is_empty() {
        return;
    }
    let mut list = Encoder::default();
    for id in ids {
        list.bare_varint(*id);
    }
    message.bytes_field(field, list.bytes());
}
