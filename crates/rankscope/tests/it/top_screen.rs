//! `top` on a terminal: keys, another size, and the terminal as it was before, however `top` ends.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "a test of what is drawn")]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::process::{PROGRAM, Running, command, ended, signal, wait_for};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// A terminal with a program on it.
struct Seen {
    keyboard: File,
    user: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<vt100::Parser>>,
    program: Child,
}

impl Seen {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let user = open(ptsname(&controller, Vec::new()).unwrap(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&user, size(80, 24)).unwrap();
        let before = tcgetattr(&user).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(some(24), some(80), 0)));
        let mut shown = File::from(controller.try_clone().unwrap());
        let parser = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = shown.read(&mut bytes) {
                parser.lock().unwrap().process(&bytes[..length]);
            }
        });
        // The program's own terminal, which no other that this test has may stand in for.
        let mut started = Command::new("setsid");
        started.args(["--ctty", PROGRAM]).args(arguments).env("TERM", "xterm-256color").envs(environment.iter().copied());
        let end = || user.try_clone().unwrap();
        let program = started.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Self { keyboard: File::from(controller), user, before, screen, program }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn wait_for(&self, what: &str) {
        wait_for(what, || self.text().contains(what));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(some(rows), some(columns));
        tcsetwinsize(&self.user, size(columns, rows)).unwrap();
    }

    /// That it ends by itself, and leaves the terminal as it was.
    fn restored(self) {
        let Self { user, before, screen, program, .. } = self;
        let status = ended(program).status;
        assert!(status.success(), "{status}");
        // What it wrote last may be on its way.
        wait_for("the screen of before", || !screen.lock().unwrap().screen().alternate_screen());
        let parser = screen.lock().unwrap();
        assert!(!parser.screen().hide_cursor());
        assert_eq!(parser.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        let after = tcgetattr(&user).unwrap();
        let modes = |modes: &Termios| (modes.input_modes, modes.output_modes, modes.local_modes, modes.control_modes);
        assert_eq!(modes(&after), modes(&before));
    }
}

fn some(length: u16) -> NonZero<u16> {
    NonZero::new(length).unwrap()
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}

fn job(run: &Path) -> Running {
    let out = run.display().to_string();
    let demo = Running::start(command(&["demo", "--live", "--slow-rank", "2", "--seconds", "40", "--out", &out]));
    wait_for("four pages", || fs::read_dir(run.join("live")).is_ok_and(|pages| pages.count() == 4));
    demo
}

#[test]
fn keys_and_another_size_change_what_is_drawn_and_the_terminal_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let _demo = job(&run);
    let out = run.display().to_string();
    let mut seen = Seen::start(&["top", &out], &[]);
    seen.wait_for("late by▼");
    seen.wait_for("4 of 4 ranks");
    assert!(seen.screen.lock().unwrap().screen().alternate_screen());
    seen.press("2");
    seen.wait_for("mostly last");
    seen.press("\t\t");
    seen.wait_for("clock ahead");
    seen.press("1/rank 2\r");
    seen.wait_for("/rank 2");
    seen.press("\x1b[B\r");
    seen.wait_for("Rank 2 on ");
    seen.press("?");
    seen.wait_for("late by▼");
    seen.press("?");
    seen.wait_for("nobody is late by less");
    seen.press("?");
    seen.resize(140, 40);
    seen.wait_for("trend");
    seen.press("p");
    seen.wait_for("paused");
    seen.press("q");
    seen.restored();

    let seen = Seen::start(&["top", &out], &[("NO_COLOR", "1")]);
    seen.wait_for("late by▼");
    let is_colored = |seen: &Seen| {
        let parser = seen.screen.lock().unwrap();
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        cells.filter_map(|(row, column)| parser.screen().cell(row, column)).any(|cell| cell.fgcolor() != vt100::Color::Default)
    };
    assert!(!is_colored(&seen));
    signal("TERM", seen.program.id());
    seen.restored();

    let mut seen = Seen::start(&["top", &out], &[]);
    seen.wait_for("late by▼");
    seen.press("\x03");
    seen.restored();
}
