//! Walking JSON text byte by byte, or 64 at a time, without building anything.
//!
//! Every function takes the text and a position and returns where the thing found there ends; `None` says that it is cut short
//! or is not there. In [`Mode::Lenient`] a quote ends a string only where JSON could go on after it, which reads through
//! quotes a writer forgot to escape.

use memchr::memchr2;

#[cfg(target_arch = "x86_64")]
use super::mask::block_avx2;
use super::mask::{Block, block, prefix_xor};

/// How strictly strings end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// At the first quote that is not escaped.
    Strict,
    /// At the first such quote that a colon, comma or closing bracket follows.
    Lenient,
}

/// The position of the first byte that is not white space.
#[inline]
pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// The position of the quote that closes the string opened at `at`, and whether it holds a backslash.
#[inline]
pub(crate) fn string_end(text: &[u8], at: usize, mode: Mode) -> Option<(usize, bool)> {
    // Keys, phases and categories are a few letters long: looking at each byte beats a call.
    let short = text.get(at + 1..at + 1 + SHORT_STRING).unwrap_or_default();
    if mode == Mode::Strict
        && let Some(len) = short.iter().position(|byte| matches!(byte, b'"' | b'\\'))
        && short[len] == b'"'
    {
        return Some((at + 1 + len, false));
    }
    long_string_end(text, at, mode)
}

/// Strings up to this length are looked through byte by byte.
const SHORT_STRING: usize = 8;

fn long_string_end(text: &[u8], at: usize, mode: Mode) -> Option<(usize, bool)> {
    let mut at = at + 1;
    let mut escaped = false;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'\\' {
            escaped = true;
            at += 2;
        } else if mode == Mode::Lenient && !json_goes_on(text, at + 1) {
            at += 1;
        } else {
            return Some((at, escaped));
        }
    }
}

/// Whether what follows a quote at `at` is what may follow a string: the end of the text, a colon, a closing bracket, or a comma
/// before the next key or value.
fn json_goes_on(text: &[u8], at: usize) -> bool {
    let at = skip_space(text, at);
    match text.get(at) {
        None | Some(b':' | b'}' | b']') => true,
        Some(b',') => {
            let next = skip_space(text, at + 1);
            matches!(text.get(next), None | Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
        }
        Some(_) => false,
    }
}

/// The end of the number or word at `at`: the first byte that cannot belong to one.
pub(super) fn scalar_end(text: &[u8], mut at: usize) -> Option<usize> {
    let start = at;
    while let Some(byte) = text.get(at) {
        if matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
            return (at > start).then_some(at);
        }
        if matches!(byte, b'"' | b'{' | b'[' | b':') {
            return None;
        }
        at += 1;
    }
    None
}

/// The end of whatever value starts at `at`. `controls` counts raw control characters in the strings of an object or array.
pub(crate) fn value_end(text: &[u8], at: usize, mode: Mode, controls: &mut u64) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at, mode).map(|(end, _)| end + 1),
        b'{' | b'[' if mode == Mode::Strict => container_end(text, at, controls),
        b'{' | b'[' => container_end_lenient(text, at, controls),
        _ => scalar_end(text, at),
    }
}

/// How many raw control characters a string's text holds.
pub(super) fn count_controls(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte < 0x20).count() as u64
}

