//! `models`: selection, handles and rounds (book: The `models` global).

mod handle;
mod run;

use std::sync::Arc;

use runvil_lua::{
    Helper,
    mlua::{self, Function, IntoLuaMulti, Lua, MultiValue, Value},
};

use handle::Handle;

use super::{check::string, compactors};
use crate::{
    Failure, InvalidModelId,
    models::{DefaultIsSet, Model, OptionFault, Sampling},
    section::SectionContext,
};

pub(super) static LOOP: Helper = Helper::new("runvil/loop.lua", include_str!("../lua/loop.lua"));

/// Why a role or a model is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
enum RoleFault {
    #[error("models.use takes at most 2 arguments, got {0}")]
    TooManyArguments(usize),
    #[error(transparent)]
    Alias(#[from] runvil_syntax::InvalidAlias),
    #[error("models.use label {0:?} is not a bound model role")]
    UseUnbound(String),
    #[error("models.default label {0:?} is not a bound model role")]
    DefaultUnbound(String),
    #[error("models.default is already {existing:?}: the prompt-wide default cannot change mid-run", existing = .0.existing)]
    DefaultIsSet(DefaultIsSet),
    #[error("models.get alias {0:?} is not a bound model role")]
    GetUnbound(String),
    #[error("models.get model id {id:?} is invalid: {reason}")]
    RawId { id: String, reason: InvalidModelId },
    #[error(transparent)]
    Option(#[from] OptionFault),
}

impl From<RoleFault> for Failure {
    fn from(fault: RoleFault) -> Self {
        Self::lua(fault.to_string())
    }
}

/// The functions that the helper builds on, in the order in which it names them.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<MultiValue> {
    let [infer, infer_on, open, open_on, round] = run::natives(lua, context)?;
    let [open_compaction, begin, settle, record, fail, clear] = compactors::natives(lua, context)?;
    let functions = [
        native(lua, context, |lua, context, (label,): (Value,)| {
            handle(lua, get(context, &label)?)
        })?,
        native(lua, context, |lua, context, arguments: MultiValue| {
            handle(lua, select(lua, context, &arguments)?)
        })?,
        native(lua, context, |lua, context, (label,): (Value,)| {
            handle(lua, set_default(context, &label)?)
        })?,
        infer,
        infer_on,
        open,
        open_on,
        round,
        open_compaction,
        begin,
        settle,
        record,
        fail,
        clear,
        super::tools::batch_runner(lua)?,
        lua.create_function(|lua, methods: MultiValue| handle::bind(lua, methods))?,
    ];
    Ok(functions.into_iter().map(Value::Function).collect())
}

/// A native function over the section that calls it.
pub(super) fn native<A, R>(
    lua: &Lua,
    context: &Arc<SectionContext>,
    function: impl Fn(&Lua, &Arc<SectionContext>, A) -> mlua::Result<R> + Send + Sync + 'static,
) -> mlua::Result<Function>
where
    A: mlua::FromLuaMulti,
    R: IntoLuaMulti,
{
    let context = Arc::clone(context);
    lua.create_function(move |lua, arguments: A| function(lua, &context, arguments))
}

fn handle(lua: &Lua, model: Arc<Model>) -> mlua::Result<mlua::AnyUserData> {
    lua.create_userdata(Handle(model))
}

/// `models.use`: selects a bound role for the section's rounds.
fn select(lua: &Lua, context: &SectionContext, arguments: &MultiValue) -> Result<Arc<Model>, Failure> {
    if arguments.len() > 2 {
        return Err(RoleFault::TooManyArguments(arguments.len()).into());
    }
    let label = string("label", arguments.front())?;
    runvil_syntax::check_alias(&label).map_err(RoleFault::Alias)?;
    let role = context.run.roles.get(&label).ok_or(RoleFault::UseUnbound(label))?;
    let options = arguments.get(1).unwrap_or(&Value::Nil);
    let sampling = Sampling::read(lua, options).map_err(RoleFault::Option)?;
    let selected = Arc::new(role.with(sampling));
    context.state().selection = Some(Arc::clone(&selected));
    Ok(selected)
}

/// `models.default`: names the role of every section that selects none.
fn set_default(context: &SectionContext, label: &Value) -> Result<Arc<Model>, Failure> {
    let label = string("label", Some(label))?;
    runvil_syntax::check_alias(&label).map_err(RoleFault::Alias)?;
    let roles = &context.run.roles;
    let role = roles.get(&label).ok_or(RoleFault::DefaultUnbound(label))?;
    roles.set_default(&role).map_err(RoleFault::DefaultIsSet)?;
    Ok(role)
}

/// `models.get`: the handle of a role or, on a Host with a UI snapshot, of any model id.
fn get(context: &SectionContext, label: &Value) -> Result<Arc<Model>, Failure> {
    let label = string("label", Some(label))?;
    if let Some(role) = context.run.roles.get(&label) {
        return Ok(role);
    }
    if context.run.facts.ui.is_some() {
        return match Model::of_raw_id(&label) {
            Ok(model) => Ok(Arc::new(model)),
            Err(reason) => Err(RoleFault::RawId { id: label, reason }.into()),
        };
    }
    runvil_syntax::check_alias(&label).map_err(RoleFault::Alias)?;
    Err(RoleFault::GetUnbound(label).into())
}
