//! JSON text, as far as a recording needs it: values of metadata are JSON, and the recorder has to quote texts and to know
//! whether what a program hands it is JSON at all.
//!
//! It makes no values and reads none. A library that does would be a third of what a program compiles to record itself; that this
//! agrees with one is a law, tested below.

/// How deep lists and objects may nest; common parsers stop at 128, the rest of the file included.
const DEPTH_MAX: usize = 100;

/// Appends `string` in quotes.
pub fn quote(text: &mut Vec<u8>, string: &str) {
    text.push(b'"');
    let mut plain = 0;
    for (at, byte) in string.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        text.extend_from_slice(&string.as_bytes()[plain..at]);
        plain = at + 1;
        match byte {
            // Perfetto's engine takes the quote behind an escaped backslash for an escaped quote.
            b'\\' if plain == string.len() => text.extend_from_slice(b"\\u005c"),
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\r' => text.extend_from_slice(b"\\r"),
            _ => text.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex_digit(byte >> 4), hex_digit(byte & 15)]),
        }
    }
    text.extend_from_slice(&string.as_bytes()[plain..]);
    text.push(b'"');
}

/// `string` in quotes.
pub fn quoted(string: &str) -> String {
    let mut text = Vec::with_capacity(string.len() + 2);
    quote(&mut text, string);
    // What was UTF-8 still is: only ASCII was put in.
    String::from_utf8(text).unwrap_or_default()
}

/// Whether `text` is one JSON value that readers take: numbers finite as doubles, surrogates in pairs, not nested too deep.
pub fn is_json(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    rest.value(DEPTH_MAX).is_some() && rest.next_token().is_none()
}

/// A digit of a hexadecimal number, below 16.
pub fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

/// What is left to look at. Steps give nothing where the text is no JSON.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn value(&mut self, levels: usize) -> Option<()> {
        match self.next_token()? {
            b'"' => self.string(),
            b'[' => self.list(b']', levels.checked_sub(1)?, Self::value),
            b'{' => self.list(b'}', levels.checked_sub(1)?, |rest, levels| {
                rest.token(b'"')?;
                rest.string()?;
                rest.token(b':')?;
                rest.value(levels)
            }),
            b't' => self.word(b"rue"),
            b'f' => self.word(b"alse"),
            b'n' => self.word(b"ull"),
            first @ (b'-' | b'0'..=b'9') => self.number(first),
            _ => None,
        }
    }

    /// Elements with commas in between, behind the opening bracket.
    fn list(&mut self, close: u8, levels: usize, element: fn(&mut Self, usize) -> Option<()>) -> Option<()> {
        let mut ahead = Rest(self.0);
        if ahead.next_token()? == close {
            self.0 = ahead.0;
            return Some(());
        }
        loop {
            element(self, levels)?;
            match self.next_token()? {
                b',' => {}
                byte => return (byte == close).then_some(()),
            }
        }
    }

    /// Behind the opening quote.
    fn string(&mut self) -> Option<()> {
        loop {
            match self.byte()? {
                b'"' => return Some(()),
                b'\\' => match self.byte()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => match self.unit()? {
                        0xd800..0xdc00 => {
                            self.word(b"\\u")?;
                            (0xdc00..0xe000).contains(&self.unit()?).then_some(())?;
                        }
                        0xdc00..0xe000 => return None,
                        _ => {}
                    },
                    _ => return None,
                },
                0..b' ' => return None,
                _ => {}
            }
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit << 4 | char::from(self.byte()?).to_digit(16)?))
    }

    fn number(&mut self, first: u8) -> Option<()> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let len = self.0.iter().take_while(|byte| is_part(byte)).count();
        let (more, rest) = self.0.split_at(len);
        self.0 = rest;
        let mut digits = vec![first];
        digits.extend_from_slice(more);
        let value: f64 = std::str::from_utf8(&digits).ok()?.parse().ok()?;
        (value.is_finite() && has_shape(&digits)).then_some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    fn token(&mut self, token: u8) -> Option<()> {
        (self.next_token()? == token).then_some(())
    }

    fn next_token(&mut self) -> Option<u8> {
        let blanks = self.0.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.0 = &self.0[blanks..];
        self.byte()
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }
}

/// Whether a number that Rust reads is one in JSON too, which wants digits on both sides of the point and no zero in front.
fn has_shape(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let (mantissa, _) = digits.split_at(digits.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(digits.len()));
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(point) => (&mantissa[..point], Some(&mantissa[point + 1..])),
        None => (mantissa, None),
    };
    !whole.is_empty()
        && (whole.len() == 1 || whole[0] != b'0')
        && whole[0] != b'+'
        && fraction.is_none_or(|digits| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agrees(text: &str) -> bool {
        is_json(text) == serde_json::from_str::<serde_json::Value>(text).is_ok()
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::hash_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn strings_come_back(string: String) {
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&string)).unwrap(), string);
        }

        #[test]
        fn what_a_library_writes_is_json(value in json(), is_pretty: bool) {
            let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            prop_assert!(is_json(&text), "{}", text);
        }

        #[test]
        fn a_library_takes_what_is_json_and_nothing_else(text in "[\\[\\]{}\",:0-9a-z.eE+\\- \n\\\\]{0,12}|\\PC*", number in "-?[0-9.eE+-]{1,6}") {
            prop_assert!(agrees(&text) && agrees(&number), "{} {}", text, number);
        }

        /// One byte of JSON changed is most often none.
        #[test]
        fn a_library_agrees_on_damage(value in json(), at: prop::sample::Index, by in "[\"\\\\,:\\[\\]{}0-9 ue\\x00-\\x1f]") {
            let mut text: Vec<char> = value.to_string().chars().collect();
            let at = at.index(text.len());
            text[at] = by.chars().next().unwrap();
            let text: String = text.into_iter().collect();
            prop_assert!(agrees(&text), "{}", text);
        }
    }

    #[test]
    fn the_edges_are_where_a_library_has_them() {
        for text in [
            "",
            " ",
            "1 2",
            "01",
            "-0",
            "-",
            "1.",
            ".5",
            "+1",
            "1e5",
            "1e",
            "1e999",
            "-1e-999",
            "nul",
            "null ",
            "[1,]",
            "[,]",
            "[]",
            "{}",
            "{\"a\"}",
            "{\"a\":1,}",
            "{1:2}",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud800\\u0041\"",
            "\"\\x\"",
            "\"tab\t\"",
            "\"open",
            "inf",
            "NaN",
            "\u{feff}1",
        ] {
            assert!(agrees(text), "{text:?}");
        }
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(is_json(&nested(100)) && !is_json(&nested(101)));
    }
}
