//! A run whose process is killed at any moment goes on to the same result, and no answered effect is performed twice.

#![cfg(unix)]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use common::{Place, Server};
use runvil_engine::{Answer, EffectKind};
use runvil_record::{Database, RecordError, RunFilter};

/// How often a run is killed; more often where this variable says so.
const KILLS: &str = "RUNVIL_TEST_KILLS";
const FEW: u64 = 12;

/// Rounds, tool calls, and changes of real files that must not be made twice.
const PROMPT: &str = "\
---
name: killed
description: d
runvil: 0
uses: [web]
models:
  m: {}
---

# Killed

## Main

```lua
models.use('m')
store.write('log.md', 'begin\\n')
store.write('count.md', 'n=0;')
for i = 1, 8 do
  store.append('log.md', i .. ' ')
  store.append('log.md', models.infer('round ' .. i) .. '\\n')
  store.str_replace('count.md', 'n=' .. (i - 1) .. ';', 'n=' .. i .. ';')
  local found = tools.call('web/search', { query = 'q' .. i })
  store.write('found-' .. i .. '.md', tostring(#found > 0))
  if i > 1 then store.delete('found-' .. (i - 1) .. '.md') end
end
local r = tasks.fanout('## Arm', { 'a', 'b', 'c' })
return store.read('log.md') .. store.read('count.md') .. #store.glob('found-*') .. r[1].text .. r[2].text .. r[3].text
```

## Arm

```lua
models.use('m')
store.append(item .. '.md', item)
store.append(item .. '.md', models.infer('arm ' .. item))
return store.read(item .. '.md')
```
";

const RESULT: &str = "begin\n1 round 1\n2 round 2\n3 round 3\n4 round 4\n5 round 5\n6 round 6\n7 round 7\n8 round 8\nn=8;1\
                      aarm abarm bcarm c";

struct Trial {
    place: Place,
    server: String,
}

impl Trial {
    fn new(number: u64) -> Self {
        let place = Place::new();
        place.file("runvil.toml", "[record]\npath = 'runs.db'\n");
        place.file("prompt.md", PROMPT);
        Self {
            place,
            server: format!("echo+killed-{number}"),
        }
    }

    fn database(&self) -> PathBuf {
        self.place.path("runs.db")
    }

    fn run(&self) -> common::Runvil {
        let directory = self.place.path("files");
        let arguments = ["run", "prompt.md", "--no-operator", "--store"].map(Path::new);
        self.place
            .runvil(arguments.into_iter().chain([directory.as_path()]))
            .server(&self.server)
    }

    fn resume(&self) -> common::Runvil {
        self.place.runvil(["resume", "last"]).server(&self.server)
    }

    /// What was asked of the server, and how often.
    fn asked(&self) -> BTreeMap<String, usize> {
        let mut asked = BTreeMap::new();
        for request in Server::shared().requests(&self.server, "chat/completions") {
            let messages = request["body"]["messages"].as_array().cloned().unwrap_or_default();
            let last = messages.last().map(|message| message["content"].to_string());
            *asked.entry(last.unwrap_or_default()).or_default() += 1;
        }
        for request in Server::shared().requests(&self.server, "search") {
            *asked.entry(request["body"]["query"].to_string()).or_default() += 1;
        }
        asked
    }

    /// Keeps the database to itself until it is dropped, so that what is recorded meanwhile stands in a journal alone.
    fn hold(&self) -> rusqlite::Connection {
        drop(Database::open(self.database()).expect("a database"));
        let connection = rusqlite::Connection::open(self.database()).expect("a connection");
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        connection
    }

    /// What the database alone has answers to, before anybody brings in what the journals hold.
    fn answered_without_journals(&self) -> Vec<String> {
        let copy = tempfile::tempdir().expect("a folder");
        for name in ["runs.db", "runs.db-wal"] {
            // There is nothing yet where a process died early.
            let _ = fs::copy(self.place.path(name), copy.path().join(name));
        }
        answered(&copy.path().join("runs.db"))
    }
}

