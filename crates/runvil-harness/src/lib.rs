//! Prepares a run, drives it on tokio and performs its effects.
