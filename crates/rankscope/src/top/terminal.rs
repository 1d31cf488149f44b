//! The terminal while `top` has all of it: taken over, listened to, and given back as it was, also where the program panics.
//!
//! What is drawn comes from `rankscope-top`, whose names are clean, so this is the one place beside `output` that writes to stdout.

use std::io::{self, Stdout, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_cli::ending::stop_switch;
use rankscope_top::{Asked, Input, Key, Top};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton,
    MouseEvent, MouseEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// How soon a signal is heard.
const HEARD_WITHIN: Duration = Duration::from_millis(100);

/// A terminal that is taken over until this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    stop: Arc<AtomicBool>,
}

impl Screen {
    pub(super) fn open() -> Result<Self> {
        let stop = stop_switch()?;
        restore_on_panic();
        // From here on dropping it restores.
        let screen = Self { terminal: Terminal::new(CrosstermBackend::new(stdout()))?, stop };
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableMouseCapture)?;
        Ok(screen)
    }

    pub(super) fn draw(&mut self, top: &mut Top) -> io::Result<()> {
        self.terminal.draw(|frame| top.draw(frame)).map(drop)
    }

    /// Passes on what the user does until `until`, or until something is asked that is not the screen's own affair. Draws it again after
    /// each thing that changes it.
    pub(super) fn listen(&mut self, top: &mut Top, until: Instant) -> io::Result<Asked> {
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if event::poll(left.min(HEARD_WITHIN))? {
                let asked = match event::read()? {
                    Event::Resize(..) => Asked::Nothing,
                    event => match input(&event) {
                        Some(Heard::Input(input)) => top.handle(input),
                        Some(Heard::Interrupt) => Asked::Quit,
                        None => continue,
                    },
                };
                if asked != Asked::Nothing {
                    return Ok(asked);
                }
                self.draw(top)?;
            } else if left.is_zero() {
                return Ok(Asked::Nothing);
            }
        }
        Ok(Asked::Quit)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Each part by itself: one that fails, as on a terminal that is gone, keeps none of the others from being tried.
fn restore() {
    let _no_mouse = execute!(stdout(), DisableMouseCapture);
    let _no_alternate = execute!(stdout(), LeaveAlternateScreen, Show);
    let _was_not_raw = disable_raw_mode();
}

/// Before the panic is told, so that it stands on the user's own screen.
fn restore_on_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        told(panic);
    }));
}

/// What a terminal's event means.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Input(Input),
    /// Ctrl-C, which is no signal on a terminal that is taken over.
    Interrupt,
}

fn input(event: &Event) -> Option<Heard> {
    match event {
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
        Event::Key(KeyEvent { code: KeyCode::Char(letter), modifiers, .. }) if modifiers.contains(KeyModifiers::CONTROL) => {
            (*letter == 'c').then_some(Heard::Interrupt)
        }
        Event::Key(KeyEvent { code, .. }) => key(*code).map(|key| Heard::Input(Input::Key(key))),
        Event::Mouse(mouse) => pointed(mouse).map(Heard::Input),
        _ => None,
    }
}

fn key(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Char(letter) => Key::Char(letter),
        _ => return None,
    })
}

fn pointed(mouse: &MouseEvent) -> Option<Input> {
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(Input::Click { column: mouse.column, row: mouse.row }),
        MouseEventKind::ScrollUp => Some(Input::WheelUp),
        MouseEventKind::ScrollDown => Some(Input::WheelDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::num::NonZero;
    use std::process::Command;

    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Termios, tcgetattr};

    use super::*;

    /// Makes this very test the program that panics.
    const PANICS: &str = "RANKSCOPE_TEST_PANICS_ON_A_TERMINAL";

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_told_on_the_users_own_screen() {
        if std::env::var_os(PANICS).is_some() {
            let mut screen = Screen::open().unwrap();
            screen.draw(&mut Top::new(rankscope_top::Paint { color: true })).unwrap();
            panic!("for a test");
        }
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let terminal = ptsname(&controller, Vec::new()).unwrap();
        let user = rustix::fs::open(terminal, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let modes = |modes: &Termios| (modes.input_modes, modes.output_modes, modes.local_modes, modes.control_modes);
        let before = modes(&tcgetattr(&user).unwrap());
        let end = || user.try_clone().unwrap();
        let mut program = Command::new("setsid");
        program.arg("--ctty").arg(std::env::current_exe().unwrap());
        program.args([
            "--exact",
            "--nocapture",
            "top::terminal::tests::a_panic_gives_the_terminal_back_and_is_told_on_the_users_own_screen",
        ]);
        program.env(PANICS, "1").env("TERM", "xterm-256color");
        let mut program = program.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // What is written last is on the terminal when this is.
        let reader = std::thread::spawn(move || {
            let (mut shown, mut bytes, mut all) = (File::from(controller), [0; 4096], Vec::new());
            while !all.ends_with(b"\x04the end") {
                let length = shown.read(&mut bytes).unwrap();
                all.extend_from_slice(&bytes[..length]);
            }
            all
        });
        assert!(!program.wait().unwrap().success());
        assert_eq!(modes(&tcgetattr(&user).unwrap()), before, "the terminal's modes");
        File::from(user).write_all(b"\x04the end").unwrap();
        let all = reader.join().unwrap();
        let was_taken = all.windows(8).any(|bytes| bytes == b"\x1b[?1049h");
        let size = |length| NonZero::new(length).unwrap();
        let mut seen = vt100::Parser::new(size(50), size(160), 0);
        seen.process(&all);
        let screen = seen.screen();
        assert!(was_taken && !screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        // Told on the other screen, it would be gone with that.
        assert!(screen.contents().contains("for a test"), "{}", screen.contents());
    }

    #[test]
    fn ctrl_c_ends_and_a_key_that_is_let_go_is_nothing() {
        let pressed = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(input(&Event::Key(pressed)), Some(Heard::Interrupt));
        assert_eq!(input(&Event::Key(KeyEvent { code: KeyCode::Char('q'), ..pressed })), None);
        let letter = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
        assert_eq!(input(&Event::Key(letter)), Some(Heard::Input(Input::Key(Key::Char('c')))));
        assert_eq!(input(&Event::Key(KeyEvent { kind: KeyEventKind::Release, ..letter })), None);
        assert_eq!(input(&Event::FocusGained), None);
    }
}
