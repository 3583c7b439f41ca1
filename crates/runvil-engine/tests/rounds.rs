//! What a model round reports and what becomes of its answer, where no case file reaches: the model really sent to, raw
//! bodies, problems of the metadata, replies that no backend judged.

#![allow(clippy::panic, reason = "a test that finds something else fails")]

use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{
    Answer, CompletionError, CompletionErrorKind, EffectKind, Event, EventKind, Limits, ModelId, ModelInfo, ModelReply,
    ModelRound, Outcome, PackSnapshot, RawExchange, ReplyCall, Run, RunFacts, RunOutcome, RunSetup, Step, StoreAccess,
    ThinkingMode, Usage, prompt::Prompt, wire::Role,
};
use runvil_vfs::{Identity, StoreFailure};
use serde_json::{Value, json};

/// A store that lets everyone in and is never used.
struct Open;

impl StoreAccess for Open {
    fn open(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn fork(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }
}

/// A run of one section that holds this Lua, with every event so far.
struct Driven {
    run: Run,
    step: Step,
    events: Vec<Event>,
}

impl Driven {
    fn start(lua: &str) -> Self {
        let source = format!(
            "---\nname: t\ndescription: d\nrunvil: 0\nmodels: {{ w: {{ keywords: [thinking] }} }}\n---\n# T\n\n## A\n\n\
             ```lua\nmodels.use('w')\n{lua}\n```\n"
        );
        let prompt = Prompt::parse(source.as_bytes(), "t").result;
        let model = ModelInfo {
            id: ModelId::new("gateway", "m").expect("a valid id"),
            context: 4096,
            thinking: ThinkingMode::Switchable,
            description: String::new(),
            provider: None,
        };
        let setup = RunSetup {
            prompt: Arc::new(prompt.expect("the test's prompt parses")),
            facts: RunFacts {
                name: "t".to_owned(),
                seed: [7; 32],
                started_at: 0,
                args: String::new(),
                limits: Limits::default(),
                ui: None,
                debug: true,
            },
            packs: PackSnapshot::default(),
            roles: BTreeMap::from([("w".to_owned(), model)]),
            store: Some(Box::new(Open)),
        };
        let mut run = Run::new(setup).expect("the prompt has a version");
        let step = run.step();
        let events = step.events.clone();
        Self { run, step, events }
    }

    /// The one round that is out.
    fn round(&self) -> &ModelRound {
        match self.step.effects.as_slice() {
            [effect] => match &effect.kind {
                EffectKind::ModelRound(round) => round,
                other => panic!("expected a model round, got {other:?}"),
            },
            effects => panic!("expected one effect, got {effects:?}"),
        }
    }

    fn answer(&mut self, answer: Outcome<ModelReply, CompletionError>) {
        let id = self.step.effects[0].id;
        self.run.answer(id, Answer::Model(Box::new(answer)));
        self.step = self.run.step();
        self.events.extend(self.step.events.clone());
    }

    fn reply(&mut self, reply: ModelReply) {
        self.answer(Outcome::Ok(reply));
    }

    fn result(&self) -> &str {
        match &self.step.outcome {
            Some(RunOutcome::Completed { text }) => text,
            other => panic!("expected a result, got {other:?}"),
        }
    }

    /// The events that the rounds reported, as data without their envelopes.
    fn of_rounds(&self) -> Vec<Value> {
        let lua = ["lua_chunk_succeeded", "lua_chunk_started"];
        let events = self.events.iter().map(|event| {
            let mut event = json!(event.kind);
            event.as_object_mut().expect("an event is an object").remove("round");
            event
        });
        events
            .skip_while(|event| event["kind"] != lua[1])
            .skip(1)
            .take_while(|event| event["kind"] != lua[0])
            .collect()
    }
}

fn text(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        ..ModelReply::default()
    }
}

#[test]
fn a_served_round_reports_everything_in_order_under_the_model_really_sent_to() {
    let mut driven = Driven::start("messages:user('q') models.loop() return messages[2].content");
    assert!(driven.round().debug && driven.round().live);
    assert_eq!(driven.round().request.thinking, Some(true));
    driven.reply(ModelReply {
        finish_reason: Some("length".to_owned()),
        reasoning: Some("hm".to_owned()),
        metrics: Some(json!({ "tokens_per_second": 9 })),
        metadata_problems: vec!["the usage is odd".to_owned(), "so are the timings".to_owned()],
        sent_to: Some("substitute".to_owned()),
        raw: Some(RawExchange {
            request: json!({ "a": 1 }),
            response: json!({ "b": 2 }),
        }),
        ..text("cut of")
    });
    assert_eq!(driven.result(), "cut of");
    assert_eq!(
        driven.of_rounds(),
        [
            json!({ "kind": "tool_scope_validation_started" }),
            json!({ "kind": "tool_scope_validation_succeeded" }),
            json!({ "kind": "chat", "model": "m", "kept": 0, "messages": [{ "role": "user", "content": "q" }] }),
            json!({ "kind": "request", "body": { "a": 1 } }),
            json!({ "kind": "response", "body": { "b": 2 } }),
            json!({ "kind": "model_turn_completed", "turn": 1, "finish_reason": "length" }),
            json!({ "kind": "model_metadata_degraded", "turn": 1, "message": "the usage is odd" }),
            json!({ "kind": "model_metadata_degraded", "turn": 1, "message": "so are the timings" }),
            json!({ "kind": "thinking", "text": "hm", "turn": 1, "origin": "chat", "model": "substitute" }),
            json!({ "kind": "model_turn_truncated", "turn": 1 }),
            json!({
                "kind": "assistant_reply", "text": "cut of", "turn": 1, "origin": "chat", "model": "substitute",
                "finish_reason": "length", "metrics": { "tokens_per_second": 9 },
            }),
        ]
    );
}

