//! A reply while it is put together.

use runvil_engine::ModelReply;
use serde_json::{Map, Value};

use crate::{
    Malformed,
    reply::{OnText, calls::Calls, content::Content, metadata::Metadata},
};

/// What has arrived of a reply.
#[derive(Debug, Default)]
pub(super) struct Draft {
    has_choice: bool,
    text: String,
    reasoning: String,
    calls: Calls,
    finish_reason: Option<String>,
    metadata: Metadata,
}

impl Draft {
    /// Adds a chunk of a stream.
    pub(super) fn take_chunk(&mut self, chunk: Map<String, Value>, on_text: OnText<'_>) -> Result<(), Malformed> {
        let Some(mut choice) = self.take_frame(chunk).map_err(|()| Malformed::Chunk)? else {
            return Ok(());
        };
        if let Some(Value::Object(mut delta)) = choice.remove("delta") {
            self.take_content(&mut delta, on_text);
            for fragment in tool_calls(&mut delta) {
                self.calls.take_fragment(fragment);
            }
        }
        self.take_finish_reason(&mut choice);
        Ok(())
    }

    /// Takes a reply that came as one document.
    pub(super) fn take_document(&mut self, document: Map<String, Value>, on_text: OnText<'_>) -> Result<(), Malformed> {
        let Some(mut choice) = self.take_frame(document).map_err(|()| Malformed::Document)? else {
            return Ok(());
        };
        if let Some(Value::Object(mut message)) = choice.remove("message") {
            self.take_content(&mut message, on_text);
            for call in tool_calls(&mut message) {
                self.calls.take_whole(call);
            }
        }
        self.take_finish_reason(&mut choice);
        Ok(())
    }

    /// The reply, not yet judged.
    pub(super) fn finish(self) -> Result<ModelReply, Malformed> {
        if !self.has_choice {
            return Err(Malformed::NoChoices);
        }
        let told = self.metadata.finish();
        Ok(ModelReply {
            text: self.text,
            tool_calls: self.calls.finish(),
            finish_reason: self.finish_reason,
            reasoning: (!self.reasoning.is_empty()).then_some(self.reasoning),
            usage: told.usage,
            metrics: told.metrics,
            metadata_problems: told.problems,
            sent_to: None,
            raw: None,
        })
    }

    /// Takes what stands around the choices, and gives the one choice that a request asks for. A chunk without
    /// choices, such as the one with the token counts, has none.
    fn take_frame(&mut self, mut frame: Map<String, Value>) -> Result<Option<Map<String, Value>>, ()> {
        self.metadata.take(&mut frame);
        let choices = match frame.remove("choices") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(choices)) => choices,
            Some(_) => return Err(()),
        };
        for choice in choices {
            let Value::Object(choice) = choice else {
                return Err(());
            };
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.has_choice = true;
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }

    fn take_content(&mut self, from: &mut Map<String, Value>, on_text: OnText<'_>) {
        let content = Content::take(from);
        self.reasoning.push_str(&content.reasoning);
        if !content.text.is_empty() {
            on_text(&content.text);
            self.text.push_str(&content.text);
        }
    }

    fn take_finish_reason(&mut self, choice: &mut Map<String, Value>) {
        if let Some(Value::String(reason)) = choice.remove("finish_reason")
            && !reason.is_empty()
        {
            self.finish_reason = Some(reason);
        }
    }
}

fn tool_calls(from: &mut Map<String, Value>) -> Vec<Value> {
    match from.remove("tool_calls") {
        Some(Value::Array(calls)) => calls,
        _ => Vec::new(),
    }
}
