//! From files to answers: the same on any number of threads, from memory or from a second reading.

mod ahead;
mod changed;
mod clocks;
mod folder;
mod order;
mod planted;
mod readings;
mod threads;
