//! Variables as a command line gives them: `NAME=V1,V2` is a variable with the values to try, `LABEL:NAME=V,NAME=V` a case.
//!
//! A comma ends a value; `\,` is a comma in one, `\\` a backslash, and any other backslash is itself.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::Error;

/// A variable and the values that a sweep gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// At least one, all different. A single one may be empty.
    pub values: Vec<String>,
}

/// A configuration that is given as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it is called.
    pub label: String,
    /// What it sets; may be nothing.
    pub set: BTreeMap<String, String>,
}

impl FromStr for Variable {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, list) = pair(text)?;
        let values = split(list);
        if values.len() > 1 && values.iter().any(String::is_empty) {
            return Err(Error::EmptyValue { text: text.to_owned() });
        }
        for (at, value) in values.iter().enumerate() {
            check_value(name, value)?;
            if values[..at].contains(value) {
                return Err(Error::SameValue { name: name.to_owned(), value: value.clone() });
            }
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (label, list) = text.split_once(':').unwrap_or((text, ""));
        // Without a colon this is a list of variables, or a label alone; neither says what it is about.
        if label.trim().is_empty() || !text.contains(':') || label.contains('=') {
            return Err(Error::NoLabel { text: text.to_owned() });
        }
        let mut set = BTreeMap::new();
        for item in split(list).iter().filter(|_| !list.is_empty()) {
            let (name, value) = pair(item)?;
            check_value(name, value)?;
            if set.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(Error::SameVariable { name: name.to_owned() });
            }
        }
        Ok(Self { label: label.to_owned(), set })
    }
}

/// Variables that `rankscope run` gives each process of a run. A value of a sweep would be lost.
const RESERVED: [&str; 3] = ["RANKSCOPE_RUN_DIR", "RANKSCOPE_RAW_DIR", "RANKSCOPE_RUN_ID"];

/// Variables that ranks get which are started here, with `-n`.
const OF_RANKS: [&str; 6] = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"];

/// Refuses `name` where each run gets it from rankscope: always, or because ranks are started here (`numbered`).
pub(crate) fn refuse_reserved(name: &str, numbered: bool) -> Result<(), Error> {
    let taken = RESERVED.contains(&name) || numbered && OF_RANKS.contains(&name);
    if taken { Err(Error::Reserved { name: name.to_owned() }) } else { Ok(()) }
}

fn pair(text: &str) -> Result<(&str, &str), Error> {
    let named = text.split_once('=').filter(|(name, _)| is_name(name));
    named.ok_or_else(|| Error::NoVariable { text: text.to_owned() })
}

/// As shells have it: what else is in an environment no job reads.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_of_name)
}

pub(crate) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn check_value(name: &str, value: &str) -> Result<(), Error> {
    if value.contains('\0') { Err(Error::Nul { name: name.to_owned() }) } else { Ok(()) }
}

/// `text` at its commas.
fn split(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped = (c == '\\').then(|| rest.next_if(|next| matches!(next, ',' | '\\'))).flatten();
        match (c, escaped, items.last_mut()) {
            (_, Some(escaped), Some(item)) => item.push(escaped),
            (',', ..) => items.push(String::new()),
            (_, _, Some(item)) => item.push(c),
            (_, _, None) => {}
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(text: &str) -> Result<(String, Vec<String>), Error> {
        text.parse().map(|variable: Variable| (variable.name, variable.values))
    }

    #[test]
    fn values_are_between_commas_that_are_not_escaped() {
        let table: [(&str, &[&str]); 7] = [
            ("A=4,8,16", &["4", "8", "16"]),
            ("A=", &[""]),
            ("A=a=b,c d", &["a=b", "c d"]),
            (r"A=x\,y,z", &["x,y", "z"]),
            (r"A=C:\x,D:\\", &[r"C:\x", r"D:\"]),
            (r"A=\", &[r"\"]),
            ("_a1=/tmp/x", &["/tmp/x"]),
        ];
        for (text, values) in table {
            assert_eq!(variable(text).unwrap().1, values, "{text}");
        }
    }

    #[test]
    fn slips_are_named() {
        assert!(matches!(variable("A"), Err(Error::NoVariable { .. })));
        assert!(matches!(variable("=4"), Err(Error::NoVariable { .. })));
        assert!(matches!(variable("1A=4"), Err(Error::NoVariable { .. })));
        assert!(matches!(variable("A B=4"), Err(Error::NoVariable { .. })));
        assert!(matches!(variable("A=4,,8"), Err(Error::EmptyValue { .. })));
        assert!(matches!(variable("A=4,"), Err(Error::EmptyValue { .. })));
        assert!(matches!(variable("A=4,4"), Err(Error::SameValue { .. })));
        assert!(matches!(variable("A=\0"), Err(Error::Nul { .. })));
    }

    #[test]
    fn a_case_has_a_label_and_may_set_nothing() {
        let case = |text: &str| text.parse::<Case>();
        let full = case(r"fast net:NCCL_ALGO=Ring,HOSTS=a:1\,b:2,EMPTY=").unwrap();
        assert_eq!(full.label, "fast net");
        let expected = [("EMPTY", ""), ("HOSTS", "a:1,b:2"), ("NCCL_ALGO", "Ring")];
        assert_eq!(full.set, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert!(case("plain:").unwrap().set.is_empty());
        for text in ["A=1", ":A=1", "plain", "A=x:y"] {
            assert!(matches!(case(text), Err(Error::NoLabel { .. })), "{text}");
        }
        assert!(matches!(case("x:A"), Err(Error::NoVariable { .. })));
        assert!(matches!(case("x:A=1,A=2"), Err(Error::SameVariable { .. })));
    }
}
