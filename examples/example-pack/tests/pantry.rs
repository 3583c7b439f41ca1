//! The Pack's tools, called as a Harness calls them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use example_pack::{PantryPlugin, STOCK, Shelf, Stock};
use runvil_pack::{
    FileError, NoFiles, OutputKind, Pack, PackError, PackRegistry, Plugin, Services, ToolContext, ToolError,
    ToolErrorKind, ToolFiles, ToolOutput, Trust,
};
use serde_json::{Value, json};

/// The files of a run, in memory.
#[derive(Default)]
struct Files(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl ToolFiles for Files {
    async fn read(&self, path: &str) -> Result<String, FileError> {
        let files = self.0.lock().expect("no test panics with the lock held");
        files
            .get(path)
            .cloned()
            .ok_or_else(|| FileError(format!("no such file: {path}")))
    }

    async fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.0
            .lock()
            .expect("no test panics with the lock held")
            .insert(path.to_owned(), text.to_owned());
        Ok(())
    }

    async fn append(&self, path: &str, text: &str) -> Result<(), FileError> {
        let mut files = self.0.lock().expect("no test panics with the lock held");
        files.entry(path.to_owned()).or_default().push_str(text);
        Ok(())
    }

    async fn delete(&self, path: &str) -> Result<(), FileError> {
        self.0.lock().expect("no test panics with the lock held").remove(path);
        Ok(())
    }

    async fn exists(&self, path: &str) -> Result<bool, FileError> {
        Ok(self
            .0
            .lock()
            .expect("no test panics with the lock held")
            .contains_key(path))
    }

    async fn glob(&self, _: &str) -> Result<Vec<String>, FileError> {
        Err(FileError("these files have no globs".to_owned()))
    }
}

/// A stock whose warehouse burned down.
struct Burned;

#[async_trait]
impl Stock for Burned {
    async fn count(&self, _: &str) -> Result<u64, String> {
        Err("the warehouse does not answer".to_owned())
    }
}

fn built(services: &Services) -> Result<Arc<dyn Pack>, PackError> {
    let mut registry = PackRegistry::new();
    PantryPlugin
        .add_packs(&mut registry)
        .expect("an empty registry takes a Pack");
    registry.build(services).remove(0).pack
}

fn pantry(stock: impl Stock + 'static) -> Arc<dyn Pack> {
    let stock: Arc<dyn Stock> = Arc::new(stock);
    built(&Services::new().with(STOCK, stock)).expect("the Pack builds")
}

fn call(pack: &dyn Pack, tool: &str, arguments: &Value, files: Arc<dyn ToolFiles>) -> Result<ToolOutput, ToolError> {
    let tools = pack.tools();
    let found = tools
        .iter()
        .find(|found| found.definition().id.as_str() == tool)
        .expect("a tool of the Pack");
    let arguments = arguments.as_object().expect("an object").clone();
    pollster::block_on(found.call(arguments, ToolContext::new(files)))
}

#[test]
fn count_answers_with_trusted_json() {
    let pack = pantry(Shelf::new(BTreeMap::from([("flour".to_owned(), 2)])));
    let output = call(&*pack, "pantry/count", &json!({ "item": "flour" }), Arc::new(NoFiles)).expect("a count");
    assert_eq!(output.trust(), Trust::Trusted);
    let value: Value = serde_json::from_str(output.text()).expect("JSON");
    assert_eq!(value, json!({ "item": "flour", "count": 2 }));
    let tools = pack.tools();
    assert_eq!(tools[0].definition().output, OutputKind::Structured);
}

#[test]
fn a_wrong_argument_is_refused_with_a_message_for_the_model() {
    let pack = pantry(Shelf::default());
    for arguments in [json!({}), json!({ "item": 1 }), json!({ "item": "flour", "shelf": 2 })] {
        let error = call(&*pack, "pantry/count", &arguments, Arc::new(NoFiles)).expect_err("a refusal");
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        assert_eq!(error.message(), "count: pass the item's name as text");
    }
}

#[test]
fn a_failing_service_fails_the_call() {
    let error = call(
        &*pantry(Burned),
        "pantry/count",
        &json!({ "item": "flour" }),
        Arc::new(NoFiles),
    );
    let error = error.expect_err("a failure");
    assert_eq!(
        (error.kind(), error.message()),
        (ToolErrorKind::Backend, "count: the warehouse does not answer")
    );
}

#[test]
fn list_keeps_the_shopping_list_in_the_runs_files() {
    let pack = pantry(Shelf::default());
    let files = Arc::new(Files::default());
    for (items, list) in [
        (json!(["flour"]), "- flour\n"),
        (json!(["eggs", "milk"]), "- flour\n- eggs\n- milk\n"),
    ] {
        let output = call(&*pack, "pantry/list", &json!({ "items": items }), files.clone()).expect("the list");
        assert_eq!(output.text(), list);
    }
}

#[test]
fn list_fails_in_a_run_without_files() {
    let error = call(
        &*pantry(Shelf::default()),
        "pantry/list",
        &json!({ "items": ["a"] }),
        Arc::new(NoFiles),
    );
    assert_eq!(error.expect_err("a failure").message(), "this run has no store");
}

#[test]
fn without_its_service_the_pack_is_unavailable_for_a_reason() {
    let error = built(&Services::new()).err().expect("unavailable");
    assert_eq!(
        error.to_string(),
        "pantry needs acme/stock, and this host provides none"
    );
}
