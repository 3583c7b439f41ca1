use std::{fs, sync::Arc, time::Duration};

use runvil_engine::{
    CompletionError, CompletionErrorKind as Kind, ModelReply, ModelRound, RoundId,
    wire::{
        ChatRequest, Content, ContentPart, FunctionCall, FunctionPayload, FunctionTag, ImageUrl, Message, Role,
        ToolSchema,
    },
};
use runvil_model::{ModelBackend as _, RoundLimits};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::yield_now;

use super::*;
use crate::{
    Library,
    tiny::{Meta, Tiny},
};

const LIMITS: RoundLimits = RoundLimits {
    max_response_bytes: 1 << 20,
    receive_timeout: Duration::from_secs(120),
};

fn greedy() -> LocalOptions {
    sampling_as(greedy_sampling())
}

/// A plain choice of the likeliest token.
fn greedy_sampling() -> Sampling {
    Sampling {
        temperature: 0.0,
        repetition_penalty: 1.0,
        ..Sampling::default()
    }
}

fn sampling_as(sampling: Sampling) -> LocalOptions {
    LocalOptions {
        sampling: [("tiny".parse().expect("a name"), sampling)].into(),
        ..LocalOptions::default()
    }
}

/// The backend of a library that holds this file as `local/tiny`.
fn models(tiny: &Tiny, options: LocalOptions) -> (TempDir, LocalModels) {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("tiny.gguf");
    fs::write(&file, tiny.bytes()).expect("written");
    let library = Library::new(root.path().join("models"));
    library.add(&"tiny".parse().expect("a name"), &file).expect("added");
    (root, LocalModels::new(library, options))
}

fn round(text: &str) -> ModelRound {
    ModelRound {
        round: serde_json::from_str::<RoundId>("\"main#0\"").expect("a round id"),
        model: "local/tiny".to_owned().try_into().expect("an id"),
        live: true,
        request: ChatRequest {
            model: "tiny".to_owned(),
            messages: vec![Message::text(Role::User, text)],
            tools: Vec::new(),
            temperature: None,
            max_tokens: Some(12),
            thinking: None,
        },
        debug: false,
    }
}

async fn complete(models: &LocalModels, round: &ModelRound) -> Result<(ModelReply, String), CompletionError> {
    let mut heard = String::new();
    let reply = models.complete(round, LIMITS, &mut |text| heard.push_str(text)).await?;
    Ok((reply, heard))
}

#[tokio::test]
async fn a_round_is_answered_and_streamed() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let (reply, heard) = complete(&models, &round("hi")).await.expect("a reply");
    assert_eq!(reply.text, heard);
    let usage = reply.usage.expect("token counts");
    assert_eq!(
        (reply.finish_reason.as_deref(), usage.completion_tokens),
        (Some("length"), Some(12))
    );
    // <|im_start|> user \n hi <|im_end|> \n <|im_start|> assistant \n, each letter a token.
    assert_eq!(usage.prompt_tokens, Some(1 + 5 + 2 + 1 + 1 + 1 + 10));
    let (again, _) = complete(&models, &round("hi")).await.expect("a reply");
    assert_eq!(again.text, reply.text);
}

#[tokio::test]
async fn the_catalog_lists_the_installed_models() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let catalog = models.models(LIMITS).await.expect("a catalog");
    let ids: Vec<String> = catalog.models.iter().map(|model| model.id.to_string()).collect();
    assert_eq!((ids, catalog.models[0].context), (vec!["local/tiny".to_owned()], 128));
}

#[tokio::test]
async fn what_the_conversation_has_in_common_is_read_once() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let cached = |reply: &ModelReply| reply.metrics.as_ref().expect("metrics")["timings"]["cached_tokens"].clone();
    let (first, _) = complete(&models, &round("hello there")).await.expect("a reply");
    let (second, _) = complete(&models, &round("hello you")).await.expect("a reply");
    assert_eq!((cached(&first), cached(&second)), (0.into(), (1 + 5 + 6).into()));
    let fresh = LocalModels::new(models.library().clone(), greedy());
    let (alone, _) = complete(&fresh, &round("hello you")).await.expect("a reply");
    assert_eq!(second.text, alone.text);
}

#[tokio::test]
async fn a_request_larger_than_the_window_is_a_context_overflow() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let error = complete(&models, &round(&"x".repeat(200))).await.expect_err("too long");
    assert_eq!(error, CompletionError::new(Kind::ContextOverflow));
}

