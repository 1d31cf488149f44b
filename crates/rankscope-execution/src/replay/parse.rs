//! Changes out of text: `op:aten::mm=0.8x`, `rank:5=median`, `overlap=perfect`; and `op:aten::mm=0.5x,0.8x`, which are two.
//!
//! A target may hold any character, as names of kernels do, so that the last `=` is the one that counts. Nothing is guessed: a
//! bare number is no factor, as 20 may be meant to be a time, a speed or a percentage.

use rankscope_time::Rank;

use super::{Change, Factor, Reach};

/// Why a text is no change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no value in it.
    #[error(
        "--set {text:?}: there is no value. Write TARGET=VALUE, such as op:aten::mm=0.8x, rank:5=median or overlap=perfect"
    )]
    NoValue {
        /// The text.
        text: String,
    },
    /// It changes something that cannot be changed.
    #[error(
        "--set {text:?}: {target:?} is nothing that can be changed. Write op:NAME, kernel:NAME, host:NAME, host:*, within:NAME, rank:N, \
         collective:KIND, collective:KIND@GROUP, link:inter, link:intra, link:NODE-NODE, overlap, balance, wait, sync, launch or idle{}",
        near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near}?"))
    )]
    NotATarget {
        /// The text.
        text: String,
        /// What is meant to be changed.
        target: String,
        /// What it may have been meant to be.
        near: Option<&'static str>,
    },
    /// A name is missing.
    #[error("--set {text:?}: {sort}: needs a name, as in {example}")]
    NoName {
        /// The text.
        text: String,
        /// What the name is of.
        sort: &'static str,
        /// How it looks with one.
        example: &'static str,
    },
    /// The rank is no number.
    #[error("--set {text:?}: {rank:?} is not a rank; write its number, as in rank:5=median")]
    NotARank {
        /// The text.
        text: String,
        /// What stands there.
        rank: String,
    },
    /// The link is neither of the two.
    #[error(
        "--set {text:?}: {link:?} is not a link; write link:inter for links between nodes, link:0-1 for that between nodes 0 and 1, or link:intra for \
         those within one"
    )]
    NotALink {
        /// The text.
        text: String,
        /// What stands there.
        link: String,
    },
    /// The value is no factor.
    #[error("--set {text:?}: {value:?} is not a factor. Write how many times as {}, as in {}, or 0 for no time at all{also}",
        if *is_speed { "fast" } else { "long" }, if *is_speed { "2x" } else { "0.8x" })]
    NotAFactor {
        /// The text.
        text: String,
        /// The value.
        value: String,
        /// Whether it is that of a speed.
        is_speed: bool,
        /// What else may stand there, as the end of a sentence.
        also: &'static str,
    },
    /// The factor is zero.
    #[error(
        "--set {text:?}: {value} is refused, as it is most often a slip; write 0 where something is to take no time at all"
    )]
    ZeroFactor {
        /// The text.
        text: String,
        /// The value.
        value: String,
    },
    /// The factor is below zero.
    #[error("--set {text:?}: {value} is below zero, and no time is")]
    NegativeFactor {
        /// The text.
        text: String,
        /// The value.
        value: String,
    },
    /// The factor is too large.
    #[error("--set {text:?}: {value} is too large a factor; the largest is {}x", Factor::MOST)]
    LargeFactor {
        /// The text.
        text: String,
        /// The value.
        value: String,
    },
    /// There are too many combinations of values.
    #[error(
        "--set: the lists of values make {combinations} combinations, and at most {} are tried. Give fewer values, or several \
         commands",
        super::changes::COMBINATIONS_MOST
    )]
    TooMany {
        /// How many.
        combinations: usize,
    },
    /// Something takes only one value, and this is another.
    #[error("--set {text:?}: the only value of {target} is {only}")]
    OnlyValue {
        /// The text.
        text: String,
        /// What is changed.
        target: &'static str,
        /// Its value.
        only: &'static str,
    },
}

/// The changes that `text` names: one for each of its values, at least one.
///
/// # Errors
/// [`ChangeError`].
pub fn parse(text: &str) -> Result<Vec<Change>, ChangeError> {
    let no_value = || ChangeError::NoValue { text: text.to_owned() };
    let (target, values) = text.rsplit_once('=').ok_or_else(no_value)?;
    let (target, values) = (target.trim(), values.trim());
    if values.is_empty() {
        return Err(no_value());
    }
    values.split(',').map(|value| one(text, target, value.trim())).collect()
}

