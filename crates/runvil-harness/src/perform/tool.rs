//! Performing a Pack's tool call (book: Who runs a tool).

use std::{error::Error, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use runvil_engine::{EffectId, Outcome, ToolCall, ToolFailure, ToolOutput};
use runvil_pack::{Cancellation, NoFiles, ToolContext, ToolError, ToolFiles, Trust};
use serde_json::Value;

use super::{
    Performer,
    files::{EndOnDrop, StoreFiles},
};

/// The most bytes of text that one tool call may answer with.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;

/// Why a call's answer cannot be used, though the tool did not fail by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Misbehavior {
    #[error("the tool stopped unexpectedly")]
    Panicked,
    #[error("the tool's output is larger than the cap of {OUTPUT_CAP} bytes")]
    TooLarge,
}

impl Performer {
    pub(super) async fn call_tool(
        &self,
        id: EffectId,
        call: ToolCall,
        cancellation: Cancellation,
    ) -> Outcome<ToolOutput, ToolFailure> {
        let tool = Arc::clone(
            self.tools
                .get(&call.tool)
                .expect("a run calls only tools of its catalog"),
        );
        let Value::Object(arguments) = call.arguments else {
            unreachable!("a tool call's arguments are a JSON object");
        };
        let access = self
            .store
            .as_ref()
            .zip(call.identity)
            .map(|(session, identity)| session.files(identity));
        let _ended = access.clone().map(EndOnDrop);
        let files: Arc<dyn ToolFiles> = match access {
            Some(access) => Arc::new(StoreFiles::new(access, id, self.recording.clone())),
            None => Arc::new(NoFiles),
        };
        let context = ToolContext::new(files)
            .with_run_services(self.run_services.clone())
            .with_host_services(self.host_services.clone())
            .with_cancellation(cancellation);
        let answer = AssertUnwindSafe(async move { tool.call(arguments, context).await })
            .catch_unwind()
            .await;
        match answer {
            Ok(Ok(output)) if output.text().len() > OUTPUT_CAP => refuse(&call.tool, Misbehavior::TooLarge),
            Ok(Ok(output)) => {
                let trusted = output.trust() == Trust::Trusted;
                Outcome::Ok(ToolOutput {
                    text: output.into_text(),
                    trusted,
                })
            }
            Ok(Err(error)) => fail(&call.tool, &error),
            Err(_) => refuse(&call.tool, Misbehavior::Panicked),
        }
    }
}

/// The failure as the run sees it. What lies behind it goes to the Host's log.
fn fail(tool: &str, error: &ToolError) -> Outcome<ToolOutput, ToolFailure> {
    if let Some(cause) = error.source() {
        tracing::warn!(tool, kind = ?error.kind(), %error, cause, "a tool call failed");
    }
    Outcome::Err(ToolFailure {
        message: error.message().to_owned(),
    })
}

fn refuse(tool: &str, misbehavior: Misbehavior) -> Outcome<ToolOutput, ToolFailure> {
    tracing::warn!(tool, error = %misbehavior, "a tool call failed");
    Outcome::Err(ToolFailure {
        message: misbehavior.to_string(),
    })
}
