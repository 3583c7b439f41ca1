//! What a long message list costs: appending, reading, and one more round over it. Each grows with the list, not faster.

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use runvil_engine::{
    Answer, Limits, ModelId, ModelInfo, ModelReply, Outcome, PackSnapshot, Run, RunFacts, RunSetup, Step, StoreAccess,
    ThinkingMode, prompt::Prompt,
};
use runvil_vfs::{Identity, StoreFailure};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// A store that is never used.
struct NoFiles;

impl StoreAccess for NoFiles {
    fn open(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn fork(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }
}

/// A run of one section that holds this Lua, up to its first answer.
fn start(lua: &str) -> (Run, Step) {
    let source = format!(
        "---\nname: bench\ndescription: d\nrunvil: 0\nmodels:\n  w: {{}}\n---\n# T\n\n## A\n\n```lua\n{lua}\n```\n"
    );
    let prompt = Prompt::parse(source.as_bytes(), "bench").result;
    let model = ModelInfo {
        id: ModelId::new("gateway", "m").expect("a valid id"),
        context: u32::MAX,
        thinking: ThinkingMode::Switchable,
        description: String::new(),
        provider: None,
    };
    let mut run = Run::new(RunSetup {
        prompt: Arc::new(prompt.expect("the bench's prompt parses")),
        facts: RunFacts {
            name: "bench".to_owned(),
            seed: [0; 32],
            started_at: 0,
            args: String::new(),
            limits: Limits::default(),
            ui: None,
            debug: false,
        },
        packs: PackSnapshot::default(),
        roles: BTreeMap::from([("w".to_owned(), model)]),
        store: Some(Box::new(NoFiles)),
    })
    .expect("the bench's prompt has a version");
    let step = run.step();
    (run, step)
}

/// Lua that fills the list with alternating records of some length.
fn fill(size: usize) -> String {
    format!(
        "models.default('w')\n\
         for i = 1, {size} / 2 do\n\
           messages:user('question ' .. i .. string.rep(' word', 20)):assistant('answer ' .. i)\n\
         end\n"
    )
}

#[divan::bench(args = SIZES)]
fn append(bencher: divan::Bencher<'_, '_>, size: usize) {
    let lua = fill(size);
    bencher.bench_local(|| black_box(start(&lua)));
}

#[divan::bench(args = SIZES)]
fn append_and_read(bencher: divan::Bencher<'_, '_>, size: usize) {
    let lua = fill(size) + "local n = 0 for _, record in ipairs(messages) do n = n + #record.content end return n";
    bencher.bench_local(|| black_box(start(&lua)));
}

#[divan::bench(args = SIZES)]
fn one_more_round(bencher: divan::Bencher<'_, '_>, size: usize) {
    let lua = fill(size) + "messages:user('last')\nmodels.loop()\nmessages:user('more')\nmodels.loop()";
    bencher
        .with_inputs(|| {
            let (mut run, step) = start(&lua);
            let effect = step.effects.first().expect("a round is out").id;
            let reply = ModelReply {
                text: "ok".to_owned(),
                ..ModelReply::default()
            };
            run.answer(effect, Answer::Model(Box::new(Outcome::Ok(reply))));
            run
        })
        .bench_local_values(|mut run| {
            let step = run.step();
            black_box((run, step))
        });
}