/// The change of `target` to one `value`.
fn one(text: &str, target: &str, value: &str) -> Result<Change, ChangeError> {
    let (sort, name) = target.split_once(':').map_or((target, None), |(sort, name)| (sort, Some(name.trim())));
    let named = |sort: &'static str, example: &'static str| {
        let no_name = || ChangeError::NoName { text: text.to_owned(), sort, example };
        name.filter(|name| !name.is_empty()).map(ToOwned::to_owned).ok_or_else(no_name)
    };
    let factor = |also| factor(text, value, false, also);
    let only = |what, only: &'static str, change| match value {
        _ if name.is_some() => Err(not_a_target(text, target)),
        value if value == only => Ok(change),
        _ => Err(ChangeError::OnlyValue { text: text.to_owned(), target: what, only }),
    };
    match sort {
        "op" => Ok(Change::Operator { name: named("op", "op:aten::mm=0.8x")?, factor: factor("")? }),
        "kernel" => Ok(Change::Kernel { name: named("kernel", "kernel:gemm=0.8x")?, factor: factor("")? }),
        "host" if name == Some("*") => Ok(Change::AllHost { factor: factor("")? }),
        "within" => Ok(Change::Within { place: named("within", "within:Block_0=0.5x")?, factor: factor("")? }),
        "host" => Ok(Change::Host { name: named("host", "host:data_loading=0.5x")?, factor: factor("")? }),
        "rank" => {
            let rank = rank(text, &named("rank", "rank:5=median")?)?;
            if value == "median" {
                return Ok(Change::RankAtMedian { rank });
            }
            Ok(Change::RankTimes { rank, factor: factor(", or median")? })
        }
        "collective" => {
            let name = named("collective", "collective:all_reduce@dp=0")?;
            let (kind, group) = name.split_once('@').map_or((name.as_str(), None), |(kind, group)| (kind, Some(group)));
            if kind.is_empty() || group == Some("") {
                return Err(ChangeError::NoName {
                    text: text.to_owned(),
                    sort: "collective",
                    example: "collective:all_reduce@dp=0",
                });
            }
            Ok(Change::Collective { kind: kind.to_owned(), group: group.map(ToOwned::to_owned), factor: factor("")? })
        }
        "link" => {
            let link = named("link", "link:inter=2x")?;
            let reach = reach(&link).ok_or_else(|| ChangeError::NotALink { text: text.to_owned(), link: link.clone() })?;
            Ok(Change::Link { reach, speed: self::factor(text, value, true, "")? })
        }
        "overlap" => only("overlap", "perfect", Change::PerfectOverlap),
        "balance" => only("balance", "perfect", Change::PerfectBalance),
        "wait" => only("wait", "0", Change::PerfectBalance),
        "sync" => only("sync", "0", Change::NoSynchronization),
        "launch" => only("launch", "0", Change::NoLaunchLag),
        "idle" => only("idle", "0", Change::NoLag),
        _ => Err(not_a_target(text, target)),
    }
}

/// The link of that name: `inter`, `intra`, or two nodes as in `0-3`.
fn reach(link: &str) -> Option<Reach> {
    match link {
        "inter" => Some(Reach::Inter),
        "intra" => Some(Reach::Intra),
        _ => {
            let (one, other) = link.split_once('-')?;
            let (one, other) = (one.parse().ok()?, other.parse().ok()?);
            (one != other).then(|| Reach::Between(u32::min(one, other), u32::max(one, other)))
        }
    }
}

const SORTS: [&str; 13] =
    ["op", "kernel", "host", "within", "rank", "collective", "link", "overlap", "balance", "wait", "sync", "launch", "idle"];

fn not_a_target(text: &str, target: &str) -> ChangeError {
    let sort = target.split(':').next().unwrap_or(target).to_ascii_lowercase();
    let near = match sort.as_str() {
        "operator" | "ops" => Some("op"),
        "function" | "annotation" | "python" => Some("host"),
        "module" => Some("within"),
        "comm" | "communication" => Some("collective"),
        sort => {
            let close = SORTS.into_iter().map(|known| (strsim::damerau_levenshtein(known, sort), known));
            close.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| known)
        }
    };
    ChangeError::NotATarget { text: text.to_owned(), target: target.to_owned(), near }
}

fn rank(text: &str, name: &str) -> Result<Rank, ChangeError> {
    name.parse().map(Rank).map_err(|_| ChangeError::NotARank { text: text.to_owned(), rank: name.to_owned() })
}

