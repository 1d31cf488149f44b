//! What keys and the mouse do. Nothing is drawn here: where things are is what was drawn last.

use ratatui::layout::Position;

use crate::input::{Asked, Input, Key};
use crate::ranks;
use crate::state::{Mode, Sort, Top};
use crate::view::View;

/// Rows that a turn of the wheel moves by.
const WHEEL: isize = 3;
/// Letters of a filter.
const FILTER_MAX: usize = 60;

impl Top {
    /// Does what a user wants, and says what is asked of whoever runs the screen.
    pub fn handle(&mut self, input: Input) -> Asked {
        match (input, self.mode) {
            (Input::Key(key), Mode::Filter) => self.typed(key),
            (Input::Key(Key::Char('q')), _) => return Asked::Quit,
            (Input::Key(Key::Escape | Key::Enter | Key::Char('?')), Mode::Help | Mode::Rank(_)) => {
                self.mode = Mode::Table;
            }
            (Input::Key(key), Mode::Rank(_)) => return self.of_rank(key),
            (Input::Key(key), _) => return self.key(key),
            (Input::Click { .. }, Mode::Help | Mode::Rank(_)) => self.mode = Mode::Table,
            (Input::Click { column, row }, _) => self.clicked(Position::new(column, row)),
            (Input::WheelUp, _) => self.by(-WHEEL),
            (Input::WheelDown, _) => self.by(WHEEL),
        }
        Asked::Nothing
    }

    /// While the filter is typed.
    fn typed(&mut self, key: Key) {
        match key {
            Key::Char(letter) if self.filter.chars().count() < FILTER_MAX => self.filter.push(letter),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.mode = Mode::Table,
            Key::Escape => {
                self.filter.clear();
                self.mode = Mode::Table;
            }
            Key::Up => self.by(-1),
            Key::Down => self.by(1),
            _ => {}
        }
    }

    /// While one rank is shown: its neighbours in the table are a key away.
    fn of_rank(&mut self, key: Key) -> Asked {
        let asked = self.key(key);
        if let Mode::Rank(_) = self.mode {
            self.open();
        }
        asked
    }

    fn key(&mut self, key: Key) -> Asked {
        match key {
            Key::Up | Key::Char('k') => self.by(-1),
            Key::Down | Key::Char('j') => self.by(1),
            Key::PageUp => self.by(-self.page()),
            Key::PageDown => self.by(self.page()),
            Key::Home | Key::Char('g') => self.by(isize::MIN),
            Key::End | Key::Char('G') => self.by(isize::MAX),
            Key::Tab => self.show(self.view.moved(1)),
            Key::BackTab => self.show(self.view.moved(-1)),
            Key::Char(digit @ '1'..='5') => self.show(View::ALL[digit as usize - '1' as usize]),
            Key::Char('<') => self.sort_by(-1),
            Key::Char('>') => self.sort_by(1),
            Key::Char('r') => self.sorts[self.view as usize].falls ^= true,
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('p' | ' ') => self.is_paused ^= true,
            Key::Enter => self.open(),
            Key::Escape => self.filter.clear(),
            Key::Char('.') => return Asked::Forward,
            Key::Char(',') => return Asked::Back,
            Key::Char('+') => return Asked::Faster,
            Key::Char('-') => return Asked::Slower,
            Key::Char(_) | Key::Backspace => {}
        }
        Asked::Nothing
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.mode = Mode::Table;
        self.drawn.offset = 0;
    }

    fn page(&self) -> isize {
        isize::try_from(self.drawn.rows.height.saturating_sub(1)).unwrap_or(1).max(1)
    }

    /// Selects the row so many further, as far as there are any.
    fn by(&mut self, rows: isize) {
        let order = self.order();
        let place = self.place(&order).saturating_add_signed(rows);
        self.select(&order, place);
    }

    /// Sorts by the column so many further of those that are shown.
    fn sort_by(&mut self, by: isize) {
        let shown: Vec<usize> = self.drawn.heads.iter().map(|(_, column)| *column).collect();
        let Some(last) = shown.len().checked_sub(1) else { return };
        let sort = &mut self.sorts[self.view as usize];
        let place = shown.iter().position(|column| *column == sort.column).unwrap_or(0);
        *sort = Sort { column: shown[place.saturating_add_signed(by).min(last)], ..*sort };
    }

    /// Shows the selected rank; rows of other views open what they are about: a host its ranks, others the rank that came last.
    fn open(&mut self) {
        let order = self.order();
        let Some(at) = order.get(self.place(&order)).copied() else { return };
        self.select(&order, self.place(&order));
        match self.view {
            View::Ranks => self.mode = Mode::Rank(self.scene.document.ranks[at].rank),
            View::Groups => self.open_last(self.scene.document.groups[at].last.map(|last| last.rank)),
            View::Collectives => self.open_last(self.scene.document.collectives[at].last.map(|last| last.rank)),
            View::Nodes => {
                self.filter = self.scene.host(Some(self.scene.nodes[at].node()));
                self.show(View::Ranks);
            }
            View::Links => {}
        }
    }

    fn open_last(&mut self, rank: Option<u32>) {
        let Some(rank) = rank else { return };
        self.filter.clear();
        self.show(View::Ranks);
        self.selected[View::Ranks as usize] = Some(ranks::key(rank));
        self.mode = Mode::Rank(rank);
    }

    fn clicked(&mut self, at: Position) {
        if let Some((_, view)) = self.drawn.tabs.iter().find(|(area, _)| area.contains(at)) {
            return self.show(*view);
        }
        if let Some((_, column)) = self.drawn.heads.iter().find(|(area, _)| area.contains(at)) {
            let sort = self.sort();
            let falls = if sort.column == *column { !sort.falls } else { true };
            self.sorts[self.view as usize] = Sort { column: *column, falls };
            return;
        }
        if self.drawn.rows.contains(at) {
            let (order, place) = (self.order(), self.drawn.offset + usize::from(at.y - self.drawn.rows.y));
            if place >= order.len() {
                return;
            }
            // A click on what is selected opens it.
            let is_again = self.selected[self.view as usize].is_some() && self.place(&order) == place;
            self.select(&order, place);
            if is_again {
                self.open();
            }
        }
    }
}