/// What the record has answers to.
fn answered(path: &Path) -> Vec<String> {
    let database = match Database::open_existing(path) {
        Err(RecordError::Missing(_)) => return Vec::new(),
        database => database.expect("a whole database"),
    };
    let page = database.runs(&RunFilter::default(), None, 10).expect("a page");
    let mut answered = Vec::new();
    for run in &page.runs {
        for recorded in database.effects(run.id).expect("effects") {
            let recorded = recorded.expect("a whole record");
            if recorded.answer.is_none() {
                continue;
            }
            match recorded.effect.kind {
                EffectKind::ModelRound(round) => {
                    let last = round.request.messages.last().expect("a message");
                    answered.push(serde_json::json!(last.content).to_string());
                }
                EffectKind::ToolCall(call) => answered.push(call.arguments["query"].to_string()),
                EffectKind::Store(_) | EffectKind::Timer { .. } => {}
            }
        }
    }
    answered
}

/// SplitMix64: the moments are random, and the same in each run of the test.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn a_killed_run_goes_on_to_the_same_result_and_repeats_nothing_that_was_answered() {
    let kills = std::env::var(KILLS)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(FEW);
    let whole = Trial::new(0);
    let begun = Instant::now();
    whole.run().run().completed(RESULT);
    let usual = begun.elapsed();
    let mut state = 20_260_101;
    let (mut killed, mut resumed, mut behind) = (0, 0, 0);
    for number in 1..=kills {
        let trial = Trial::new(number);
        // Every other run is killed between what it kept and what came of that into the database.
        let mut held = (number % 2 == 0).then(|| trial.hold());
        let mut child = trial.run().spawn();
        // Now and then a run is killed again while it goes on.
        let mut again = random(&mut state) % 3;
        loop {
            let part = u32::try_from(random(&mut state) % 1000).expect("small");
            thread::sleep(usual * part / 1000);
            let alive = child.try_wait().expect("a child").is_none();
            child.kill().expect("killed");
            let output = child.wait_with_output().expect("ended");
            killed += u64::from(alive);
            // The server's own account comes a little later.
            thread::sleep(Duration::from_millis(100));
            let landed = trial.answered_without_journals();
            assert!(held.take().is_none() || landed.is_empty(), "kill {number}");
            let (answered, before) = (answered(&trial.database()), trial.asked());
            behind += u64::from(landed.len() < answered.len());
            let started = Database::open_existing(trial.database())
                .and_then(|database| database.find("last").map(|run| (database.summary(run), run)));
            let go_on = match started {
                Err(_) => trial.run(),
                Ok((summary, _)) if summary.as_ref().expect("a summary").outcome.is_some() => {
                    let said = String::from_utf8_lossy(&output.stdout).into_owned();
                    assert!(said.is_empty() || said == RESULT, "{number}: {said}");
                    break;
                }
                Ok(_) => {
                    resumed += 1;
                    trial.resume()
                }
            };
            if again > 0 {
                again -= 1;
                child = go_on.spawn();
                continue;
            }
            let outcome = go_on.run();
            assert_eq!(
                (outcome.status, outcome.stdout.as_str()),
                (Some(0), RESULT),
                "kill {number}: {outcome:#?}"
            );
            let after = trial.asked();
            for text in answered {
                assert_eq!(
                    before.get(&text),
                    after.get(&text),
                    "kill {number}: {text} was asked again"
                );
            }
            break;
        }
        let database = Database::open_existing(trial.database()).expect("a database");
        let run = database.find("last").expect("a run");
        let open = database.effects(run).expect("effects").filter(|effect| {
            let effect = effect.as_ref().expect("a whole record");
            effect.answer.is_none() || effect.answer == Some(Answer::Dropped)
        });
        assert_eq!(open.count(), 0, "kill {number}");
        let replay = trial.place.runvil(["replay", "last"]).run();
        assert_eq!(replay.status, Some(0), "kill {number}: {replay:#?}");
        let _ = fs::remove_dir_all(trial.place.path("files"));
    }
    println!("{killed} runs were killed alive, {behind} before all that was kept had landed, {resumed} resumed");
    assert!(killed * 2 > kills, "{killed} of {kills}");
    assert!(behind * 8 > kills, "{behind} of {kills}");
}
