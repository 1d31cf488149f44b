//! From the exports of every rank to one part a rank: of the profiling windows that all ranks have, or of those that are asked
//! for.

use std::collections::BTreeSet;
use std::str::FromStr;

use rankscope_time::Rank;

use crate::windows::{Export, LeftOut, Why, Window, Windows};
use crate::{Error, Part};

/// Which of the windows that all ranks have are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowChoice {
    /// Every one.
    #[default]
    All,
    /// The one at this place, counted from 1.
    Number(usize),
    /// The first.
    First,
    /// The last.
    Last,
}

impl FromStr for WindowChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Number(number)),
                _ => Err("give the number of a window, from 1, or first, last or all".to_owned()),
            },
        }
    }
}

/// What of the ranks' exports is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    /// First and last step of each window, where they are marked.
    pub(crate) windows: Vec<Option<(i64, i64)>>,
    /// Ranks that left any export.
    pub(crate) ranks: usize,
    /// Ranks that left exports of which none is compared, ascending.
    pub(crate) absent: Vec<Rank>,
    /// The exports that are not, for reasons of their own; not those of windows that nobody asked for.
    pub(crate) left_out: Vec<LeftOutExport>,
}

/// An export that is not compared.
#[derive(Clone, Debug)]
pub(crate) struct LeftOutExport {
    pub(crate) rank: Rank,
    pub(crate) steps: Option<(i64, i64)>,
    pub(crate) file: String,
    pub(crate) why: Why,
}

/// Joins of `parts`, sorted by rank and time, what lies in the windows of `choice`, to one part a rank.
pub(crate) fn join(parts: Vec<Part>, choice: WindowChoice) -> Result<(Vec<Part>, Compared), Error> {
    let exports: Vec<Export> = parts.iter().map(export).collect();
    let Windows { list, left_out } = Windows::of(&exports);
    let mut absent: BTreeSet<Rank> = exports.iter().map(|export| export.rank).collect();
    let ranks = absent.len();
    let chosen = chosen(list, choice)?;
    let windows = chosen.iter().map(|window| window.steps).collect();
    let mut wanted = vec![false; parts.len()];
    for at in chosen.iter().flat_map(|window| &window.exports) {
        wanted[*at] = true;
        absent.remove(&exports[*at].rank);
    }
    let absent = absent.into_iter().collect();
    let mut of_rank: Vec<Vec<Part>> = Vec::new();
    for (part, _) in parts.into_iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        match of_rank.last_mut().filter(|own| own[0].rank() == part.rank()) {
            Some(own) => own.push(part),
            None => of_rank.push(vec![part]),
        }
    }
    let joined = of_rank.into_iter().filter_map(in_halves).collect();
    let out = |LeftOut { export, why }| {
        let Export { rank, steps, file, .. } = exports[export].clone();
        LeftOutExport { rank, steps, file, why }
    };
    Ok((joined, Compared { windows, ranks, absent, left_out: left_out.into_iter().map(out).collect() }))
}

/// The parts of one rank as one. What is joined is as long as what it is joined to, so that many exports cost no square.
fn in_halves(mut parts: Vec<Part>) -> Option<Part> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let later = parts.split_off(parts.len() / 2);
    let mut own = in_halves(parts)?;
    own.join(in_halves(later)?);
    Some(own)
}

fn export(part: &Part) -> Export {
    Export {
        rank: part.rank(),
        bounds_ns: part.about.bounds_ns.unwrap_or_default(),
        steps: part.about.step_range(),
        file: part.about.file.clone(),
    }
}

fn chosen(mut list: Vec<Window>, choice: WindowChoice) -> Result<Vec<Window>, Error> {
    let number = match choice {
        WindowChoice::All => return Ok(list),
        WindowChoice::First => 1,
        WindowChoice::Last => list.len(),
        WindowChoice::Number(number) => number,
    };
    if number == 0 || number > list.len() {
        return Err(Error::NoWindow { number, all: list.iter().map(|window| window.steps).collect() });
    }
    Ok(vec![list.swap_remove(number - 1)])
}
