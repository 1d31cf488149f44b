//! Workbooks as programs that are not ours read them.

mod aorta;
mod compare;
mod limits;
mod programs;
mod read;
mod sheets;
mod text;
mod tracelens;
