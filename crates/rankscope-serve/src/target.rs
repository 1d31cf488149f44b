//! What a request is about: the segments of a path, and the pairs of a query.
//!
//! A segment is the name of one thing in one place. Whatever could lead to another place, or could be read in two ways, is refused here once,
//! so that nobody behind need think of it: `..` and `.`, separators of any system, plain or encoded, controls, and what is no UTF-8.

use percent_encoding::percent_decode_str;

use crate::response::Refusal;

/// Bytes of a target.
const BYTES_MAX: usize = 4 << 10;
/// Segments of a path.
const SEGMENTS_MAX: usize = 16;
/// Pairs of a query.
const PAIRS_MAX: usize = 16;

/// A path and a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    segments: Vec<String>,
    ends_open: bool,
    query: Vec<(String, String)>,
}

impl Target {
    /// Parses what stands between the method and the version.
    ///
    /// # Errors
    /// [`Refusal::Path`] and [`Refusal::Query`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.len() > BYTES_MAX {
            return Err(Refusal::Path);
        }
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let path = path.strip_prefix('/').ok_or(Refusal::Path)?;
        let (path, ends_open) = path.strip_suffix('/').map_or((path, path.is_empty()), |path| (path, true));
        let segments = match path {
            "" if text.starts_with("//") => return Err(Refusal::Path),
            "" => Vec::new(),
            path => path.split('/').map(segment).collect::<Result<Vec<_>, _>>()?,
        };
        if segments.len() > SEGMENTS_MAX {
            return Err(Refusal::Path);
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect::<Result<Vec<_>, _>>()?;
        if pairs.len() > PAIRS_MAX {
            return Err(Refusal::Query);
        }
        Ok(Self { segments, ends_open, query: pairs })
    }

    /// The names on the way.
    pub fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// Whether it ends in a slash, and so is where others are.
    pub fn ends_open(&self) -> bool {
        self.ends_open
    }

    /// The value of `key`; of several the first.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }
}

fn segment(text: &str) -> Result<String, Refusal> {
    let name = decoded(text).ok_or(Refusal::Path)?;
    let leads_away = name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\']);
    if leads_away || name.chars().any(char::is_control) { Err(Refusal::Path) } else { Ok(name) }
}

fn pair(text: &str) -> Result<(String, String), Refusal> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let plain = |text: &str| decoded(&text.replace('+', " ")).ok_or(Refusal::Query);
    Ok((plain(key)?, plain(value)?))
}

/// `text` without its encoding; none where it is no UTF-8, or an escape is none.
fn decoded(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.get(..2).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_once() {
        let target = Target::parse("/runs/a%20b%2525/?q=x+y&q=z&%3D=%26").expect("it is fine");
        assert_eq!(target.segments(), ["runs", "a b%25"]);
        assert!(target.ends_open());
        assert_eq!((target.value("q"), target.value("="), target.value("r")), (Some("x y"), Some("&"), None));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let bad = [
            "",
            "x",
            "//",
            "//etc",
            "/a//b",
            "/..",
            "/a/../b",
            "/.",
            "/%2e%2e/a",
            "/.%2E",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/%00",
            "/a%0ab",
            "/%",
            "/%g1",
            "/%ff",
            "http://a/b",
            "*",
            "/a/%2e",
        ];
        for text in bad {
            assert_eq!(Target::parse(text), Err(Refusal::Path), "{text}");
        }
        assert_eq!(Target::parse("/?a=%zz"), Err(Refusal::Query));
        assert_eq!(Target::parse(&format!("/{}", "a/".repeat(17))), Err(Refusal::Path));
        assert_eq!(Target::parse(&format!("/?{}", "a&".repeat(17))), Err(Refusal::Query));
    }
}
