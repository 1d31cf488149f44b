//! What a store holds, up to a limit on everything together. Knows no connection.

use std::collections::HashMap;

use super::frame::{Answer, Identity, Request};

/// Bytes that a store holds at most. Ten thousand nodes with a random probe graph write a third of this.
const BYTES_MAX: usize = 64 << 20;

/// What an entry takes beside its key and its text, or about that: so the limit on bytes is one on their number, too.
const ENTRY_BYTES: usize = 128;

/// Clients whose last addition is remembered.
const CLIENTS_MAX: usize = 1 << 16;

/// Texts, counters, and who added last.
#[derive(Debug, Default)]
pub(super) struct Board {
    texts: HashMap<String, String>,
    counters: HashMap<String, Counter>,
    /// What is held, by [`BYTES_MAX`]'s measure.
    bytes: usize,
    /// Keys of texts that were written since somebody asked.
    written: Vec<String>,
    last_additions: HashMap<Identity, (u32, i64)>,
}

#[derive(Debug, Default)]
struct Counter {
    total: i64,
    by_client: HashMap<Identity, i64>,
}

/// What a client's part of a counter takes.
const CLIENT_BYTES: usize = size_of::<(Identity, i64)>();

impl Board {
    /// Does what a client wants. A wait for what is not there has no answer yet.
    pub(super) fn answer(&mut self, client: &Identity, number: u32, key: &str, request: Request<'_>) -> Option<Answer> {
        match request {
            Request::Set(value) => Some(self.set(key, value)),
            Request::Restore(_) if self.texts.contains_key(key) => Some(Answer::Done),
            Request::Restore(value) => Some(self.set(key, value)),
            Request::Get => Some(self.text(key).unwrap_or(Answer::Absent)),
            Request::Wait => self.text(key),
            Request::Add(delta) => Some(self.add(client, number, key, delta)),
            Request::Contribute(sum) => Some(self.contribute(client, key, sum)),
        }
    }

    /// Keys of texts that were written since the last call.
    pub(super) fn take_written(&mut self) -> Vec<String> {
        std::mem::take(&mut self.written)
    }

    /// The text under a key.
    pub(super) fn text(&self, key: &str) -> Option<Answer> {
        self.texts.get(key).map(|text| Answer::Text(text.clone()))
    }

    fn set(&mut self, key: &str, value: &str) -> Answer {
        let before = self.texts.get(key).map_or(0, |text| ENTRY_BYTES + key.len() + text.len());
        let bytes = self.bytes - before + ENTRY_BYTES + key.len() + value.len();
        if bytes > BYTES_MAX {
            return Answer::Full;
        }
        self.bytes = bytes;
        self.texts.insert(key.to_owned(), value.to_owned());
        self.written.push(key.to_owned());
        Answer::Done
    }

    fn add(&mut self, client: &Identity, number: u32, key: &str, delta: i64) -> Answer {
        match self.last_additions.get(client) {
            Some(&(last, total)) if last == number => return Answer::Number(total),
            None if self.last_additions.len() >= CLIENTS_MAX => return Answer::Full,
            _ => {}
        }
        let answer = self.count(client, key, delta);
        if let Answer::Number(total) = answer {
            self.last_additions.insert(*client, (number, total));
        }
        answer
    }

    fn contribute(&mut self, client: &Identity, key: &str, sum: i64) -> Answer {
        let known = self.counters.get(key).and_then(|counter| counter.by_client.get(client)).copied().unwrap_or(0);
        self.count(client, key, sum.saturating_sub(known))
    }

    fn count(&mut self, client: &Identity, key: &str, delta: i64) -> Answer {
        let counter = self.counters.get(key);
        let new = [
            (counter.is_none(), ENTRY_BYTES + key.len()),
            (counter.is_none_or(|it| !it.by_client.contains_key(client)), CLIENT_BYTES),
        ];
        let bytes = self.bytes + new.iter().filter(|(new, _)| *new).map(|(_, bytes)| bytes).sum::<usize>();
        if bytes > BYTES_MAX {
            return Answer::Full;
        }
        self.bytes = bytes;
        let counter = self.counters.entry(key.to_owned()).or_default();
        let part = counter.by_client.entry(*client).or_default();
        *part = part.saturating_add(delta);
        counter.total = counter.total.saturating_add(delta);
        Answer::Number(counter.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Identity = [1; 16];
    const YOU: Identity = [2; 16];

    #[test]
    fn an_addition_that_is_asked_for_again_is_made_once() {
        let mut board = Board::default();
        assert_eq!(board.answer(&ME, 1, "n", Request::Add(5)), Some(Answer::Number(5)));
        assert_eq!(board.answer(&ME, 1, "n", Request::Add(5)), Some(Answer::Number(5)));
        assert_eq!(board.answer(&YOU, 1, "n", Request::Add(5)), Some(Answer::Number(10)));
        assert_eq!(board.answer(&ME, 2, "n", Request::Add(5)), Some(Answer::Number(15)));
    }

    #[test]
    fn additions_are_restored_however_often_it_is_tried() {
        let mut board = Board::default();
        board.answer(&YOU, 1, "n", Request::Add(100));
        for number in [7, 8, 9] {
            assert_eq!(board.answer(&ME, number, "n", Request::Contribute(5)), Some(Answer::Number(105)));
        }
        assert_eq!(board.answer(&ME, 10, "n", Request::Add(1)), Some(Answer::Number(106)));
        assert_eq!(board.answer(&ME, 11, "n", Request::Contribute(6)), Some(Answer::Number(106)));
    }

    #[test]
    fn what_is_restored_never_wins_over_what_is_there() {
        let mut board = Board::default();
        assert_eq!(board.answer(&ME, 1, "k", Request::Wait), None);
        board.answer(&ME, 2, "k", Request::Restore("old"));
        board.answer(&ME, 3, "k", Request::Set("new"));
        board.answer(&ME, 4, "k", Request::Restore("old"));
        assert_eq!(board.answer(&ME, 5, "k", Request::Get), Some(Answer::Text("new".to_owned())));
    }

    #[test]
    fn a_full_store_says_so_and_keeps_what_it_has() {
        let mut board = Board { bytes: BYTES_MAX - ENTRY_BYTES - 3, ..Board::default() };
        assert_eq!(board.answer(&ME, 1, "ab", Request::Set("c")), Some(Answer::Done));
        assert_eq!(board.answer(&ME, 2, "x", Request::Set("")), Some(Answer::Full));
        assert_eq!(board.answer(&ME, 3, "y", Request::Add(1)), Some(Answer::Full));
        assert_eq!(board.answer(&ME, 4, "ab", Request::Set("d")), Some(Answer::Done));
        assert_eq!(board.take_written(), ["ab", "ab"]);
    }

    #[test]
    fn keys_without_texts_fill_it_too() {
        let mut board = Board::default();
        let taken =
            (0..BYTES_MAX).take_while(|key| board.answer(&ME, 1, &key.to_string(), Request::Set("")) == Some(Answer::Done));
        assert!(taken.count() <= BYTES_MAX / ENTRY_BYTES);
    }
}
