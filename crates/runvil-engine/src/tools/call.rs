//! Calls of Pack tools: one from a script, or the catalog calls of a model round together (book: How the model's tool
//! calls run).

use runvil_lua::{Text, mlua::IntoLuaMulti};
use runvil_vfs::Identity;
use serde_json::Value;

use super::CatalogTool;
use crate::{
    ChainId, EffectKind, EventKind, Failure, ToolCall, ToolFailure, ToolOutput,
    request::Asked,
    run::{Purpose, Reply, Resume, Run},
    tasks::Waiting,
    untrusted,
};

/// A tool operation that a block asks for.
pub(crate) enum ToolRequest {
    /// `tools.call` of a catalog tool.
    Script(CatalogCall),
    /// Calls of one model round that run together, in the model's order.
    Batch(Vec<CatalogCall>),
}

/// One call of a catalog tool. It was counted when it was made.
pub(crate) struct CatalogCall {
    /// The tool's id.
    tool: String,
    /// The name that the call is recorded under.
    alias: String,
    arguments: Value,
    structured: bool,
    survives_stop: bool,
    /// The model's call id; empty for a script call.
    call_id: String,
    /// The round that asked, or for a script call the section's round count.
    turn: u32,
}

impl CatalogCall {
    pub(crate) fn new(tool: &CatalogTool, arguments: Value, call_id: &str, turn: u32) -> Self {
        Self {
            tool: tool.id.clone(),
            alias: tool.alias().to_owned(),
            arguments,
            structured: tool.structured,
            survives_stop: tool.survives_stop,
            call_id: call_id.to_owned(),
            turn,
        }
    }

    fn result(&self, landed: &Landed) -> EventKind {
        EventKind::ToolResult {
            turn: self.turn,
            tool_call_id: self.call_id.clone(),
            alias: self.alias.clone(),
            tool: Some(self.tool.clone()),
            trusted: landed.trusted,
            content: landed.text.clone(),
        }
    }
}

/// A Pack tool call that is out.
pub(crate) struct PendingCall {
    call: CatalogCall,
    /// Its place in the chain's batch; `None` for a script call.
    place: Option<usize>,
    identity: Option<Identity>,
}

/// The catalog calls of a model round that run together.
pub(crate) struct Batch {
    calls: Vec<Option<Result<Landed, Failure>>>,
    /// The calls from the front that were reported.
    reported: usize,
    /// What each call that landed and is not reported yet will report.
    events: Vec<Vec<EventKind>>,
}

/// What a call came back with.
struct Landed {
    /// What its caller reads.
    text: String,
    trusted: bool,
}

impl Run {
    pub(crate) fn serve_tool(&mut self, id: &ChainId, request: ToolRequest) -> Asked {
        match request {
            ToolRequest::Script(call) => self.start_script_call(id, call),
            ToolRequest::Batch(calls) => self.start_batch(id, calls),
        }
    }

    fn start_script_call(&mut self, id: &ChainId, call: CatalogCall) -> Asked {
        let (tool, alias, arguments) = (call.tool.clone(), call.alias.clone(), call.arguments.clone());
        self.report(id, EventKind::ToolCall { tool, alias, arguments });
        match self.start_tool(id, call, None) {
            Ok(()) => {
                self.chain(id).waiting = Some(Waiting::ToolCall);
                Asked::Later
            }
            Err(failure) => {
                self.report(id, EventKind::ToolCallFailed);
                Asked::Now(failure.into())
            }
        }
    }

    /// Starts the calls of a batch in order. One that cannot start stops the batch in its place.
    fn start_batch(&mut self, id: &ChainId, calls: Vec<CatalogCall>) -> Asked {
        let mut batch = Batch {
            calls: Vec::new(),
            reported: 0,
            events: Vec::new(),
        };
        for (place, call) in calls.into_iter().enumerate() {
            let started = self.start_tool(id, call, Some(place));
            batch.events.push(Vec::new());
            let Err(failure) = started else {
                batch.calls.push(None);
                continue;
            };
            batch.events[place].push(EventKind::ToolCallFailed);
            batch.calls.push(Some(Err(failure)));
            break;
        }
        let chain = self.chain(id);
        chain.waiting = Some(Waiting::ToolCall);
        chain.batch = Some(batch);
        match self.batch_landed(id) {
            Some(reply) => Asked::Now(reply),
            None => Asked::Later,
        }
    }

