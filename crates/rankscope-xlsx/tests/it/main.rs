//! Workbooks as programs that are not ours read them.

mod aorta;
mod limits;
mod programs;
mod read;
mod sheets;
mod text;
