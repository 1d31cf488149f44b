//! [`Top`]: everything that the screen is at one moment.

use rankscope_document::LiveDocument;
use ratatui::layout::Rect;

use crate::paint::Paint;
use crate::scene::Scene;
use crate::view::View;

/// The screen. The selection stays with what is selected, wherever that moves to.
#[derive(Clone, Debug)]
pub struct Top {
    pub(crate) paint: Paint,
    pub(crate) scene: Scene,
    pub(crate) view: View,
    /// By view.
    pub(crate) sorts: [Sort; View::ALL.len()],
    /// By view: what is selected, by its key; none for the first row.
    pub(crate) selected: [Option<String>; View::ALL.len()],
    pub(crate) filter: String,
    pub(crate) mode: Mode,
    pub(crate) is_paused: bool,
    /// What the driver has to say, as how fast a replay is.
    pub(crate) note: String,
    /// Rows that fit, and what was drawn where.
    pub(crate) drawn: Drawn,
}

/// By what rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) column: usize,
    /// The largest on top.
    pub(crate) falls: bool,
}

/// What is open, and so what keys mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Table,
    /// The filter is typed.
    Filter,
    /// One rank is shown.
    Rank(u32),
    Help,
}

/// What was drawn where, so that a click finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) rows: Rect,
    /// The first row that is shown.
    pub(crate) offset: usize,
    pub(crate) tabs: Vec<(Rect, View)>,
    /// Heads with their places among the view's columns.
    pub(crate) heads: Vec<(Rect, usize)>,
}

impl Top {
    /// Before the first look.
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            scene: Scene::default(),
            view: View::default(),
            sorts: View::ALL.map(|view| Sort { column: view.worst(), falls: true }),
            selected: Default::default(),
            filter: String::new(),
            mode: Mode::default(),
            is_paused: false,
            note: String::new(),
            drawn: Drawn::default(),
        }
    }

    /// Shows a look.
    pub fn take(&mut self, document: LiveDocument) {
        self.scene.take(document);
    }

    /// Says something beside what is shown, as that the job has ended.
    pub fn note(&mut self, note: String) {
        self.note = note;
    }

    /// Whether the user wants to go on looking at what is shown.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Stops or goes on, as the end of a replay does.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) fn sort(&self) -> Sort {
        self.sorts[self.view as usize]
    }

    /// The rows of the view that the filter leaves, as they are sorted.
    pub(crate) fn order(&self) -> Vec<usize> {
        let (view, scene) = (self.view, &self.scene);
        let words: Vec<String> = self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let is_wanted = |at: &usize| {
            words.is_empty() || {
                let label = view.label(scene, *at).to_lowercase();
                words.iter().all(|word| label.contains(word.as_str()))
            }
        };
        let Sort { column, falls } = self.sort();
        let column = &view.columns()[column];
        let mut rows: Vec<_> = (0..view.count(scene)).filter(is_wanted).map(|at| (column.order(scene, at), at)).collect();
        rows.sort_by(|(a, a_at), (b, b_at)| {
            let by_value = if falls { b.cmp(a) } else { a.cmp(b) };
            a.is_absent().cmp(&b.is_absent()).then(by_value).then(a_at.cmp(b_at))
        });
        rows.into_iter().map(|(_, at)| at).collect()
    }

    /// The place of what is selected in `order`; the first where it is gone.
    pub(crate) fn place(&self, order: &[usize]) -> usize {
        let Some(selected) = &self.selected[self.view as usize] else { return 0 };
        order.iter().position(|at| self.view.key(&self.scene, *at) == *selected).unwrap_or(0)
    }

    /// Selects the row at `place` of `order`, or the last.
    pub(crate) fn select(&mut self, order: &[usize], place: usize) {
        let at = order.get(place.min(order.len().saturating_sub(1)));
        self.selected[self.view as usize] = at.map(|at| self.view.key(&self.scene, *at));
    }
}