    fn start_tool(&mut self, id: &ChainId, call: CatalogCall, place: Option<usize>) -> Result<(), Failure> {
        let identity = if self.shared.has_store {
            let identity = self.chain(id).fork_for_tool();
            self.open_store(&identity)?;
            Some(identity)
        } else {
            None
        };
        let kind = EffectKind::ToolCall(ToolCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            survives_stop: call.survives_stop,
            identity: identity.clone(),
        });
        self.issue(id, kind, Purpose::Tool(Box::new(PendingCall { call, place, identity })));
        Ok(())
    }

    /// A tool call was answered, or stopped where there is no output.
    pub(crate) fn tool_answered(
        &mut self,
        id: &ChainId,
        pending: PendingCall,
        output: Option<Result<ToolOutput, ToolFailure>>,
    ) {
        let PendingCall { call, place, identity } = pending;
        if let Some(identity) = identity {
            self.chain(id).identity.join(&identity);
        }
        let reply = match place {
            None => Some(self.script_answered(id, &call, output)),
            Some(place) => {
                self.batch_answered(id, &call, place, output);
                self.batch_landed(id)
            }
        };
        if let Some(reply) = reply {
            self.ready.push_back((id.clone(), Resume::Lua(reply)));
        }
    }

    fn script_answered(
        &mut self,
        id: &ChainId,
        call: &CatalogCall,
        output: Option<Result<ToolOutput, ToolFailure>>,
    ) -> Reply {
        match self.script_result(call, output) {
            Ok((landed, reply)) => {
                self.report(id, EventKind::ToolCallSucceeded);
                self.report(id, call.result(&landed));
                reply
            }
            Err(failure) => {
                self.report(id, EventKind::ToolCallFailed);
                failure.into()
            }
        }
    }

    fn script_result(
        &self,
        call: &CatalogCall,
        output: Option<Result<ToolOutput, ToolFailure>>,
    ) -> Result<(Landed, Reply), Failure> {
        let output = output.ok_or(Failure::Interrupted)?;
        let landed = self.landed(output.map_err(|failure| Failure::Tool {
            message: failure.message,
        })?);
        let reply = if call.structured {
            let parsed: Result<Value, _> = serde_json::from_str(&landed.text);
            Reply::Json(parsed.map_err(|error| Failure::Tool {
                message: format!("structured tool {:?} returned invalid JSON: {error}", call.alias),
            })?)
        } else {
            Reply::Text(landed.text.clone())
        };
        Ok((landed, reply))
    }

    /// What an output is to its caller: wrapped unless the tool trusts it.
    fn landed(&self, output: ToolOutput) -> Landed {
        let ToolOutput { text, trusted } = output;
        let text = if trusted {
            text
        } else {
            untrusted::wrap(&self.shared.nonce, &text)
        };
        Landed { text, trusted }
    }

    fn batch_answered(
        &mut self,
        id: &ChainId,
        call: &CatalogCall,
        place: usize,
        output: Option<Result<ToolOutput, ToolFailure>>,
    ) {
        let (landed, first) = match output {
            None => (Err(Failure::Interrupted), EventKind::ToolCallFailed),
            Some(Ok(output)) => (Ok(self.landed(output)), EventKind::ToolCallSucceeded),
            Some(Err(ToolFailure { message: text })) => (
                Ok(self.landed(ToolOutput { text, trusted: false })),
                EventKind::ToolCallFailed,
            ),
        };
        let result = landed.as_ref().ok().map(|landed| call.result(landed));
        let Some(batch) = &mut self.chain(id).batch else { return };
        batch.events[place] = std::iter::once(first).chain(result).collect();
        batch.calls[place] = Some(landed);
    }

    /// Reports the calls that landed, in call order, and answers the batch once all have.
    fn batch_landed(&mut self, id: &ChainId) -> Option<Reply> {
        let batch = self.chain(id).batch.as_mut()?;
        let mut events = Vec::new();
        while batch.calls.get(batch.reported).is_some_and(Option::is_some) {
            events.append(&mut batch.events[batch.reported]);
            batch.reported += 1;
        }
        let is_complete = batch.reported == batch.calls.len();
        for event in events {
            self.report(id, event);
        }
        if !is_complete {
            return None;
        }
        let batch = self.chain(id).batch.take()?;
        let texts: Result<Vec<_>, _> = batch
            .calls
            .into_iter()
            .flatten()
            .map(|call| call.map(|landed| landed.text))
            .collect();
        Some(match texts {
            Ok(texts) => Reply::build(move |lua| {
                lua.create_sequence_from(texts.into_iter().map(Text))?
                    .into_lua_multi(lua)
            }),
            Err(failure) => failure.into(),
        })
    }
}
