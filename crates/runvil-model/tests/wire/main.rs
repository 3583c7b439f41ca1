//! The client against servers of every dialect and every fault, over real sockets.

mod dialects;
mod faults;
mod process;
mod requests;
mod support;
