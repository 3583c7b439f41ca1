//! The run as a pure, stepped machine: effects and events go out, answers come in.
