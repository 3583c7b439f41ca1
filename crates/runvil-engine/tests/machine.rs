//! The machine's own rules, which no case file can reach: what an answer may be, what a drop does, what never comes twice
//! (book: Harness answers; How a run proceeds).

#![allow(clippy::panic, reason = "a test that finds something else fails")]
use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{
    Answer, Effect, EffectId, EffectKind, EventKind, Limits, Outcome, PackEntry, PackSnapshot, Run, RunErrorKind,
    RunFacts, RunOutcome, RunSetup, Step, StoreAccess, ToolEntry, ToolOutput, prompt::Prompt,
};
use runvil_vfs::{Identity, StoreFailure, StoreReply};

/// A store that lets everyone in; the tests answer its operations.
struct Open;

impl StoreAccess for Open {
    fn open(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn fork(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }
}

fn setup(body: &str) -> RunSetup {
    let source = format!("---\nname: t\ndescription: d\nrunvil: 0\n---\n# T\n\n{body}");
    let prompt = Prompt::parse(source.as_bytes(), "t").result;
    let tool = ToolEntry {
        id: "kit/squeeze".to_owned(),
        description: "Squeezes.".to_owned(),
        parameters: serde_json::json!({ "type": "object" }),
        structured: false,
        survives_stop: false,
    };
    let kit = PackEntry {
        id: "kit".to_owned(),
        declared: false,
        unavailable: None,
        prelude: None,
        tools: vec![tool],
    };
    RunSetup {
        prompt: Arc::new(prompt.expect("the test's prompt parses")),
        facts: RunFacts {
            name: "t".to_owned(),
            seed: [7; 32],
            started_at: 0,
            args: String::new(),
            limits: Limits::default(),
            ui: None,
            debug: false,
        },
        packs: PackSnapshot { packs: vec![kit] },
        roles: BTreeMap::new(),
        store: Some(Box::new(Open)),
    }
}

fn start(body: &str) -> (Run, Step) {
    let mut run = Run::new(setup(body)).expect("the prompt has a version");
    let step = run.step();
    (run, step)
}

fn block(lua: &str) -> String {
    format!("## A\n\n```lua\n{lua}\n```\n")
}

fn one(step: &Step) -> &Effect {
    let [effect] = step.effects.as_slice() else {
        panic!("expected one effect, got {:?}", step.effects)
    };
    effect
}

fn squeezed() -> Answer {
    Answer::Tool(Outcome::Ok(ToolOutput {
        text: "juice".to_owned(),
        trusted: true,
    }))
}

/// The outcome of a run whose Harness broke a rule.
fn broken(step: Step) -> String {
    match step.outcome {
        Some(RunOutcome::Failed(error)) => {
            assert_eq!(error.kind, RunErrorKind::Internal);
            let place = error.location.expect("an internal fault names its source");
            assert!(place.path.ends_with(".rs"), "{}", place.path);
            assert!(place.line.is_some());
            error.message
        }
        other => panic!("expected an internal fault, got {other:?}"),
    }
}

#[test]
fn an_answer_to_an_unknown_effect_ends_the_run() {
    let (mut run, step) = start(&block("return store.read('a')"));
    let asked = one(&step).id;
    run.answer(EffectId(99), Answer::Timer);
    let step = run.step();
    assert_eq!(step.outcome, None, "the open effect is still to be answered");
    run.answer(asked, Answer::Dropped);
    assert_eq!(
        broken(run.step()),
        "internal invariant violated: an answer names effect 99, which was never issued"
    );
}

#[test]
fn an_answer_of_the_wrong_kind_ends_the_run() {
    let (mut run, step) = start(&block("return store.read('a')"));
    run.answer(one(&step).id, Answer::Timer);
    assert_eq!(
        broken(run.step()),
        "internal invariant violated: effect 1 was answered with the wrong kind of answer"
    );
}

#[test]
fn a_second_answer_ends_the_run() {
    let (mut run, step) = start(&block("store.read('a') return store.read('b')"));
    let first = one(&step).id;
    let text = || Answer::Store(Outcome::Ok(StoreReply::Text("x".to_owned())));
    run.answer(first, text());
    let second = one(&run.step()).id;
    run.answer(first, text());
    assert_eq!(run.step().outcome, None);
    run.answer(second, Answer::Dropped);
    assert_eq!(
        broken(run.step()),
        "internal invariant violated: effect 1 was answered twice"
    );
}

#[test]
fn a_late_answer_to_a_dropped_effect_is_thrown_away() {
    let (mut run, step) = start(&format!(
        "{}### Slow\n\n```lua\nreturn tools.call('kit/squeeze')\n```\n",
        block(
            "local slow = tasks.spawn('### Slow')\ntasks.join_any({ slow }, { timeout = 1 })\ntasks.cancel(slow)\n\
             return store.read('a')"
        )
    ));
    let find = |step: &Step, is: fn(&EffectKind) -> bool| {
        step.effects
            .iter()
            .find(|effect| is(&effect.kind))
            .expect("the effect is out")
            .id
    };
    let timer = find(&step, |kind| matches!(kind, EffectKind::Timer { .. }));
    let call = find(&step, |kind| matches!(kind, EffectKind::ToolCall(_)));
    run.answer(timer, Answer::Timer);
    let step = run.step();
    assert_eq!(step.drops, [call]);
    let read = find(&step, |kind| matches!(kind, EffectKind::Store(_)));
    run.answer(call, squeezed());
    run.answer(read, Answer::Store(Outcome::Ok(StoreReply::Text("kept".to_owned()))));
    let step = run.step();
    assert!(
        step.events
            .iter()
            .all(|event| !matches!(event.kind, EventKind::ToolResult { .. }))
    );
    assert_eq!(
        step.outcome,
        Some(RunOutcome::Completed {
            text: "kept".to_owned()
        })
    );
}

#[test]
fn a_cancel_drops_what_is_out_and_ends_once_all_is_answered() {
    let (mut run, step) = start(&block("return tools.call('kit/squeeze')"));
    let call = one(&step).id;
    run.cancel_flag().cancel();
    let step = run.step();
    assert_eq!((step.drops.as_slice(), &step.outcome), (&[call][..], &None));
    run.answer(call, Answer::Dropped);
    assert_eq!(run.step().outcome, Some(RunOutcome::Cancelled));
    let after = run.step();
    assert!(after.outcome.is_none() && after.effects.is_empty() && after.events.is_empty());
}

#[test]
fn a_run_may_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Run>();
}

