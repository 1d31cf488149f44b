//! The laws of parts and of what is judged of them, and jobs whose truth is known. No file, no process: traces are bytes of the
//! testkit.

mod adds_up;
mod advice;
mod answered;
mod at_once;
mod bench;
mod blame;
mod budgets;
mod clocks;
mod collective_steps;
mod collective_tables;
mod critical_path;
mod exports;
mod hints;
mod order;
mod planted;
mod recorded_waits;
mod slowed;
mod tracelens;
mod truth;
mod what_if;
