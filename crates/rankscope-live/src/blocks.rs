//! [`Blocks`]: the median of every thirty steps, held against what was usual.
//!
//! The slow and sure one: a checkpoint or a handful of outliers in a block does not move its median. Where single steps scatter a lot,
//! medians of thirty do too, so what counts as longer grows with the scatter.

use rankscope_stats::Middle;

/// Steps of a block.
pub(crate) const STEPS: usize = 30;
/// A median is longer from this part of the usual length on.
const PART: f64 = 0.05;
/// And from so many standard errors of a median of thirty steps that resemble each other a little.
const ERRORS: f64 = 6.0;
/// Standard error of the median of a block, in standard deviations of a step.
const ERROR: f64 = 1.2533 / 5.4772;

/// A block that is being filled, and how many in succession were longer.
#[derive(Clone, Debug)]
pub struct Blocks {
    usual: Middle,
    block: Vec<f64>,
    longer: u32,
    last: f64,
}

impl Blocks {
    /// Held against `usual` steps.
    pub fn new(usual: Middle) -> Self {
        Self { usual, block: Vec::with_capacity(STEPS), longer: 0, last: usual.median }
    }

    /// From here on a median counts as longer.
    pub fn threshold(&self) -> f64 {
        self.usual.median + (PART * self.usual.median).max(ERRORS * ERROR * self.usual.deviation)
    }

    /// Takes a step's length. At the end of a block it says how many in succession were longer, this one included.
    pub fn take(&mut self, length: f64) -> Option<u32> {
        self.block.push(length);
        if self.block.len() < STEPS {
            return None;
        }
        self.last = Middle::of(&mut self.block).map_or(self.usual.median, |middle| middle.median);
        self.block.clear();
        self.longer = if self.last > self.threshold() { self.longer + 1 } else { 0 };
        Some(self.longer)
    }

    /// The median of the last whole block.
    pub fn last(&self) -> f64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Middle = Middle { median: 1.0, deviation: 0.02 };

    fn longest(lengths: impl IntoIterator<Item = f64>) -> u32 {
        let mut blocks = Blocks::new(USUAL);
        lengths.into_iter().filter_map(|length| blocks.take(length)).max().unwrap_or(0)
    }

    #[test]
    fn checkpoints_within_a_block_do_not_move_its_median() {
        assert_eq!(longest((0..300).map(|step| if step % 10 == 0 { 30.0 } else { 1.0 })), 0);
    }

    #[test]
    fn blocks_that_are_longer_are_counted_until_one_is_not() {
        let lengths = [[1.0; 30], [1.1; 30], [1.1; 30], [1.0; 30], [1.1; 30]].concat();
        let mut blocks = Blocks::new(USUAL);
        let counts: Vec<u32> = lengths.into_iter().filter_map(|length| blocks.take(length)).collect();
        assert_eq!(counts, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn where_steps_scatter_more_it_takes_more() {
        let wide = Blocks::new(Middle { median: 1.0, deviation: 0.15 });
        assert!(Blocks::new(USUAL).threshold() == 1.05 && wide.threshold() > 1.15);
    }
}