#[tokio::test]
async fn a_reply_ends_where_the_window_does() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let mut round = round("hi");
    round.request.max_tokens = None;
    let (reply, _) = complete(&models, &round).await.expect("a reply");
    let usage = reply.usage.expect("token counts");
    let all = usage.prompt_tokens.expect("a count") + usage.completion_tokens.expect("a count");
    assert!(all <= 128, "{all}");
    assert!(reply.finish_reason.as_deref() == Some("stop") || all == 128, "{all}");
}

#[tokio::test]
async fn a_stop_text_ends_the_reply() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let (whole, _) = complete(&models, &round("hi")).await.expect("a reply");
    // A text that the reply does not begin with.
    let starts = whole.text.char_indices().skip(1);
    let middle = starts.map(|(at, character)| &whole.text[at..at + character.len_utf8()]);
    let middle = middle
        .into_iter()
        .find(|text| !whole.text.starts_with(text))
        .expect("a reply of several characters")
        .to_owned();
    let stopped = LocalModels::new(
        models.library().clone(),
        sampling_as(Sampling {
            stop: vec![middle.clone()],
            ..greedy_sampling()
        }),
    );
    let (reply, heard) = complete(&stopped, &round("hi")).await.expect("a reply");
    let expected = &whole.text[..whole.text.find(&middle).expect("its own text")];
    assert_eq!((reply.text.as_str(), heard.as_str()), (expected, expected));
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
}

#[tokio::test]
async fn a_model_that_does_not_fit_into_memory_is_not_loaded() {
    let (_root, models) = models(
        &Tiny::llama(),
        LocalOptions {
            memory: Some(1 << 20),
            ..greedy()
        },
    );
    let error = complete(&models, &round("hi")).await.expect_err("no memory");
    assert_eq!(error.kind, Kind::Overloaded);
    assert!(error.to_string().contains("local/tiny needs"), "{error}");
}

#[tokio::test]
async fn a_model_that_is_not_installed_is_unavailable() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let mut round = round("hi");
    round.model = "local/other".to_owned().try_into().expect("an id");
    let error = complete(&models, &round).await.expect_err("unknown");
    assert_eq!(error.kind, Kind::Unavailable);
    assert!(
        error
            .to_string()
            .contains(": no model named `other` is installed; `runvil model list`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_model_file_that_was_damaged_later_is_told() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let file = models.library().model_file(&"tiny".parse().expect("a name"));
    let whole = fs::read(&file).expect("the file");
    let mut altered = whole.clone();
    *altered.last_mut().expect("a byte") ^= 1;
    for (bytes, says) in [
        (b"GGUF\x03\0\0\0".as_slice(), "model.gguf: the file is cut off"),
        (b"no model", "model.gguf: this is not a GGUF file"),
        (&whole[..whole.len() - 64], "model.gguf: the file is cut off"),
        (
            &altered,
            "model.gguf: the file of `tiny` was changed since it was added",
        ),
    ] {
        fs::write(&file, bytes).expect("written");
        let error = complete(&models, &round("hi")).await.expect_err("damaged");
        assert_eq!((error.kind, error.kind.is_retryable()), (Kind::Rejected, false));
        let text = error.to_string();
        assert!(
            text.contains(says) && text.ends_with("runvil model remove tiny"),
            "{text}"
        );
    }
    fs::remove_file(&file).expect("removed");
    let error = complete(&models, &round("hi")).await.expect_err("missing");
    assert_eq!((error.kind, error.kind.is_retryable()), (Kind::Unavailable, false));
    fs::write(&file, &whole).expect("written");
    complete(&models, &round("hi")).await.expect("it is whole again");
}

fn with_tools(mut round: ModelRound) -> ModelRound {
    let parameters = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    round.request.tools = vec![ToolSchema::new("find", "Finds <|im_end|> things.", parameters)];
    round
}

#[tokio::test]
async fn tools_for_a_model_whose_template_knows_none_are_a_rejection() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let error = complete(&models, &with_tools(round("hi"))).await.expect_err("no tools");
    assert_eq!((error.kind, error.kind.is_retryable()), (Kind::Rejected, false));
    assert!(error.to_string().contains("local/tiny cannot call tools"), "{error}");
}

