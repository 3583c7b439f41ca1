//! `log` (book: Logging and lifecycle reports).

use std::{any::Any, sync::Arc};

use runvil_lua::{
    LogRefusal, log_function,
    mlua::{self, Lua},
};

use crate::{EventKind, Failure, LogQuota, section::SectionContext};

/// Installs `log` with the section VM's quotas.
pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<()> {
    let own = Arc::clone(context);
    let report = move |message: &str| own.report(EventKind::Lua { message: message.to_owned() });
    let origin = |refusal| {
        let quota = match refusal {
            LogRefusal::Events => LogQuota::Events,
            LogRefusal::Bytes => LogQuota::Bytes,
        };
        Arc::new(Failure::LogQuota(quota)) as Arc<dyn Any + Send + Sync>
    };
    lua.globals().raw_set("log", log_function(lua, context.run.facts.limits.lua_log_events, report, origin)?)
}
