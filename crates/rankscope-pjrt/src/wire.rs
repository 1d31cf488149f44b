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

/// How many of the first bytes are whole fields of a message, whatever it is of.
pub(crate) fn whole(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = behind_field(bytes, at) {
        at = next;
    }
    at
}

/// Where the field ends that begins `at`; none where none does, or it is cut off.
fn behind_field(bytes: &[u8], at: usize) -> Option<usize> {
    let (tag, at) = varint(bytes, at)?;
    let end = match (tag >> 3, tag & 7) {
        (0, _) => return None,
        (_, 0) => varint(bytes, at)?.1,
        (_, 1) => at.checked_add(8)?,
        (_, 2) => {
            let (length, at) = varint(bytes, at)?;
            at.checked_add(usize::try_from(length).ok()?)?
        }
        (_, 5) => at.checked_add(4)?,
        // Groups are in no XSpace, and the others are nothing.
        _ => return None,
    };
    (end <= bytes.len()).then_some(end)
}

/// A number of up to 64 bits, and where it ends.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for (place, byte) in bytes.get(at..)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, at + place + 1));
        }
    }
    None
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

    #[test]
    fn of_a_cut_message_the_fields_before_the_cut_are_whole() {
        let mut message = Message::default();
        let mut ends = vec![0];
        for number in 1..40_u32 {
            message.varint(number, u64::from(number) << 40);
            ends.push(message.0.len());
            message.text(number, &"x".repeat(number as usize * 7));
            ends.push(message.0.len());
        }
        // Numbers of a fixed length, too.
        message.raw(3 << 3 | 1);
        message.0.extend([0xff; 8]);
        ends.push(message.0.len());
        message.raw(4 << 3 | 5);
        message.0.extend([0xff; 4]);
        ends.push(message.0.len());
        for cut in 0..=message.0.len() {
            let before = ends.iter().copied().filter(|end| *end <= cut).max();
            assert_eq!(Some(whole(&message.0[..cut])), before, "{cut}");
        }
    }

    #[test]
    fn what_is_no_field_ends_what_is_whole() {
        let valid = [0x0a, 0x01, 0x00];
        for rest in [
            &[0][..],
            &[0x00, 0x01],
            &[0x0b],
            &[0x0c],
            &[0x0f, 1],
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ] {
            assert_eq!(whole(&[&valid[..], rest].concat()), 3, "{rest:?}");
        }
    }
}
