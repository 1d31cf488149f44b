//! Protobuf, as much of it as one plane needs.

/// A message under construction.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn varint(&mut self, field: u32, value: u64) -> &mut Self {
        self.raw(u64::from(field) << 3);
        self.raw(value);
        self
    }

    pub(crate) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.varint(field, value.cast_unsigned())
    }

    pub(crate) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    pub(crate) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        const LENGTH_DELIMITED: u64 = 2;
        self.raw(u64::from(field) << 3 | LENGTH_DELIMITED);
        self.raw(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_protobufs_own_examples() {
        let mut message = Message::default();
        message.varint(1, 150).text(2, "testing").message(3, |inner| {
            inner.varint(1, 150);
        });
        let expected =
            [&[0x08, 0x96, 0x01][..], &[0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67], &[0x1a, 0x03, 0x08, 0x96, 0x01]];
        assert_eq!(message.into_bytes(), expected.concat());
    }
}
