//! Laws of reading recordings, on files that [`LiveAuthor`] writes.
