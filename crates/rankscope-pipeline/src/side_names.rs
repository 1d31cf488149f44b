//! Which paths belong to which side, and what the sides are called.

use std::path::{Component, Path, PathBuf};

use crate::sides::SideRequest;

/// What is wrong with a pattern of further runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepeatError {
    /// It is no pattern.
    #[error("--repeat {repeat}: {why}")]
    Malformed {
        /// The pattern as given.
        repeat: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It finds nothing.
    #[error("--repeat {repeat}: nothing matches {pattern}")]
    Nothing {
        /// The pattern as given.
        repeat: String,
        /// The pattern itself.
        pattern: String,
    },
    /// It may be any side's.
    #[error(
        "--repeat {repeat}: which side it belongs to is not clear; write SIDE=PATTERN, where SIDE is base, test or one of {}",
        labels.join(", ")
    )]
    Whose {
        /// The pattern as given.
        repeat: String,
        /// What the sides are called.
        labels: Vec<String>,
    },
}

/// The sides at `paths`, with the runs that the patterns of `repeats` add to them.
///
/// # Errors
/// [`RepeatError`] for the first pattern that adds nothing.
pub fn sides(paths: &[PathBuf], repeats: &[String]) -> Result<Vec<SideRequest>, RepeatError> {
    let labels = labels(paths);
    let mut named: Vec<SideRequest> =
        labels.into_iter().zip(paths).map(|(label, path)| SideRequest { label, paths: vec![path.clone()] }).collect();
    for repeat in repeats {
        let (side, pattern) = side_of(repeat, &named)?;
        let found = glob::glob(pattern).map_err(|bad| RepeatError::Malformed { repeat: repeat.clone(), why: bad.msg })?;
        let mut found: Vec<PathBuf> = found.filter_map(Result::ok).collect();
        if found.is_empty() {
            return Err(RepeatError::Nothing { repeat: repeat.clone(), pattern: pattern.to_owned() });
        }
        // A pattern may match a side itself.
        found.retain(|path| named.iter().all(|side| !side.paths.contains(path)));
        named[side].paths.extend(found);
    }
    Ok(named)
}

/// The side that `repeat` is about, and its pattern: the side that it names, else the one whose own name its last part begins with.
fn side_of<'a>(repeat: &'a str, sides: &[SideRequest]) -> Result<(usize, &'a str), RepeatError> {
    if let Some((name, pattern)) = repeat.split_once('=')
        && let Some(side) = numbered(name, sides)
    {
        return Ok((side, pattern));
    }
    let name = Path::new(repeat).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let begins = |side: &&SideRequest| {
        let own = side.paths[0].file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        !own.is_empty() && name.starts_with(&own)
    };
    let longest =
        sides.iter().enumerate().filter(|(_, side)| begins(side)).max_by_key(|(_, side)| side.paths[0].as_os_str().len());
    longest.map(|(side, _)| (side, repeat)).ok_or_else(|| RepeatError::Whose {
        repeat: repeat.to_owned(),
        labels: sides.iter().map(|side| side.label.clone()).collect(),
    })
}

fn numbered(name: &str, sides: &[SideRequest]) -> Option<usize> {
    match name {
        "base" => Some(0),
        "test" if sides.len() == 2 => Some(1),
        label => sides.iter().position(|side| side.label == label),
    }
}

/// A name for each of `paths`: its last part, and as much before it as it takes to tell it from the others.
fn labels(paths: &[PathBuf]) -> Vec<String> {
    let parts = |path: &PathBuf| -> Vec<String> {
        let named = path.components().filter(|part| matches!(part, Component::Normal(_)));
        named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let all: Vec<Vec<String>> = paths.iter().map(parts).collect();
    let tail = |parts: &[String], length: usize| parts[parts.len().saturating_sub(length)..].join("/");
    let label = |(index, own): (usize, &Vec<String>)| {
        let is_alone = |length: &usize| {
            all.iter().enumerate().all(|(other, parts)| other == index || tail(parts, *length) != tail(own, *length))
        };
        match (1..=own.len()).find(is_alone) {
            Some(length) => tail(own, length),
            // The same path twice, or one without a name.
            None => format!("{} ({})", tail(own, 1), index + 1).trim_start().to_owned(),
        }
    };
    all.iter().enumerate().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn sides_are_called_by_as_much_of_their_paths_as_tells_them_apart() {
        assert_eq!(labels(&paths(&["runs/a", "runs/b"])), ["a", "b"]);
        assert_eq!(labels(&paths(&["old/run.1", "new/run.1"])), ["old/run.1", "new/run.1"]);
        assert_eq!(labels(&paths(&["a", "a"])), ["a (1)", "a (2)"]);
    }

    #[test]
    fn a_pattern_belongs_to_the_side_that_it_names_or_begins_like() {
        let sides = sides(&paths(&["runs/base", "runs/base-new"]), &[]).unwrap();
        assert_eq!(side_of("runs/base-*", &sides), Ok((0, "runs/base-*")));
        assert_eq!(side_of("runs/base-new-*", &sides), Ok((1, "runs/base-new-*")));
        assert_eq!(side_of("test=elsewhere/*", &sides), Ok((1, "elsewhere/*")));
        assert_eq!(side_of("base=elsewhere/*", &sides), Ok((0, "elsewhere/*")));
        assert!(side_of("elsewhere/*", &sides).is_err());
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_refused() {
        let refused = sides(&paths(&["/nowhere/base", "/nowhere/test"]), &["/nowhere/base-*".to_owned()]);
        assert_eq!(refused.unwrap_err().to_string(), "--repeat /nowhere/base-*: nothing matches /nowhere/base-*");
    }
}