fn factor(text: &str, value: &str, is_speed: bool, also: &'static str) -> Result<Factor, ChangeError> {
    if value == "0" {
        return Ok(Factor::ZERO);
    }
    let (text, owned) = (text.to_owned(), value.to_owned());
    let number = value.strip_suffix('x').and_then(|number| number.parse::<f64>().ok()).filter(|number| !number.is_nan());
    let Some(number) = number else { return Err(ChangeError::NotAFactor { text, value: owned, is_speed, also }) };
    match Factor::of(number) {
        Some(factor) => Ok(factor),
        None if number == 0.0 => Err(ChangeError::ZeroFactor { text, value: owned }),
        None if number < 0.0 => Err(ChangeError::NegativeFactor { text, value: owned }),
        None => Err(ChangeError::LargeFactor { text, value: owned }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_as_it_is_read() {
        for text in [
            "op:aten::mm=0.8x",
            "kernel:void gemm<a=1, b>(float*)=0.5x",
            "host:train.py(20): load=0",
            "host:*=0.5x",
            "within:Block_0=0.5x",
            "rank:5=median",
            "rank:5=1.2x",
            "collective:all_reduce@dp=0",
            "collective:all_gather=0.5x",
            "link:inter=2x",
            "link:intra=0",
            "link:0-3=2x",
            "overlap=perfect",
            "balance=perfect",
            "sync=0",
            "launch=0",
            "idle=0",
        ] {
            let changes = parse(text).unwrap();
            assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
        }
        assert_eq!(parse("wait=0"), parse("balance=perfect"));
    }

    #[test]
    fn a_list_of_values_is_a_change_for_each() {
        let changes = parse("op:aten::mm=0.5x, 0.8x,0").unwrap();
        let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["op:aten::mm=0.5x", "op:aten::mm=0.8x", "op:aten::mm=0"]);
        assert_eq!(parse("rank:5=median,1.2x").unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_change_is_refused_by_name() {
        let why = |text: &str| parse(text).unwrap_err();
        assert!(matches!(why("op:aten::mm"), ChangeError::NoValue { .. }));
        assert!(matches!(why("op:aten::mm="), ChangeError::NoValue { .. }));
        assert!(matches!(why(""), ChangeError::NoValue { .. }));
        assert!(matches!(why("op:=0.5x"), ChangeError::NoName { .. }));
        assert!(matches!(why("collective:@dp=0"), ChangeError::NoName { .. }));
        assert!(matches!(why("rank:five=median"), ChangeError::NotARank { .. }));
        assert!(matches!(why("rank:-1=median"), ChangeError::NotARank { .. }));
        assert!(matches!(why("link:up=2x"), ChangeError::NotALink { .. }));
        assert!(matches!(why("link:2-2=2x"), ChangeError::NotALink { .. }));
        assert!(matches!(why("link:2-=2x"), ChangeError::NotALink { .. }));
        assert!(matches!(why("colective:all_reduce=0"), ChangeError::NotATarget { near: Some("collective"), .. }));
        assert!(matches!(why("operator:aten::mm=0.5x"), ChangeError::NotATarget { near: Some("op"), .. }));
        assert!(matches!(why("overlap:dp=perfect"), ChangeError::NotATarget { .. }));
        assert!(matches!(why("overlap=0"), ChangeError::OnlyValue { only: "perfect", .. }));
        for value in ["0.8", "80%", "x", "", "fast", "NaNx", "nanx", "median"] {
            let error = parse(&format!("op:aten::mm=0.5x,{value}")).unwrap_err();
            assert!(matches!(error, ChangeError::NotAFactor { .. }), "{value}");
        }
        for value in ["0x", "0.0x", "-0x", "0e5x"] {
            assert!(matches!(why(&format!("op:a={value}")), ChangeError::ZeroFactor { .. }), "{value}");
        }
        for value in ["-1x", "-0.5x", "-infx"] {
            assert!(matches!(why(&format!("op:a={value}")), ChangeError::NegativeFactor { .. }), "{value}");
        }
        for value in ["infx", "1e300x", "1001x"] {
            assert!(matches!(why(&format!("op:a={value}")), ChangeError::LargeFactor { .. }), "{value}");
        }
        assert!(why("op:a=0.8").to_string().contains("as in 0.8x"), "{}", why("op:a=0.8"));
    }
}