/// The end of the object or array that opens at `at`, 64 bytes at a time. Brackets are counted, not paired.
fn container_end(text: &[u8], at: usize, controls: &mut u64) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1") {
        #[expect(unsafe_code, reason = "half the instructions of SSE2, on every machine of the last ten years")]
        // SAFETY: the features it is compiled for were just detected, and it touches memory through safe code only.
        return unsafe { container_end_avx2(text, at, controls) };
    }
    container_end_by(text, at, controls, block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn container_end_avx2(text: &[u8], at: usize, controls: &mut u64) -> Option<usize> {
    container_end_by(text, at, controls, |bytes| block_avx2(bytes))
}

#[inline(always)]
fn container_end_by(text: &[u8], at: usize, controls: &mut u64, block: impl Fn(&[u8; 64]) -> Block) -> Option<usize> {
    let mut depth = 0u32;
    let mut inside = 0u64; // all ones while a string runs on from the block before
    let mut escape = false; // the block before ended in a backslash that escapes
    let mut base = at;
    loop {
        let rest = text.get(base..).filter(|rest| !rest.is_empty())?;
        let found = match rest.first_chunk::<64>() {
            Some(full) => block(full),
            None => {
                // Padding with blanks changes nothing: no bracket, no quote.
                let mut padded = [b' '; 64];
                padded[..rest.len()].copy_from_slice(rest);
                block(&padded)
            }
        };
        let escaped = if found.backslashes == 0 && !escape { 0 } else { escaped_bytes(found.backslashes, &mut escape) };
        let strings = prefix_xor(found.quotes & !escaped) ^ inside;
        inside = ((strings as i64) >> 63) as u64;
        let (opens, closes) = (found.opens & !strings, found.closes & !strings);
        let controls_here = found.controls & strings;
        if depth > closes.count_ones() {
            depth = depth + opens.count_ones() - closes.count_ones();
        } else if let Some(end) = zero_crossing(opens, closes, &mut depth) {
            *controls += u64::from((controls_here & ((1 << end) - 1)).count_ones());
            return Some(base + end + 1);
        }
        *controls += u64::from(controls_here.count_ones());
        base += 64;
    }
}

/// The bit at which the nesting depth comes back to zero, if it does within this block.
fn zero_crossing(opens: u64, closes: u64, depth: &mut u32) -> Option<usize> {
    let mut brackets = opens | closes;
    while brackets != 0 {
        let bit = brackets.trailing_zeros();
        brackets &= brackets - 1;
        if opens >> bit & 1 == 1 {
            *depth += 1;
        } else {
            // Starts at an opening bracket, so the depth is at least one here.
            *depth = depth.saturating_sub(1);
            if *depth == 0 {
                return Some(bit as usize);
            }
        }
    }
    None
}

/// Which bytes of a block a backslash escapes; `carry` says whether the block's first byte is, and then whether the next one's.
fn escaped_bytes(backslashes: u64, carry: &mut bool) -> u64 {
    let mut escaped = u64::from(*carry);
    let mut rest = backslashes & !escaped;
    *carry = false;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        if bit == 63 {
            *carry = true;
        } else {
            escaped |= 1 << (bit + 1);
            rest &= !(1 << (bit + 1));
        }
    }
    escaped
}

fn container_end_lenient(text: &[u8], mut at: usize, controls: &mut u64) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'"' => {
                let (end, _) = string_end(text, at, Mode::Lenient)?;
                *controls += count_controls(&text[at + 1..end]);
                at = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The members of the object that opens at `at`: key and value, both as raw text (the key without its quotes, the value with
/// them). Ends at the closing brace or at the first thing that is no member.
pub(super) struct Members<'a> {
    text: &'a [u8],
    at: usize,
    mode: Mode,
}

/// What stood before the value of a member: everything since the value before it, and in it the key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead<'a> {
    text: &'a [u8],
    key: &'a [u8],
}

impl<'a> Members<'a> {
    pub(super) fn of(text: &'a [u8], at: usize, mode: Mode) -> Self {
        Self { text, at: at + 1, mode }
    }

    /// Whether what has been walked so far ends at the closing brace, and not at something that is no member.
    pub(super) fn at_end(&self) -> bool {
        self.text.get(skip_space(self.text, self.at)) == Some(&b'}')
    }

    /// The next member, as [`Iterator::next`] has it. Where `lead` stands before its value, letter by letter, the key is not looked for;
    /// where not, `lead` becomes what does.
    pub(super) fn next_led(&mut self, lead: &mut Lead<'a>) -> Option<(&'a [u8], &'a [u8])> {
        let from = self.at;
        let rest = self.text.get(from..)?;
        if !lead.text.is_empty() && rest.starts_with(lead.text) {
            let start = from + lead.text.len();
            if let Some(end) = value_end(self.text, start, self.mode, &mut 0) {
                self.at = end;
                return Some((lead.key, &self.text[start..end]));
            }
        }
        let (key, value) = self.next()?;
        *lead = Lead { text: &self.text[from..self.at - value.len()], key };
        Some((key, value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut at = skip_space(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = skip_space(self.text, at + 1);
        }
        if self.text.get(at) != Some(&b'"') {
            return None;
        }
        let (end, _) = string_end(self.text, at, self.mode)?;
        let key = &self.text[at + 1..end];
        let colon = skip_space(self.text, end + 1);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        let start = skip_space(self.text, colon + 1);
        self.at = value_end(self.text, start, self.mode, &mut 0)?;
        Some((key, &self.text[start..self.at]))
    }
}

/// The items of the array that opens at `at`, as raw text. Ends at the closing bracket or at the first thing that is no value.
pub(super) struct Items<'a> {
    text: &'a [u8],
    at: usize,
    mode: Mode,
}

impl<'a> Items<'a> {
    pub(super) fn of(text: &'a [u8], at: usize, mode: Mode) -> Self {
        Self { text, at: at + 1, mode }
    }

