//! What a raise that nothing catches cuts short, and how it is reported: the innermost first (book: Events of a library
//! load; When a handler raises).

use super::libraries;
use crate::{EventKind, section::SectionContext};

/// Ends the library loads and the local tool calls that an uncaught raise cut short.
pub(crate) fn end_unfinished(context: &SectionContext) {
    loop {
        let handler = context.state().tools.innermost_handler();
        match handler {
            Some(loads) if context.state().libraries.depth() <= loads => {
                context.state().tools.leave_handler();
                context.report(EventKind::ToolCallFailed);
            }
            _ if context.state().libraries.is_loading() => libraries::end(context, false),
            _ => return,
        }
    }
}

/// Ends the library loads that a cancel cut short. It reports nothing of tool calls.
pub(crate) fn end_library_loads(context: &SectionContext) {
    while context.state().libraries.is_loading() {
        libraries::end(context, false);
    }
}