#[test]
fn a_tool_call_runs_under_an_identity_of_its_own() {
    let (_, step) = start(&block("return tools.call('kit/squeeze', { n = 1 })"));
    let EffectKind::ToolCall(call) = &one(&step).kind else {
        panic!("a tool call is out")
    };
    assert_eq!(call.arguments, serde_json::json!({ "n": 1 }));
    assert_eq!(call.identity.as_ref().map(Identity::name), Some("0.tool1"));
}

#[test]
fn a_refused_fork_fails_the_tool_call_alone() {
    struct NoForks;
    impl StoreAccess for NoForks {
        fn open(&mut self, _: &Identity) -> Result<(), StoreFailure> {
            Ok(())
        }

        fn fork(&mut self, _: &Identity) -> Result<(), StoreFailure> {
            Err(StoreFailure::Backend {
                message: "no more sessions".to_owned(),
            })
        }
    }
    let body = block("local ok, e = pcall(tools.call, 'kit/squeeze')\nreturn tostring(ok) .. '|' .. e.kind");
    let setup = RunSetup {
        store: Some(Box::new(NoForks)),
        ..setup(&body)
    };
    let step = Run::new(setup).expect("the prompt has a version").step();
    assert!(step.effects.is_empty());
    assert_eq!(
        step.outcome,
        Some(RunOutcome::Completed {
            text: "false|store".to_owned()
        })
    );
}

#[test]
fn the_same_setup_and_answers_give_the_same_bytes() {
    let body = block(
        "log(tostring({}) .. math.random())\nlocal text = tools.call('kit/squeeze')\nreturn text .. untrusted('x') .. sys.id",
    );
    let bytes = || {
        let (mut run, first) = start(&body);
        run.answer(one(&first).id, squeezed());
        let second = run.step();
        let text = |step: &Step| {
            serde_json::to_string(&(&step.effects, &step.events, &step.outcome)).expect("steps are plain data")
        };
        (text(&first), text(&second))
    };
    assert_eq!(bytes(), bytes());
}