    /// Whether what has been walked so far ends at the closing bracket.
    pub(super) fn at_end(&self) -> bool {
        self.text.get(skip_space(self.text, self.at)) == Some(&b']')
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut start = skip_space(self.text, self.at);
        if self.text.get(start) == Some(&b',') {
            start = skip_space(self.text, start + 1);
        }
        if self.text.get(start) == Some(&b']') {
            return None;
        }
        self.at = value_end(self.text, start, self.mode, &mut 0)?;
        Some(&self.text[start..self.at])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end(text: &str, mode: Mode) -> Option<usize> {
        value_end(text.as_bytes(), 0, mode, &mut 0)
    }

    #[test]
    fn values_end_where_they_end() {
        for (text, len) in
            [(r#""a\"b" ,"#, 6), (r#"{"a": "}{", "b": [1, 2]}, x"#, 24), ("[[],[{}]] ", 9), ("-1.5e3,", 6), ("null}", 4)]
        {
            assert_eq!(end(text, Mode::Strict), Some(len), "{text}");
            assert_eq!(end(text, Mode::Lenient), Some(len), "{text}");
        }
        for cut in [r#"{"a": "}"#, "[1, 2", r#""a\""#, "12", ""] {
            assert_eq!(end(cut, Mode::Strict), None, "{cut}");
        }
    }

    proptest! {
        /// Objects with few keys, so that one often begins as another does, and blanks anywhere.
        #[test]
        fn members_are_the_same_whatever_leads(
            objects in proptest::collection::vec("\\{( {0,1}\"(a|ab|name)\" {0,1}: {0,1}(1|\"x\"|\\[2\\]|) {0,1},{0,1}){0,4} {0,1}\\}{0,1}", 1..6)
        ) {
            let mut leads = [Lead::default(); 6];
            for object in &objects {
                let text = object.as_bytes();
                let (mut led, plain) = (Members::of(text, 0, Mode::Strict), Members::of(text, 0, Mode::Strict));
                let all: Vec<_> = leads.iter_mut().map_while(|lead| led.next_led(lead)).collect();
                prop_assert_eq!(all, plain.collect::<Vec<_>>(), "{}", object);
            }
        }
    }

    #[test]
    fn items_are_walked_up_to_the_bracket() {
        let walked = |text: &'static str| {
            let mut items = Items::of(text.as_bytes(), 0, Mode::Strict);
            let all: Vec<_> = items.by_ref().map(String::from_utf8_lossy).collect();
            (all, items.at_end())
        };
        assert_eq!(
            walked(r#"[ 1,"a,]", [2, {"b": 3}] ]"#),
            (vec!["1".into(), r#""a,]""#.into(), r#"[2, {"b": 3}]"#.into()], true)
        );
        assert_eq!(walked("[]"), (vec![], true));
        assert_eq!(walked("[1, 2"), (vec!["1".into()], false));
    }

    #[test]
    fn lenient_strings_swallow_their_quotes() {
        let text = r#"{"name": "operator"" int", "k": 1}"#;
        assert_eq!(end(text, Mode::Lenient), Some(text.len()));
        let members: Vec<_> = Members::of(text.as_bytes(), 0, Mode::Lenient).collect();
        assert_eq!(members, [(&b"name"[..], &br#""operator"" int""#[..]), (b"k", b"1")]);
    }

    #[test]
    fn control_characters_count_only_inside_strings() {
        let mut controls = 0;
        let text = format!("{{\n\"a\": \"x\ny\", {} \"b\": \"\u{1}\"}}\n\"\n\"", " ".repeat(80));
        value_end(text.as_bytes(), 0, Mode::Strict, &mut controls);
        assert_eq!(controls, 2);
    }

    proptest! {
        /// 64 bytes at a time or one by one, legal JSON ends at the same place.
        #[test]
        fn both_ways_agree(texts in prop::collection::vec("[a-z{}\\[\\]\"\\\\\u{e9}]{0,40}", 1..8), pad in 0usize..70) {
            let object: serde_json::Map<_, _> = texts.iter().enumerate()
                .map(|(i, text)| (format!("{text}{i}"), serde_json::json!([text, {"n": i}]))).collect();
            let json = serde_json::Value::Object(object).to_string();
            let padded = format!("{}{json}, trailing \"{{", " ".repeat(pad));
            prop_assert_eq!(container_end(padded.as_bytes(), pad, &mut 0), Some(pad + json.len()));
        }
    }
}
