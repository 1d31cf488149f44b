//! Lists of pairs as OpenTelemetry's variables have them: `key=value,key=value`, with percent signs before what is written in hex.

use percent_encoding::percent_decode_str;

/// The pairs of `text`; the problem where one has no key, no `=`, or is no text.
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, String)>, &'static str> {
    text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(pair).collect()
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("a pair without =. Give key=value,key=value")?;
    // Of what may stand behind a value in W3C's baggage nothing is meant here.
    let decoded = |text: &str| {
        let text = percent_decode_str(text.trim()).decode_utf8().map_err(|_| "what is behind % is no UTF-8")?;
        Ok::<_, &'static str>(text.into_owned())
    };
    let (key, value) = (decoded(key)?, decoded(value)?);
    if key.is_empty() { Err("a pair without a key. Give key=value,key=value") } else { Ok((key, value)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(told in prop::collection::vec((".{1,8}", ".{0,8}"), 0..4)) {
            let code = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let written: Vec<String> = told.iter().map(|(key, value)| format!(" {} = {}", code(key), code(value))).collect();
            prop_assert_eq!(pairs(&written.join(",")), Ok(told));
        }
    }

    #[test]
    fn a_value_may_have_an_equals_sign_and_a_list_an_end() {
        let expected = vec![("authorization".to_owned(), "Basic YTpi==".to_owned())];
        assert_eq!(pairs("authorization=Basic YTpi==,"), Ok(expected));
        assert!(pairs("authorization").is_err() && pairs("=x").is_err() && pairs("a=%ff").is_err());
        assert_eq!(pairs(" , "), Ok(Vec::new()));
    }
}
