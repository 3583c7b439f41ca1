//! How a conversation is written down for the model: the chat template of its file.

use std::fmt::Write as _;

use minijinja::{
    Environment, Error, ErrorKind, context,
    syntax::SyntaxConfig,
    value::{Kwargs, Serde},
};
use runvil_engine::wire::{ChatRequest, Content, ContentPart, Message};
use serde_json::{Value, json};

use super::{failure::Failure, vocabulary::Vocabulary};

/// How many steps a template may take. A page of conversation takes a few thousand.
const FUEL: u64 = 50_000_000;

/// The chat template of a model.
pub(super) struct Template {
    environment: Environment<'static>,
    /// Whether it has a place for tools.
    pub(super) knows_tools: bool,
}

impl Template {
    /// Reads a template.
    pub(super) fn new(source: &str) -> Result<Self, Failure> {
        let mut environment = Environment::new();
        // The white space of chat templates is written for these two.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| refused(&error))?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", refuse);
        environment.add_filter("tojson", to_json);
        environment
            .add_template_owned("chat", source.to_owned())
            .map_err(|error| refused(&error))?;
        Ok(Self {
            environment,
            knows_tools: source.contains("tools"),
        })
    }

    /// The text of a conversation, at whose end the model's reply begins.
    pub(super) fn render(&self, request: &ChatRequest, vocabulary: &Vocabulary) -> Result<String, Failure> {
        let messages: Result<Vec<Value>, Failure> = request
            .messages
            .iter()
            .map(|message| plain(message, vocabulary))
            .collect();
        let tools = (!request.tools.is_empty()).then(|| harmless(&json!(request.tools), vocabulary));
        let template = self.environment.get_template("chat").map_err(|error| refused(&error))?;
        template
            .render(context! {
                messages => Serde(messages?),
                tools => Serde(tools),
                add_generation_prompt => true,
                bos_token => vocabulary.begin_name(),
                eos_token => vocabulary.end_name(),
                enable_thinking => request.thinking,
            })
            .map_err(|error| refused(&error))
    }
}

/// A message as templates expect it, with its text in one piece.
fn plain(message: &Message, vocabulary: &Vocabulary) -> Result<Value, Failure> {
    let mut text = String::new();
    match &message.content {
        Content::Text(content) => text.push_str(content),
        Content::Parts(parts) => {
            for part in parts {
                match part {
                    ContentPart::Text { text: part } => text.push_str(part),
                    ContentPart::ImageUrl { .. } => return Err(Failure::Image),
                }
            }
        }
    }
    let mut plain = json!({ "role": message.role.as_str(), "content": vocabulary.harmless(&text) });
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let mut plain = json!(call);
            // Templates write the arguments down as JSON themselves.
            if let Ok(arguments) = serde_json::from_str::<Value>(&call.function.arguments) {
                plain["function"]["arguments"] = arguments;
            }
            harmless(&plain, vocabulary)
        });
        plain["tool_calls"] = calls.collect();
    }
    if let Some(id) = &message.tool_call_id {
        plain["tool_call_id"] = json!(id);
    }
    Ok(plain)
}

/// A value in which no text reads as a control token.
fn harmless(value: &Value, vocabulary: &Vocabulary) -> Value {
    match value {
        Value::String(text) => vocabulary.harmless(text).into(),
        Value::Array(values) => values.iter().map(|value| harmless(value, vocabulary)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (vocabulary.harmless(name), harmless(value, vocabulary)))
            .collect(),
        other => other.clone(),
    }
}

/// `raise_exception(message)`, by which a template refuses a conversation.
fn refuse(message: &str) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

/// `tojson`, as templates know it: nothing is escaped for HTML.
#[expect(clippy::needless_pass_by_value, reason = "a filter takes its options by value")]
fn to_json(value: &minijinja::Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let written = match indent {
        None => serde_json::to_string(value),
        Some(_) => serde_json::to_string_pretty(value),
    };
    written.map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// The refusal of a template, with its causes.
fn refused(error: &Error) -> Failure {
    let mut text = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    if let Some(line) = error.line() {
        let _ = write!(text, " (line {line} of the template)");
    }
    Failure::Template(text)
}
