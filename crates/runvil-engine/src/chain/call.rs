//! `call`: a contained chain whose result comes back to the caller (book: Calling a section).

use super::{Chain, ChainKind};
use crate::{
    CALL_DEPTH_CAP, CallForm, ChainId, Failure,
    request::{Asked, CallRequest},
    run::{Resume, Run},
    tasks::Waiting,
};

impl Run {
    /// Starts a called chain; its caller waits for it.
    pub(crate) fn call(&mut self, id: &ChainId, request: CallRequest) -> Asked {
        match self.start_call(id, request) {
            Ok(()) => Asked::Later,
            Err(failure) => Asked::Now(failure.into()),
        }
    }

    fn start_call(&mut self, id: &ChainId, request: CallRequest) -> Result<(), Failure> {
        let section = self.chain(id).walk.current();
        let target = self.shared.prompt.visible_from(section).resolve(&request.target)?;
        let caller = self.chain(id);
        if caller.depth >= CALL_DEPTH_CAP {
            return Err(Failure::CallDepth(CallForm::Call));
        }
        let child_id = caller.next_child();
        let identity = caller.identity.fork(child_id.to_string());
        let mut chain: Chain = caller.child(child_id.clone(), ChainKind::Call(id.clone()), target, identity);
        caller.waiting = Some(Waiting::Call);
        chain.args = request.args;
        chain.var = request.var;
        self.chains.insert(child_id.clone(), chain);
        self.ready.push_back((child_id, Resume::Begin));
        Ok(())
    }
}
