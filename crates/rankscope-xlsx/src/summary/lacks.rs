//! What the ranks' tables say that they lack: the notes among them.

use rankscope_document::Value;
use serde::Serialize;

/// Notes that the dashboard shows; the sheet of notes has all.
const SHOWN: usize = 5;

/// A sentence for each note of each rank's tables, as far as there is room.
pub(super) fn of<'a, T: Serialize + 'a>(tables: impl Iterator<Item = (u32, &'a T)>) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut more = 0;
    for (rank, tables) in tables {
        let Value::List(notes) = Value::under("notes", tables) else { continue };
        for text in notes.iter().filter_map(text) {
            if sentences.len() < SHOWN {
                sentences.push(format!("Tables of rank {rank}: {text}"));
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        sentences.push(format!("{more} more notes on tables are on the sheet notes."));
    }
    sentences
}

fn text(note: &Value) -> Option<&str> {
    let Value::Object(entries) = note else { return note.text() };
    entries.iter().find(|(key, _)| key == "text")?.1.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Note {
        about: &'static str,
        text: &'static str,
    }

    #[derive(Serialize)]
    struct Tables {
        notes: Vec<Note>,
    }

    #[test]
    fn notes_of_tables_are_said_until_there_are_too_many() {
        let tables = |count| Tables { notes: (0..count).map(|_| Note { about: "figures", text: "A list was cut." }).collect() };
        let (few, many) = (tables(1), tables(7));
        assert_eq!(of([(3, &few)].into_iter()), ["Tables of rank 3: A list was cut."]);
        let said = of([(0, &many), (1, &few)].into_iter());
        assert_eq!((said.len(), said[5].as_str()), (6, "3 more notes on tables are on the sheet notes."));
        assert!(of([(0, &rankscope_document::Tables::default())].into_iter()).is_empty());
    }
}
