//! Rounds and loops: what their calls check before anything is sent (book: Infer call-shape errors; Argument errors).

use std::sync::Arc;

use runvil_lua::mlua::{self, Function, Lua, MetaMethod, MultiValue, UserData, UserDataMethods};

use super::{handle::model_of, native};
use crate::{
    Failure,
    conversation::RoundRequest,
    globals::{
        compactors::{self, CompactFault},
        string,
    },
    models::Model,
    request::Request,
    section::SectionContext,
};

/// Why a round or a loop is refused at its call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum CallFault {
    #[error("models.infer takes (prompt); call handle:infer(prompt) to run on a model handle")]
    InferOfHandle,
    #[error("models.infer takes (prompt)")]
    InferCount,
    #[error("call infer on a model handle with a colon: handle:infer(prompt)")]
    InferWithoutHandle,
    #[error("handle:infer takes (prompt)")]
    HandleInferCount,
    #[error("models.loop takes (compactor?); call handle:loop(compactor?) to run on a model handle")]
    LoopOfHandle,
    #[error("models.loop takes (compactor?)")]
    LoopCount,
    #[error("call loop on a model handle with a colon: handle:loop(compactor?)")]
    LoopWithoutHandle,
    #[error("handle:loop takes (compactor?)")]
    HandleLoopCount,
    #[error(transparent)]
    Compactor(#[from] CompactFault),
    #[error("a loop or a compactor is already running in this section; ask a side question with models.infer(prompt)")]
    Busy,
}

impl From<CallFault> for Failure {
    fn from(fault: CallFault) -> Self {
        Self::lua(fault.to_string())
    }
}

impl From<CallFault> for mlua::Error {
    fn from(fault: CallFault) -> Self {
        Failure::from(fault).into()
    }
}

/// `infer`, `infer_on`, `open`, `open_on` and `round`.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<[Function; 5]> {
    Ok([
        lua.create_function(|_, arguments| Ok(infer(&arguments)?))?,
        lua.create_function(|_, arguments| Ok(infer_on(arguments)?))?,
        native(lua, context, |_, context, arguments| Ok(open(context, &arguments)?))?,
        native(lua, context, |_, context, arguments| Ok(open_on(context, arguments)?))?,
        lua.create_function(|_, ()| Ok(Request::Round(RoundRequest::Loop)))?,
    ])
}

/// Checks `models.infer(prompt)`.
fn infer(arguments: &MultiValue) -> Result<Request, Failure> {
    if model_of(arguments.front()).is_some() {
        return Err(CallFault::InferOfHandle.into());
    }
    infer_request(None, arguments, CallFault::InferCount)
}

/// Checks `handle:infer(prompt)`.
fn infer_on(mut arguments: MultiValue) -> Result<Request, Failure> {
    let model = model_of(arguments.pop_front().as_ref());
    let model = model.ok_or(CallFault::InferWithoutHandle)?;
    infer_request(Some(model), &arguments, CallFault::HandleInferCount)
}

fn infer_request(model: Option<Arc<Model>>, arguments: &MultiValue, too_many: CallFault) -> Result<Request, Failure> {
    if arguments.len() > 1 {
        return Err(too_many.into());
    }
    let prompt = string("prompt", arguments.front())?;
    Ok(Request::Round(RoundRequest::Infer { model, prompt }))
}

/// Checks `models.loop(compactor?)` and starts the loop.
fn open(context: &Arc<SectionContext>, arguments: &MultiValue) -> Result<Running, CallFault> {
    if model_of(arguments.front()).is_some() {
        return Err(CallFault::LoopOfHandle);
    }
    start(context, None, arguments, CallFault::LoopCount)
}

/// Checks `handle:loop(compactor?)` and starts the loop.
fn open_on(context: &Arc<SectionContext>, mut arguments: MultiValue) -> Result<Running, CallFault> {
    let model = model_of(arguments.pop_front().as_ref());
    let model = model.ok_or(CallFault::LoopWithoutHandle)?;
    start(context, Some(model), &arguments, CallFault::HandleLoopCount)
}

fn start(
    context: &Arc<SectionContext>,
    model: Option<Arc<Model>>,
    arguments: &MultiValue,
    too_many: CallFault,
) -> Result<Running, CallFault> {
    if arguments.len() > 1 {
        return Err(too_many);
    }
    let compactor = arguments.front().filter(|compactor| !compactor.is_nil());
    if compactor.is_some() {
        compactors::require_function(compactor)?;
    }
    let conversation = &mut context.state().conversation;
    if conversation.is_busy() {
        return Err(CallFault::Busy);
    }
    conversation.open_loop(model);
    Ok(Running(Arc::clone(context)))
}

/// A loop that runs, until the Lua that runs it leaves its scope in whatever way.
struct Running(Arc<SectionContext>);

impl UserData for Running {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Close, |_, running, ()| {
            running.0.state().conversation.close_loop();
            Ok(())
        });
    }
}
