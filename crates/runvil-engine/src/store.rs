//! Store calls: each is one effect with one event (book: How store calls run and what they report).

use runvil_vfs::{OpName, StoreFailure, StoreOp, StoreReply};

use crate::{
    ChainId, EffectKind, EventKind, Failure, StoreCall,
    request::Asked,
    run::{Purpose, Reply, Resume, Run},
    tasks::Waiting,
};

impl Run {
    /// Issues one store operation of a block.
    pub(crate) fn start_store(&mut self, id: &ChainId, op: StoreOp) -> Asked {
        let name = op.name();
        let chain = self.chain(id);
        chain.waiting = Some(Waiting::Store);
        let identity = chain.identity.clone();
        self.issue(id, EffectKind::Store(StoreCall { identity, op }), Purpose::Store(name));
        Asked::Later
    }

    /// A store operation was answered, or dropped where there is no reply. A claims conflict ends the run on the spot.
    pub(crate) fn store_answered(&mut self, id: &ChainId, op: OpName, reply: Option<Result<StoreReply, StoreFailure>>) {
        self.report(id, EventKind::store(op, matches!(reply, Some(Ok(_)))));
        let reply = match reply {
            Some(Ok(reply)) => store_reply(reply),
            Some(Err(failure)) if failure.is_determinism() => {
                self.fail(&Failure::Store(failure), false);
                return;
            }
            Some(Err(failure)) => Reply::Raise(failure.into()),
            None => Reply::Raise(Failure::Interrupted),
        };
        self.ready.push_back((id.clone(), Resume::Lua(reply)));
    }
}

/// What a store call returns to Lua.
fn store_reply(reply: StoreReply) -> Reply {
    match reply {
        StoreReply::Done => Reply::Nothing,
        StoreReply::Text(text) => Reply::Text(text),
        StoreReply::Exists(exists) => Reply::Json(exists.into()),
        StoreReply::Paths(paths) => Reply::Json(paths.into()),
    }
}
