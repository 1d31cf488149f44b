//! `top` of a run that has ended: its recordings, step by step, at the pace at which they happened or another.

use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::job::Bar;
use rankscope_cli::output;
use rankscope_pipeline::Replay;
use rankscope_top::{Asked, Paint, Top};

use super::terminal::Screen;
use super::{Args, has_screen, show};

/// How slow and how fast it may be played, beside the run.
const SLOWEST: f64 = 1.0 / 64.0;
const FASTEST: f64 = 4_096.0;
/// While nothing moves, so long until the next look at whether it should.
const IDLE: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut replay = Replay::open(&args.run, &Bar::default())?;
    let last = replay.steps() - 1;
    if args.once {
        show(args, &replay.look(last))?;
    } else if has_screen(args) {
        Player::new(replay, args.speed).on_screen()?;
    } else {
        (0..=last).try_for_each(|place| show(args, &replay.look(place)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a replay is, and how fast it goes on.
struct Player {
    replay: Replay,
    place: usize,
    speed: f64,
    top: Top,
}

impl Player {
    fn new(replay: Replay, speed: f64) -> Self {
        Self { replay, place: 0, speed, top: Top::new(Paint { color: output::style().color }) }
    }

    fn on_screen(mut self) -> Result<()> {
        self.show();
        let mut screen = Screen::open()?;
        // When what is shown was due.
        let mut shown = Instant::now();
        loop {
            screen.draw(&mut self.top)?;
            let until = self.due(shown).unwrap_or_else(|| Instant::now() + IDLE);
            match screen.listen(&mut self.top, until)? {
                Asked::Quit => return Ok(()),
                Asked::Forward => self.step_to(self.place + 1),
                Asked::Back => self.step_to(self.place.saturating_sub(1)),
                Asked::Faster => self.speed = (self.speed * 2.0).min(FASTEST),
                Asked::Slower => self.speed = (self.speed / 2.0).max(SLOWEST),
                Asked::Nothing => shown = self.go_on(shown),
            }
            if self.top.is_paused() {
                shown = Instant::now();
            }
            self.say();
        }
    }

    /// When the next step is to be shown, if this one was due at `shown`; none while nothing moves.
    fn due(&self, shown: Instant) -> Option<Instant> {
        (!self.top.is_paused() && self.place + 1 < self.replay.steps()).then(|| shown + self.gap())
    }

    /// How long this step is shown.
    fn gap(&self) -> Duration {
        self.replay.next_step_takes(self.place).div_f64(self.speed)
    }

    /// Shows the next step, or the last of several that are due by now. Returns when it was due.
    fn go_on(&mut self, mut shown: Instant) -> Instant {
        let before = self.place;
        while let Some(due) = self.due(shown).filter(|due| *due <= Instant::now()) {
            shown = due;
            self.place += 1;
        }
        if self.place != before {
            self.show();
        }
        shown
    }

    /// Shows the step at `place` and stays there.
    fn step_to(&mut self, place: usize) {
        self.top.pause(true);
        self.place = place.min(self.replay.steps() - 1);
        self.show();
    }

    fn show(&mut self) {
        self.top.take(self.replay.look(self.place));
        self.say();
    }

    fn say(&mut self) {
        let is_last = self.place + 1 == self.replay.steps();
        let pace =
            if self.speed == 1.0 { "at the pace of the run".to_owned() } else { format!("{} times as fast", self.speed) };
        self.top.note(if is_last { "the last".to_owned() } else { pace });
    }
}

/// A speed that can be played.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (SLOWEST..=FASTEST).contains(&speed) { Ok(speed) } else { Err(format!("give a number from {SLOWEST} to {FASTEST}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_numbers_that_can_be_played() {
        assert_eq!((speed("0.5"), speed("10")), (Ok(0.5), Ok(10.0)));
        assert!(["0", "-1", "NaN", "inf", "fast"].iter().all(|text| speed(text).is_err()));
    }
}
