//! `log` (book: Logging and lifecycle reports).

use std::{any::Any, sync::Arc};

use runvil_lua::{
    LogRefusal, log_function,
    mlua::{self, Function, Lua},
};

use crate::{EventKind, Failure, LogQuota, section::SectionContext};

/// Makes `log` with the section VM's quotas.
pub(super) fn function(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<Function> {
    let own = Arc::clone(context);
    let report = move |message: &str| {
        own.report(EventKind::Lua {
            message: message.to_owned(),
        });
    };
    let origin = |refusal| {
        let quota = match refusal {
            LogRefusal::Events => LogQuota::Events,
            LogRefusal::Bytes => LogQuota::Bytes,
        };
        Arc::new(Failure::LogQuota(quota)) as Arc<dyn Any + Send + Sync>
    };
    log_function(lua, context.run.facts.limits.lua_log_events, report, origin)
}
