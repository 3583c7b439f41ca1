//! The section VM: sandboxed Lua 5.5 whose blocks are coroutines that wait for answers.
