//! Who probes whom, and over which ports.
