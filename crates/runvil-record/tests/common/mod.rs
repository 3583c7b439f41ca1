//! Runs made by hand.

#![allow(dead_code, reason = "each test file uses a part of it")]

use runvil_engine::{
    Answer, ChainId, Effect, EffectId, EffectKind, Event, EventKind, Handed, Limits, ModelId, ModelReply, ModelRound,
    Outcome, Provenance, Recorder, RoundId, RunFacts, RunOutcome, RunPrepared, RunStart, StepRecord, Usage,
    wire::{ChatRequest, Message, Role},
};
use runvil_record::{Database, HostFacts, RunId, RunWriter};

pub(crate) fn start(name: &str) -> RunStart {
    RunStart {
        facts: RunFacts {
            name: name.to_owned(),
            seed: [7; 32],
            started_at: 1_700_000_000_000,
            args: "some arguments".to_owned(),
            limits: Limits::default(),
            ui: None,
            debug: false,
        },
        prompt_hash: "sha256:00".to_owned(),
        input: None,
        model: None,
        has_store: true,
    }
}

pub(crate) fn event(sequence: u64, kind: EventKind) -> Event {
    Event {
        execution: "session-1".to_owned(),
        section: "Main".to_owned(),
        provenance: Provenance {
            task: ChainId::root(),
            sequence,
        },
        kind,
    }
}

pub(crate) fn log(sequence: u64, message: impl Into<String>) -> Event {
    event(
        sequence,
        EventKind::Lua {
            message: message.into(),
        },
    )
}

pub(crate) fn round(id: u64, messages: Vec<Message>) -> Effect {
    let number = u32::try_from(id).expect("a small number");
    Effect {
        id: EffectId(id),
        task: ChainId::root(),
        section: "Main".to_owned(),
        kind: EffectKind::ModelRound(ModelRound {
            round: RoundId::new(&ChainId::root(), number),
            model: ModelId::new("gateway", "first").expect("a model id"),
            live: true,
            request: ChatRequest {
                model: "first".to_owned(),
                messages,
                tools: Vec::new(),
                temperature: Some(0.1),
                max_tokens: None,
                thinking: None,
            },
            debug: false,
        }),
    }
}

pub(crate) fn timer(id: u64) -> Effect {
    Effect {
        id: EffectId(id),
        task: ChainId::root(),
        section: "Main".to_owned(),
        kind: EffectKind::Timer { millis: 5 },
    }
}

pub(crate) fn reply(text: &str) -> Answer {
    Answer::Model(Box::new(Outcome::Ok(ModelReply {
        text: text.to_owned(),
        usage: Some(Usage {
            prompt_tokens: Some(10),
            completion_tokens: Some(2),
            reasoning_tokens: None,
        }),
        ..ModelReply::default()
    })))
}

pub(crate) fn handed(effect: u64) -> Vec<Handed> {
    vec![Handed {
        effect: EffectId(effect),
        dropped: false,
    }]
}

/// A run that has started, been parsed and prepared.
pub(crate) fn begin(database: &Database, name: &str) -> RunWriter {
    let writer = database.record(HostFacts::default()).expect("a record");
    writer.started(&start(name), b"---\nname: p\n---\n# P\n").expect("kept");
    writer
        .parsed(
            Some("p"),
            &[event(0, EventKind::ParseStarted), event(1, EventKind::ParseSucceeded)],
        )
        .expect("kept");
    writer.prepared(&RunPrepared::default()).expect("kept");
    writer
}

/// A loop of so many rounds, each of which sends everything that was said before.
pub(crate) fn loop_of(database: &Database, rounds: u64) -> RunId {
    let writer = begin(database, "loop");
    let mut messages = vec![Message::text(Role::System, "You are terse. ".repeat(20))];
    for number in 1..=rounds {
        messages.push(Message::text(
            Role::User,
            format!("Question {number}: {}", "why? ".repeat(40)),
        ));
        let answer = format!("Answer {number}: {}", "because. ".repeat(40));
        let step = StepRecord {
            handed: if number == 1 { Vec::new() } else { handed(number - 1) },
            effects: vec![round(number, messages.clone())],
            events: vec![log(number, format!("round {number}"))],
            ..StepRecord::default()
        };
        writer.stepped(&step).expect("kept");
        writer.answered(EffectId(number), &reply(&answer)).expect("kept");
        messages.push(Message::text(Role::Assistant, answer));
    }
    let outcome = RunOutcome::Completed {
        text: "done".to_owned(),
    };
    let last = StepRecord {
        handed: handed(rounds),
        outcome: Some(outcome.clone()),
        ..StepRecord::default()
    };
    writer.stepped(&last).expect("kept");
    writer.ended(&outcome, &[]).expect("kept");
    writer.id()
}
