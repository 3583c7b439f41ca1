//! The shipped Packs, built and called as a Host does it.

use std::error::Error;
use std::sync::Arc;

use runvil_pack::serde_json::json;
use runvil_pack::shipped::{SubagentsPlugin, UserInputPlugin};
use runvil_pack::{
    Arguments, BuiltPack, INPUT_BROKER, InputBroker, InputError, NoFiles, Pack, PackRegistry, Plugin, RegistryError,
    Services, ToolContext, ToolErrorKind, Trust, async_trait,
};

struct Operator(Result<&'static str, (&'static str, &'static str)>);

#[async_trait]
impl InputBroker for Operator {
    async fn ask(&self) -> Result<String, InputError> {
        match self.0 {
            Ok(text) => Ok(text.to_owned()),
            Err((message, cause)) => Err(InputError::new(message).with_cause(cause)),
        }
    }
}

fn context(operator: Operator) -> ToolContext {
    let broker: Arc<dyn InputBroker> = Arc::new(operator);
    ToolContext::new(Arc::new(NoFiles)).with_run_services(Services::new().with(INPUT_BROKER, broker))
}

fn built(plugin: &dyn Plugin) -> (BuiltPack, Arc<dyn Pack>) {
    let mut registry = PackRegistry::new();
    plugin.add_packs(&mut registry).expect("an empty registry takes a Pack");
    let built = registry.build(&Services::new()).remove(0);
    let pack = built.pack.clone().expect("the Pack builds");
    (built, pack)
}

#[test]
fn the_ask_tool_is_described_as_the_book_says() {
    let (built, pack) = built(&UserInputPlugin);
    assert_eq!(built.name.as_str(), "runvil/user-input");
    assert_eq!(pack.needs(), [INPUT_BROKER.name()]);
    let tools = pack.tools();
    assert_eq!(tools.len(), 1);
    let definition = tools[0].definition();
    assert_eq!(definition.id.as_str(), "user-input/ask");
    assert_eq!(definition.id.wire_name(), "user-input_ask");
    assert_eq!(
        definition.description,
        "Wait for the operator's next message and return its text."
    );
    assert_eq!(definition.parameters, json!({ "type": "object", "properties": {} }));
    assert!(definition.survives_stop);
    assert!(definition.repeat_safe, "a question can be put again");
}

#[test]
fn the_operators_text_comes_back_trusted_and_byte_for_byte() {
    let (_, pack) = built(&UserInputPlugin);
    let output = pollster::block_on(pack.tools()[0].call(Arguments::new(), context(Operator(Ok("  a\n\tb  ")))))
        .expect("the operator answers");
    assert_eq!((output.text(), output.trust()), ("  a\n\tb  ", Trust::Trusted));
}

#[test]
fn a_failed_ask_shows_the_brokers_message_and_hides_its_cause() {
    let (_, pack) = built(&UserInputPlugin);
    let operator = Operator(Err(("the window closed", "socket reset")));
    let error = pollster::block_on(pack.tools()[0].call(Arguments::new(), context(operator))).expect_err("it fails");
    assert_eq!(
        (error.kind(), error.message()),
        (ToolErrorKind::Other, "the window closed")
    );
    assert_eq!(error.source().expect("the cause").to_string(), "socket reset");
}

#[test]
fn the_prelude_spells_no_pack_id() {
    let (_, pack) = built(&UserInputPlugin);
    let prelude = pack.prelude().expect("a prelude");
    assert!(prelude.contains("input.ask") && !prelude.contains("user-input"));
}

#[test]
fn subagents_has_no_tools() {
    let (built, pack) = built(&SubagentsPlugin);
    assert_eq!(built.name.as_str(), "runvil/subagents");
    assert!(pack.tools().is_empty() && pack.needs().is_empty() && pack.prelude().is_none());
    assert_eq!(pollster::block_on(pack.ready()), Ok(()));
}

#[test]
fn a_pack_is_added_once() {
    let mut registry = PackRegistry::new();
    SubagentsPlugin.add_packs(&mut registry).expect("the first");
    let name = "runvil/subagents".parse().expect("valid");
    assert_eq!(
        SubagentsPlugin.add_packs(&mut registry),
        Err(RegistryError::Duplicate(name))
    );
}
