//! What the model must have been sent.

use runvil_engine::wire::{ChatRequest, Content, ContentPart, Message, ToolSchema};
use serde_json::{Map, Value, json};

use super::{equal, field};
use crate::{
    case::{Expect, RequestWant},
    mismatch::{Mismatch, Want},
    observed::Observed,
};

pub(super) fn check(expect: &Expect, seen: &Observed, found: &mut Vec<Mismatch>) {
    field(
        "request_count",
        expect.request_count.as_ref(),
        &seen.requests.len(),
        found,
    );
    let Some(wants) = &expect.requests else {
        return;
    };
    // A case that states the count beside the list describes the first requests only.
    let is_prefix = expect.request_count.is_some() && wants.len() < seen.requests.len();
    if wants.len() != seen.requests.len() && !is_prefix {
        found.push(Mismatch::differs(
            "the number of requests",
            wants.len(),
            seen.requests.len(),
        ));
    }
    for (index, (want, request)) in wants.iter().zip(&seen.requests).enumerate() {
        Check {
            at: format!("requests[{index}]"),
            request,
            found,
        }
        .all(want);
    }
}

/// The texts of a message that `contains` looks at: its content, and the names and arguments of its calls.
pub(crate) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let (text, parts) = match &message.content {
        Content::Text(text) => (Some(text.as_str()), &[][..]),
        Content::Parts(parts) => (None, parts.as_slice()),
    };
    let parts = parts.iter().map(|part| match part {
        ContentPart::Text { text } => text.as_str(),
        ContentPart::ImageUrl { image_url } => image_url.url.as_str(),
    });
    let calls = message
        .tool_calls
        .iter()
        .flat_map(|call| [call.function.name.as_str(), call.function.arguments.as_str()]);
    text.into_iter().chain(parts).chain(calls)
}

/// Whether some message of the request contains the text.
pub(crate) fn mentions(request: &ChatRequest, part: &str) -> bool {
    request.messages.iter().flat_map(texts).any(|text| text.contains(part))
}

struct Check<'a> {
    at: String,
    request: &'a ChatRequest,
    found: &'a mut Vec<Mismatch>,
}

impl Check<'_> {
    fn all(mut self, want: &RequestWant) {
        let request = self.request;
        self.field("model", want.model.as_ref(), &request.model);
        self.field("temperature", want.temperature.as_ref(), &request.temperature);
        self.field("max_tokens", want.max_tokens.as_ref(), &request.max_tokens);
        self.field("thinking", want.thinking.as_ref(), &request.thinking);
        let roles = request.messages.iter().map(|message| message.role).collect();
        self.field("roles", want.roles.as_ref(), &roles);
        let tools = request.tools.iter().map(|tool| tool.function.name.clone()).collect();
        self.field("tools", want.tools.as_ref(), &tools);
        if let Some(want) = &want.messages {
            self.messages(want);
        }
        if let Some(want) = &want.tool_schemas {
            self.tool_schemas(want);
        }
        self.mentions(want);
    }

    fn field<T: PartialEq + serde::Serialize>(&mut self, key: &str, want: Option<&T>, actual: &T) {
        field(&format!("{}.{key}", self.at), want, actual, self.found);
    }

    fn messages(&mut self, want: &Value) {
        let actual = json!(self.request.messages);
        if !equal(want, &actual) {
            self.found
                .push(Mismatch::differs(format!("{}.messages", self.at), want.clone(), actual));
        }
    }

    fn tool_schemas(&mut self, want: &[Map<String, Value>]) {
        let fits = |want: &Map<String, Value>, tool: &ToolSchema| {
            let actual = json!(tool.function);
            want.iter()
                .all(|(key, want)| actual.get(key).is_some_and(|actual| equal(want, actual)))
        };
        let tools = &self.request.tools;
        if want.len() != tools.len() || !want.iter().zip(tools).all(|(want, tool)| fits(want, tool)) {
            let actual: Vec<_> = tools.iter().map(|tool| json!(tool.function)).collect();
            self.found.push(Mismatch::differs(
                format!("{}.tool_schemas", self.at),
                json!(want),
                actual,
            ));
        }
    }

    fn mentions(&mut self, want: &RequestWant) {
        let what = format!("{}.messages", self.at);
        for part in want.contains.iter().filter(|part| !mentions(self.request, part)) {
            let want = Want::Contain(part.clone());
            self.found
                .push(Mismatch::falls_short(&what, want, json!(self.request.messages)));
        }
        for part in want.not_contains.iter().filter(|part| mentions(self.request, part)) {
            let want = Want::Lack(part.clone());
            self.found
                .push(Mismatch::falls_short(&what, want, json!(self.request.messages)));
        }
    }
}
