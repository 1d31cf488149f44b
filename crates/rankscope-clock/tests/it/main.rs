//! Clocks from probes: simulated networks, recorded logs, and files as others wrote them.
//!
//! One test binary, so that everything is linked once; a module for each of its subjects.

mod agreement;
mod clock_maps;
mod files;
mod graph;
mod logs;
mod network;
mod nodes;
mod ports;
mod rounds_with_gaps;
mod session_edges;
mod session_faults;
mod session_hours;
mod session_intruders;
mod session_rounds;
mod session_stop;
mod session_streams;
mod session_thousands;
mod session_together;
mod session_traffic;
mod simulated_jobs;
mod stepping_clocks;
mod synthetic;
