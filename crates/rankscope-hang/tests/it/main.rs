//! Verdicts over real jobs and over simulated ones.

mod job;
mod pages;
mod samples;
mod simulated;