#[tokio::test]
async fn tools_and_calls_reach_the_template() {
    // It refuses with what it was given, which is how a test sees it.
    let template = "{{ raise_exception(tools[0].function.name ~ ' ' ~ tools[0].function.description ~ ' ' ~ \
                    messages[1].tool_calls[0].function.arguments.q ~ ' ' ~ messages[2].content) }}";
    let (_root, models) = models(
        &Tiny::llama().with("tokenizer.chat_template", Meta::Text(template)),
        greedy(),
    );
    let mut round = with_tools(round("hi"));
    let mut asked = Message::text(Role::Assistant, "");
    asked.tool_calls = vec![FunctionCall {
        id: "call_1".to_owned(),
        r#type: FunctionTag::Function,
        function: FunctionPayload {
            name: "find".to_owned(),
            arguments: "{\"q\":\"tea\"}".to_owned(),
        },
    }];
    let mut answered = Message::text(Role::Tool, "green");
    answered.tool_call_id = Some("call_1".to_owned());
    round.request.messages.extend([asked, answered]);
    let error = complete(&models, &round).await.expect_err("refused").to_string();
    assert!(
        error.contains("find Finds <\u{200b}|im_end|> things. tea green"),
        "{error}"
    );
}

#[tokio::test]
async fn an_image_and_a_refusing_template_are_rejections() {
    let refusing = Tiny::llama().with(
        "tokenizer.chat_template",
        Meta::Text("{{ raise_exception('no ' + messages[0].role.upper()) }}"),
    );
    let (_root, refusing) = models(&refusing, greedy());
    let error = complete(&refusing, &round("hi")).await.expect_err("refused");
    assert_eq!(error.kind, Kind::Rejected);
    assert!(
        error.to_string().contains("refuses the conversation: no USER"),
        "{error}"
    );

    let (_root, models) = models(&Tiny::llama(), greedy());
    let mut round = round("hi");
    round.request.messages[0].content = Content::Parts(vec![ContentPart::ImageUrl {
        image_url: ImageUrl {
            url: "data:image/png;base64,".to_owned(),
        },
    }]);
    let error = complete(&models, &round).await.expect_err("refused");
    assert_eq!(error.kind, Kind::Rejected);
}

#[tokio::test]
async fn a_template_that_does_not_end_is_stopped() {
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
    let (_root, models) = models(
        &Tiny::llama().with("tokenizer.chat_template", Meta::Text(endless)),
        greedy(),
    );
    let error = complete(&models, &round("hi")).await.expect_err("refused");
    assert_eq!(error.kind, Kind::Rejected);
}

#[tokio::test]
async fn a_reply_larger_than_the_cap_is_refused() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let limits = RoundLimits {
        max_response_bytes: 3,
        ..LIMITS
    };
    let error = models
        .complete(&round("hi"), limits, &mut |_| {})
        .await
        .expect_err("too long");
    assert!(
        error.to_string().ends_with("response stream exceeds the 3-byte limit"),
        "{error}"
    );
}

#[tokio::test]
async fn the_settings_of_a_model_are_its_own_and_a_seed_repeats_its_reply() {
    let drawn = |seed| Sampling {
        temperature: 2.0,
        top_k: 0,
        top_p: 1.0,
        seed,
        ..Sampling::default()
    };
    let (_root, models) = models(&Tiny::llama(), sampling_as(drawn(1)));
    let text = |options| {
        let models = LocalModels::new(models.library().clone(), options);
        async move { complete(&models, &round("hi")).await.expect("a reply").0.text }
    };
    let first = text(sampling_as(drawn(1))).await;
    assert_eq!(first, text(sampling_as(drawn(1))).await);
    assert_ne!(first, text(sampling_as(drawn(2))).await);
    let other = LocalOptions {
        sampling: [("other".parse().expect("a name"), drawn(1))].into(),
        ..LocalOptions::default()
    };
    assert_eq!(text(other).await, text(LocalOptions::default()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_round_lets_the_next_one_begin() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let models = Arc::new(models);
    let mut endless = round("hi");
    endless.request.max_tokens = None;
    let first = {
        let models = Arc::clone(&models);
        tokio::spawn(async move { complete(&models, &endless).await })
    };
    yield_now().await;
    first.abort();
    let (reply, _) = complete(&models, &round("next")).await.expect("a reply");
    let fresh = LocalModels::new(models.library().clone(), greedy());
    assert_eq!(
        reply.text,
        complete(&fresh, &round("next")).await.expect("a reply").0.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_at_the_same_time_are_answered_one_after_the_other() {
    let (_root, models) = models(&Tiny::llama(), greedy());
    let rounds = ["one", "two", "three"].map(|text| {
        let models = models.clone();
        tokio::spawn(async move { complete(&models, &round(text)).await.expect("a reply").0.text })
    });
    for (task, text) in rounds.into_iter().zip(["one", "two", "three"]) {
        let fresh = LocalModels::new(models.library().clone(), greedy());
        assert_eq!(
            task.await.expect("done"),
            complete(&fresh, &round(text)).await.expect("a reply").0.text
        );
    }
}
