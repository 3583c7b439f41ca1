//! The runvil command line.

fn main() {}
