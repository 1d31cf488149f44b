//! The first steps: what they take more than those after them.

use super::path::{Named, PathTime};
use super::worth::Worth;
use super::{Advice, Figures, Rule, Scene, Whom};
use rankscope_execution::PathClass;

/// Steps there must be.
const STEPS_MIN: usize = 5;

/// A first step that takes this many times as long as the median one is slow.
const SLOWER: f64 = 1.2;

pub(super) fn advice(scene: &Scene<'_>) -> Option<Advice> {
    let steps_ns = &scene.input.replay.unchanged().steps_ns;
    if steps_ns.len() < STEPS_MIN {
        return None;
    }
    let mut sorted = steps_ns.clone();
    sorted.sort_unstable();
    let usual_ns = sorted[sorted.len() / 2];
    let is_slow = |ns: &i64| *ns as f64 > SLOWER * usual_ns as f64;
    let first = steps_ns.iter().take_while(|ns| is_slow(ns)).count();
    // Slow steps that come again are nothing that warming up would take away.
    if first == 0 || first * 3 > steps_ns.len() || steps_ns[first..].iter().any(is_slow) {
        return None;
    }
    let more_ns: i64 = steps_ns[..first].iter().map(|ns| ns - usual_ns).sum();
    let ns = more_ns / steps_ns.len() as i64;
    let (name, place) = cause(&scene.path, first);
    let figures = Figures {
        own_ns: steps_ns[..first].iter().sum::<i64>() / first as i64,
        others_ns: usual_ns,
        count: first as f64,
        ..Figures::default()
    };
    let worth = Worth { ns, lo_ns: ns, hi_ns: ns };
    Some(Advice { rule: Rule::FirstSteps, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// What the paths of the first steps have more than that of a later one.
fn cause(path: &PathTime, first: usize) -> (String, String) {
    let later = path.by_path.len().saturating_sub(1);
    let (Some(begun), Some(usual)) = (path.by_path.first(), path.by_path.get(later).filter(|_| later >= first)) else {
        return Default::default();
    };
    let more = |(named, ns): &(&Named, &i64)| **ns - usual.get(*named).copied().unwrap_or(0);
    let host = begun.iter().filter(|(named, _)| named.class == PathClass::Host);
    let most = host.max_by(|a, b| (more(a), b.0).cmp(&(more(b), a.0)));
    most.map(|(named, _)| (named.name.clone(), named.place.clone())).unwrap_or_default()
}