#[test]
fn every_request_of_a_chain_has_an_id_of_its_own_even_one_that_failed() {
    let mut driven = Driven::start("pcall(models.infer, 'a') return models.infer('b')");
    assert!(!driven.round().live);
    assert_eq!(driven.round().round.as_str(), "0#0");
    driven.answer(Outcome::Err(CompletionError::new(CompletionErrorKind::Transport)));
    assert_eq!(driven.round().round.as_str(), "0#1");
    driven.reply(text("r"));
    assert_eq!(driven.result(), "r");
}

#[test]
fn a_reply_that_nobody_found_empty_raises_with_the_plain_message() {
    for (reply, reason) in [(text(""), "nil"), (text(" \n\u{a0}"), "stop")] {
        let mut driven = Driven::start(
            "messages:user('q')\nlocal _, e = pcall(models.loop)\n\
             return e.kind .. '|' .. e.message .. '|' .. tostring(e.finish_reason) .. '|' .. #messages",
        );
        driven.reply(ModelReply {
            finish_reason: (reason == "stop").then(|| reason.to_owned()),
            ..reply
        });
        assert_eq!(
            driven.result(),
            format!("empty_model_reply|empty model reply|{reason}|1")
        );
        let completed = driven.events.iter().find_map(|event| match &event.kind {
            EventKind::ModelTurnCompleted { turn, message, .. } => Some((*turn, message.as_deref())),
            _ => None,
        });
        assert_eq!(completed, Some((1, Some("empty model reply"))));
    }
}

#[test]
fn a_batch_whose_arguments_do_not_decode_fails_its_round() {
    let mut driven = Driven::start(
        "tools.offer_local('n', 'N.', {}, function() return 'ran' end)\nmessages:user('q')\n\
         local _, e = pcall(models.loop)\nreturn e.kind .. '|' .. #messages",
    );
    driven.reply(ModelReply {
        tool_calls: vec![ReplyCall {
            id: "c".to_owned(),
            name: "n".to_owned(),
            arguments: "[1]".to_owned(),
        }],
        ..ModelReply::default()
    });
    assert_eq!(driven.result(), "internal|1");
    assert!(
        driven
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::ModelTurnFailed { .. }))
    );
}

#[test]
fn the_usage_of_an_infer_round_and_of_a_failed_one_is_no_measurement_of_the_list() {
    let measured = Some(Usage {
        prompt_tokens: Some(3400),
        completion_tokens: Some(100),
        reasoning_tokens: None,
    });
    let mut driven = Driven::start(
        "messages:user('xxxxx')\nmodels.infer('xxxxx')\npcall(models.loop)\n\
         messages:assistant('ok'):user(string.rep('y', 400))\nmodels.loop()\nreturn messages[4].content",
    );
    driven.reply(ModelReply {
        usage: measured,
        ..text("side")
    });
    driven.answer(Outcome::Err(CompletionError {
        usage: measured,
        ..CompletionError::new(CompletionErrorKind::Timeout)
    }));
    assert_eq!(driven.round().request.messages.len(), 3);
    driven.reply(text("fits"));
    assert_eq!(driven.result(), "fits");
}

#[test]
fn a_stop_gives_the_round_up_and_reports_no_failure() {
    let mut driven = Driven::start("messages:user('q')\nlocal _, e = pcall(models.loop)\nreturn e.kind .. #messages");
    let id = driven.step.effects[0].id;
    driven.run.answer(id, Answer::Dropped);
    driven.step = driven.run.step();
    assert_eq!(driven.result(), "cancelled1");
    assert!(
        !driven
            .step
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::ModelTurnFailed { .. }))
    );
}

#[test]
fn no_request_of_a_conversation_at_random_breaks_a_rule_of_providers() {
    let lua = "
        local calls, done = 0, 0
        local function call() calls = calls + 1 return { id = 'c' .. calls % 5, name = 'n' } end
        while done < 40 do
          local kind = math.random(7)
          if kind == 1 then pcall(messages.system, messages, 's' .. done)
          elseif kind == 2 then messages:assistant(({ '', 'a' })[math.random(2)], math.random(2) == 1 and { call() } or nil)
          elseif kind == 3 then messages:tool('r', 'c' .. math.random(0, 4))
          elseif kind == 4 then messages:user({ { type = 'text', text = 'p' } })
          elseif kind == 5 then
            pcall(models.compact, function()
              if #messages > 0 then messages:replace(math.random(#messages), #messages) end
            end, 'cut')
          else messages:user(({ '', 'u' })[math.random(2)]) end
          if pcall(models.loop) then done = done + 1 end
          if #messages > 12 then models.compact(compactors.clear, 'clear') end
        end
        return done";
    let mut driven = Driven::start(lua);
    while driven.step.outcome.is_none() {
        assert_sound(driven.round());
        driven.reply(text("ok"));
    }
    assert_eq!(driven.result(), "40");
}

fn assert_sound(round: &ModelRound) {
    let mut pending = Vec::new();
    let mut last = None;
    for (index, message) in round.request.messages.iter().enumerate() {
        assert!(message.role != Role::System || index == 0, "{round:?}");
        assert!(message.role == Role::Tool || last != Some(message.role), "{round:?}");
        match &message.tool_call_id {
            Some(id) => {
                let open = pending.iter().position(|open| open == id);
                pending.remove(open.expect("a result answers an open call"));
            }
            None => assert!(pending.is_empty(), "{round:?}"),
        }
        pending.extend(message.tool_calls.iter().map(|call| call.id.clone()));
        last = Some(message.role);
    }
    assert!(pending.is_empty(), "{round:?}");
}
