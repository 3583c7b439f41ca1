//! Driving a run: its effects, its events and its end.

mod common;

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use common::{
    Heard, Say, Script, builder, failure, host, kinds, launch, models, pack, prompt, result, run, script, section,
};
use runvil_engine::{RunErrorKind, RunOutcome};
use runvil_harness::{LaunchStore, ModelAccess, OutputError};
use runvil_pack::{ToolError, ToolOutput};
use runvil_vfs::{Backend, BackendFailure, Glob, MemoryBackend, Store, StoreFailure};

#[tokio::test]
async fn events_go_from_the_parse_to_the_end_and_into_the_report() {
    let mut heard = Heard::new();
    let report = host()
        .run(launch(script("", "log('hi')\nreturn 'ok'")), &mut heard)
        .await;
    assert_eq!(result(&report), "ok");
    let kinds = kinds(&report.events);
    assert_eq!(kinds.first().map(String::as_str), Some("parse_started"));
    assert_eq!(kinds.last().map(String::as_str), Some("run_succeeded"));
    assert_eq!(heard.lines.len(), kinds.len());
    assert!(report.events.iter().all(|event| event.execution == "session-1"));
    let sequence: Vec<u64> = report.events.iter().map(|event| event.provenance.sequence).collect();
    assert_eq!(sequence, (0..kinds.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_effect_is_told_before_it_is_performed_and_its_answer_before_the_run_sees_it() {
    let mut heard = Heard::new();
    host()
        .run(
            launch(script("", "store.write('a', 'x')\nlog('wrote')\nlog(store.read('a'))")),
            &mut heard,
        )
        .await;
    let lines: Vec<&str> = heard
        .lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.contains("started"))
        .collect();
    let from = lines
        .iter()
        .position(|line| *line == "start 1 store a")
        .expect("the write");
    assert_eq!(
        lines[from..from + 8],
        [
            "start 1 store a",
            "answer 1 done",
            "event vfs_write_succeeded",
            "log wrote",
            "start 2 store a",
            "answer 2 done",
            "event vfs_read_succeeded",
            "log x",
        ]
    );
}

#[tokio::test]
async fn only_a_loop_rounds_text_is_live_and_it_comes_before_the_answer() {
    let backend = Script::new([Say::Text(vec!["quiet"]), Say::Text(vec!["he", "llo"])]);
    let host = builder().models(models(backend)).build().expect("a Host");
    let lua = "models.use('w')\nlocal a = models.infer('q')\nmessages:user('q')\nmodels.loop()\nreturn a .. messages[#messages].content";
    let mut heard = Heard::new();
    let report = host.run(launch(script("models: { w: {} }", lua)), &mut heard).await;
    assert_eq!(result(&report), "quiethello");
    assert_eq!(heard.of("live"), ["he", "llo"]);
    let place = |wanted: &str| heard.lines.iter().position(|line| line == wanted).expect("heard");
    assert!(place("start 2 model") < place("live he") && place("live llo") < place("answer 2 done"));
}

#[tokio::test]
async fn with_model_access_off_every_round_is_unavailable() {
    let access = ModelAccess {
        backend: None,
        ..models(Script::new([]))
    };
    let host = builder().models(access).build().expect("a Host");
    let report = run(
        &host,
        launch(script("models: { w: {} }", "models.use('w')\nreturn models.infer('q')")),
    )
    .await;
    assert_eq!(
        failure(&report),
        (RunErrorKind::Completion, "model access is turned off or not configured")
    );
}

#[tokio::test]
async fn a_launch_may_bring_models_of_its_own() {
    let mut launch = launch(script("models: { w: {} }", "models.use('w')\nreturn models.infer('q')"));
    launch.models = Some(models(Script::new([Say::Text(vec!["mine"])])));
    assert_eq!(result(&run(&host(), launch).await), "mine");
}

#[tokio::test]
async fn tool_calls_are_performed_side_by_side() {
    let open = Arc::new(tokio::sync::Barrier::new(3));
    let meet = pack("runvil/kit").tool("kit/meet", move |_, _| {
        let open = Arc::clone(&open);
        async move {
            open.wait().await;
            Ok(ToolOutput::trusted("met"))
        }
    });
    let host = builder().plugin(&meet).build().expect("a Host");
    let lua = "local r = tasks.fanout('### Arm', { 1, 2, 3 })\nreturn r[1].text .. r[2].text .. r[3].text";
    let source = format!(
        "{}{}",
        script("", lua),
        "### Arm\n```lua\nreturn tools.call('kit/meet')\n```\n"
    );
    assert_eq!(result(&run(&host, launch(source)).await), "metmetmet");
}

#[tokio::test]
async fn a_tools_failure_is_its_message_without_the_cause() {
    let failing = pack("runvil/kit").tool("kit/fail", |_, _| async {
        Err(ToolError::other("the door is shut").with_cause("socket reset"))
    });
    let host = builder().plugin(&failing).build().expect("a Host");
    let report = run(&host, launch(script("", "return tools.call('kit/fail')"))).await;
    assert_eq!(
        failure(&report),
        (RunErrorKind::Tool, "tool call failure: the door is shut")
    );
}

#[tokio::test]
async fn a_tool_that_panics_or_returns_too_much_fails_its_call() {
    let host = builder()
        .plugin(
            &pack("runvil/kit")
                .tool("kit/panic", |_, _| async { panic!("no") })
                .tool("kit/flood", |_, _| async {
                    Ok(ToolOutput::trusted("x".repeat(16 * 1024 * 1024 + 1)))
                })
                .tool("kit/brim", |_, _| async {
                    Ok(ToolOutput::trusted("x".repeat(16 * 1024 * 1024)))
                }),
        )
        .build()
        .expect("a Host");
    let caught = |tool: &str| {
        launch(script(
            "",
            &format!(
                "local ok, e = pcall(tools.call, '{tool}')\nreturn ok and #e .. '' or e.kind .. '|' .. tostring(e)"
            ),
        ))
    };
    assert_eq!(
        result(&run(&host, caught("kit/panic")).await),
        "tool|tool call failure: the tool stopped unexpectedly"
    );
    assert_eq!(
        result(&run(&host, caught("kit/flood")).await),
        "tool|tool call failure: the tool's output is larger than the cap of 16777216 bytes"
    );
    assert_eq!(result(&run(&host, caught("kit/brim")).await), "16777216");
}

#[tokio::test]
async fn a_tool_reads_and_writes_the_runs_own_files() {
    let copy = pack("runvil/kit").tool("kit/copy", |_, context| async move {
        let files = context.files();
        let text = files.read("in.md").await?;
        files.append("out.md", &text).await?;
        files.append("out.md", "!").await?;
        let there = files.exists("out.md").await? && !files.exists("gone.md").await?;
        files.delete("in.md").await?;
        Ok(ToolOutput::trusted(format!("{there} {:?}", files.glob("*").await?)))
    });
    let host = builder().plugin(&copy).build().expect("a Host");
    let lua = "store.write('in.md', 'text')\nlocal said = tools.call('kit/copy')\nreturn said .. store.read('out.md')";
    assert_eq!(
        result(&run(&host, launch(script("", lua))).await),
        "true [\"out.md\"]text!"
    );
}

#[tokio::test]
async fn a_tools_file_access_ends_with_its_call() {
    let (send, receive) = mpsc::channel();
    let keep = pack("runvil/kit").tool("kit/keep", move |_, context| {
        let send = send.clone();
        async move {
            send.send(context).expect("the test listens");
            Ok(ToolOutput::trusted(""))
        }
    });
    let host = builder().plugin(&keep).build().expect("a Host");
    run(
        &host,
        launch(script("", "store.write('a', 'x')\ntools.call('kit/keep')")),
    )
    .await;
    let context = receive.try_recv().expect("a context");
    let refused = context.files().read("a").await.expect_err("ended");
    assert_eq!(refused.to_string(), "store access has ended: a");
}

#[tokio::test]
async fn a_conflict_of_a_tools_file_access_fails_the_call() {
    let landed = Arc::new(tokio::sync::Notify::new());
    let wait = Arc::clone(&landed);
    let write = pack("runvil/kit").tool("kit/write", move |_, context| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            context.files().write("a", "tool").await?;
            Ok(ToolOutput::trusted("wrote"))
        }
    });
    let host = builder().plugin(&write).build().expect("a Host");
    let lua = "local t = tasks.spawn('### Arm')\n\
               store.write('a', 'owner')\n\
               local r = tasks.join({ t })\n\
               return r[1].result";
    let arm =
        "### Arm\n```lua\nlocal ok, e = pcall(tools.call, 'kit/write')\nreturn e.kind .. '|' .. tostring(e)\n```\n";
    let mut heard = Heard::reacting(|line| {
        if line == "event vfs_write_succeeded" {
            landed.notify_one();
        }
    });
    let source = format!("{}{arm}", script("", lua));
    let report = host.run(launch(source), &mut heard).await;
    let text = result(&report);
    let conflict = "tool|tool call failure: store determinism violation: write on a by ExecId(";
    assert!(text.starts_with(conflict), "{text}");
    assert!(text.ends_with(" conflicts with a write claim by ExecId(0)"), "{text}");
}

#[tokio::test]
async fn store_operations_land_in_issue_order() {
    let lua = "local r = tasks.fanout('### Arm', { 1, 2, 3, 4, 5, 6, 7, 8 })\nreturn #r";
    let source = format!(
        "{}{}",
        script("", lua),
        "### Arm\n```lua\nstore.write(item .. '.md', 'x')\n```\n"
    );
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut launch = launch(source);
    let slow = Wrapped {
        before_write: {
            let order = Arc::clone(&order);
            Box::new(move |path| order.lock().expect("no panic").push(path.to_owned()))
        },
        ..Wrapped::default()
    };
    launch.store = LaunchStore::Supplied(Store::over(slow));
    assert_eq!(result(&run(&host(), launch).await), "8");
    let order = order.lock().expect("no panic");
    assert_eq!(*order, ["1.md", "2.md", "3.md", "4.md", "5.md", "6.md", "7.md", "8.md"]);
}

/// A memory backend with hooks.
struct Wrapped {
    files: MemoryBackend,
    on_open: Box<dyn Fn() -> Result<(), BackendFailure> + Send + Sync>,
    before_write: Box<dyn Fn(&str) + Send + Sync>,
}

impl Default for Wrapped {
    fn default() -> Self {
        Self {
            files: MemoryBackend::new(),
            on_open: Box::new(|| Ok(())),
            before_write: Box::new(|_| {}),
        }
    }
}

impl Backend for Wrapped {
    fn open(&self, _: &str) -> Result<(), BackendFailure> {
        (self.on_open)()
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFailure> {
        self.files.read(path)
    }

    fn write(&self, path: &str, contents: Vec<u8>) -> Result<(), BackendFailure> {
        (self.before_write)(path);
        self.files.write(path, contents)
    }

    fn append(&self, path: &str, contents: &[u8]) -> Result<(), BackendFailure> {
        self.files.append(path, contents)
    }

    fn delete(&self, path: &str) -> Result<(), BackendFailure> {
        self.files.delete(path)
    }

    fn exists(&self, path: &str) -> Result<bool, BackendFailure> {
        self.files.exists(path)
    }

    fn list(&self, base: &str, glob: &Glob) -> Result<Vec<String>, BackendFailure> {
        self.files.list(base, glob)
    }
}

#[tokio::test]
async fn a_store_that_refuses_its_session_fails_the_first_step() {
    let refuse = || {
        Err(BackendFailure::Failed {
            message: "the store backend refuses every session".to_owned(),
        })
    };
    let mut launch = launch(script("", "return 'never runs'"));
    launch.store = LaunchStore::Supplied(Store::over(Wrapped {
        on_open: Box::new(refuse),
        ..Wrapped::default()
    }));
    let report = run(&host(), launch).await;
    assert_eq!(
        failure(&report),
        (
            RunErrorKind::Vfs,
            "store operation failed: store backend failure: the store backend refuses every session"
        )
    );
    assert!(!kinds(&report.events).contains(&"section_started".to_owned()));
}

#[tokio::test]
async fn the_output_file_of_a_completed_run_is_in_its_report() {
    let output = "output: { path: out.md, description: d }";
    let written = run(&host(), launch(script(output, "store.write('out.md', 'the report')"))).await;
    assert_eq!(written.output, Some(Ok("the report".to_owned())));

    let absent = run(&host(), launch(script(output, "return 1")))
        .await
        .output
        .expect("declared");
    let absent = absent.expect_err("nothing was written");
    assert_eq!(
        absent,
        OutputError::NotWritten {
            path: "out.md".to_owned()
        }
    );
    assert_eq!(
        absent.to_string(),
        "the run completed without writing its declared output file `out.md`"
    );

    let failed = run(
        &host(),
        launch(script(output, "store.write('out.md', 'x')\nerror('no')")),
    )
    .await;
    assert_eq!(failed.output, None);
    assert_eq!(
        failed.store.expect("the store").text("out.md"),
        Ok(Some("x".to_owned()))
    );

    let refused = run(
        &host(),
        launch(script("output: { path: ../out.md, description: d }", "return 1")),
    )
    .await;
    assert!(matches!(
        refused.output,
        Some(Err(OutputError::Unreadable {
            source: StoreFailure::InvalidPath { .. },
            ..
        }))
    ));
}

#[tokio::test]
async fn a_timer_fires_while_the_task_goes_on() {
    let host = builder()
        .plugin(&pack("runvil/kit").tool("kit/hang", |_, _| pending()))
        .build()
        .expect("a Host");
    let lua = "local t = tasks.spawn('### Arm')\n\
               local first = tasks.join_any({ t }, { timeout = 0.005 })\n\
               tasks.cancel(t)\n\
               return tostring(first)";
    let source = format!(
        "{}{}",
        script("", lua),
        "### Arm\n```lua\nreturn tools.call('kit/hang')\n```\n"
    );
    let mut heard = Heard::new();
    let report = host.run(launch(source), &mut heard).await;
    assert_eq!(result(&report), "nil");
    assert!(heard.lines.iter().any(|line| line.ends_with("timer 5")));
}

/// A tool that never ends and tells when its work is given up.
fn hanging(given_up: &Arc<AtomicUsize>, survives: bool) -> common::Scripted {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let given_up = Arc::clone(given_up);
    pack("runvil/kit").shaped_tool(
        "kit/hang",
        move |definition| {
            if survives {
                definition.survives_stop()
            } else {
                definition
            }
        },
        move |_, _| {
            let guard = Guard(Arc::clone(&given_up));
            async move {
                let _guard = guard;
                pending().await
            }
        },
    )
}

#[tokio::test]
async fn a_stop_interrupts_the_calls_that_wait_and_the_run_goes_on() {
    let given_up = Arc::new(AtomicUsize::new(0));
    let backend = Script::new([Say::Hang(vec![]), Say::Text(vec!["second"])]);
    let host = builder()
        .plugin(&hanging(&given_up, false))
        .models(models(backend))
        .build()
        .expect("a Host");
    let lua = "models.use('w')\n\
               local _, e = pcall(models.infer, 'one')\n\
               local _, f = pcall(tools.call, 'kit/hang')\n\
               return e.kind .. f.kind .. models.infer('two')";
    let launch = launch(script("models: { w: {} }", lua));
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("start 1 ") || line.starts_with("start 2 ") {
            let control = control.clone();
            tokio::spawn(async move {
                // By then the work has begun.
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
                control.stop();
            });
        }
    });
    let report = host.run(launch, &mut heard).await;
    assert_eq!(result(&report), "cancelledcancelledsecond");
    assert_eq!(heard.of("answer"), ["1 dropped", "2 dropped", "3 done"]);
    assert_eq!(given_up.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_stop_spares_a_tool_that_survives_it_and_finds_nothing_before_a_call_waits() {
    let (answer, wait) = tokio::sync::watch::channel(false);
    let keep = pack("runvil/kit").shaped_tool("kit/keep", runvil_pack::ToolDefinition::survives_stop, move |_, _| {
        let mut wait = wait.clone();
        async move {
            wait.wait_for(|go| *go).await.expect("the test holds the sender");
            Ok(ToolOutput::trusted("kept"))
        }
    });
    let host = builder().plugin(&keep).build().expect("a Host");
    let launch = launch(script("", "return tools.call('kit/keep')"));
    let control = launch.control.clone();
    control.stop();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("start 1 ") {
            control.stop();
            let answer = answer.clone();
            tokio::spawn(async move {
                // By then the driver has seen the stop.
                tokio::task::yield_now().await;
                answer.send_replace(true);
            });
        }
    });
    let report = host.run(launch, &mut heard).await;
    assert_eq!(result(&report), "kept");
}

#[tokio::test]
async fn an_uncaught_stop_ends_the_run_as_cancelled() {
    let given_up = Arc::new(AtomicUsize::new(0));
    let host = builder().plugin(&hanging(&given_up, false)).build().expect("a Host");
    let launch = launch(script("", "tools.call('kit/hang')"));
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("start ") {
            control.stop();
        }
    });
    assert_eq!(host.run(launch, &mut heard).await.outcome, RunOutcome::Cancelled);
}

#[tokio::test]
async fn a_cancel_gives_up_every_call_and_never_resumes_one() {
    let given_up = Arc::new(AtomicUsize::new(0));
    let host = builder().plugin(&hanging(&given_up, true)).build().expect("a Host");
    let lua = "pcall(tasks.fanout, '### Arm', { 1, 2 })\nlog('after')";
    let source = format!(
        "{}{}",
        script("", lua),
        "### Arm\n```lua\npcall(tools.call, 'kit/hang')\nlog('after')\n```\n"
    );
    let launch = launch(source);
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("start 2 ") {
            let control = control.clone();
            tokio::spawn(async move {
                // By then the work has begun.
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
                control.cancel();
            });
        }
    });
    let report = host.run(launch, &mut heard).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    assert_eq!(heard.of("log"), [""; 0]);
    assert_eq!(heard.of("answer"), ["1 dropped", "2 dropped"]);
    let last = heard.lines.iter().rfind(|line| line.starts_with("event "));
    assert_eq!(last.map(String::as_str), Some("event run_failed"));
    assert_eq!(given_up.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_cancel_reaches_lua_that_spins() {
    let launch = launch(script(
        "",
        "log('go')\nstore.exists('a')\nwhile true do pcall(function() while true do end end) end",
    ));
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("answer ") {
            control.cancel();
        }
    });
    assert_eq!(host().run(launch, &mut heard).await.outcome, RunOutcome::Cancelled);
}

#[tokio::test]
async fn the_text_of_a_round_that_was_stopped_stays_live_text() {
    let backend = Script::new([Say::Hang(vec!["half a "]), Say::Text(vec!["whole"])]);
    let host = builder().models(models(backend)).build().expect("a Host");
    let lua = "models.use('w')\nmessages:user('q')\nlocal ok = pcall(models.loop)\nmodels.loop()\nreturn tostring(ok) .. messages[#messages].content";
    let launch = launch(script("models: { w: {} }", lua));
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line == "live half a " {
            control.stop();
        }
    });
    let report = host.run(launch, &mut heard).await;
    assert_eq!(result(&report), "falsewhole");
    assert_eq!(heard.of("live"), ["half a ", "whole"]);
}

#[tokio::test]
async fn what_a_step_asks_for_and_drops_itself_is_never_performed_but_for_a_write() {
    let given_up = Arc::new(AtomicUsize::new(0));
    let host = builder().plugin(&hanging(&given_up, false)).build().expect("a Host");
    let lua = "local ok, e = pcall(tasks.fanout, '### Arm', { 'hangs', 'writes', 'fails' })\n\
               return tostring(ok) .. e.message:match('that much')";
    let arm = "### Arm\n```lua\n\
               if item == 'hangs' then tools.call('kit/hang') end\n\
               if item == 'writes' then store.write('a.md', 'landed') end\n\
               error('that much')\n```\n";
    let mut launch = launch(format!("{}{arm}", script("", lua)));
    let store = Store::over(MemoryBackend::new());
    launch.store = LaunchStore::Supplied(store.clone());
    let mut heard = Heard::new();
    let report = host.run(launch, &mut heard).await;
    assert_eq!(result(&report), "falsethat much");
    assert_eq!(heard.of("answer"), ["1 dropped", "2 done"]);
    assert_eq!(store.text("a.md"), Ok(Some("landed".to_owned())));
    assert_eq!(given_up.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_write_that_the_run_dropped_lands_before_the_run_ends() {
    let (entered, enter) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let hold = move |path: &str| {
        if path == "slow.md" {
            entered.send(()).expect("the test listens");
            let _ = held.lock().expect("no panic").recv();
        }
    };
    let mut launch = launch(script("", "store.write('slow.md', 'landed')\nlog('after')"));
    let store = Store::over(Wrapped {
        before_write: Box::new(hold),
        ..Wrapped::default()
    });
    launch.store = LaunchStore::Supplied(store.clone());
    let control = launch.control.clone();
    let cancel = thread::spawn(move || {
        enter.recv().expect("the write begins");
        control.cancel();
        drop(release);
    });
    let mut heard = Heard::new();
    assert_eq!(host().run(launch, &mut heard).await.outcome, RunOutcome::Cancelled);
    cancel.join().expect("no panic");
    assert_eq!(store.text("slow.md"), Ok(Some("landed".to_owned())));
    assert_eq!(heard.of("log"), [""; 0]);
}

#[tokio::test]
async fn a_cancelled_run_leaves_a_store_operation_behind_that_never_lands() {
    let (entered, enter) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let hold = move |_: &str| {
        entered.send(()).expect("the test listens");
        let _ = held.lock().expect("no panic").recv();
    };
    let mut launch = launch(script("", "store.write('slow.md', 'x')"));
    launch.store = LaunchStore::Supplied(Store::over(Wrapped {
        before_write: Box::new(hold),
        ..Wrapped::default()
    }));
    let control = launch.control.clone();
    let cancel = thread::spawn(move || {
        enter.recv().expect("the write begins");
        control.cancel();
    });
    let report = run(&host(), launch).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    assert_eq!(kinds(&report.events).last().map(String::as_str), Some("run_failed"));
    drop(release);
    cancel.join().expect("no panic");
}

#[tokio::test]
async fn a_cancelled_run_that_does_not_come_back_from_its_step_is_left_behind() {
    let (entered, enter) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let stuck = move || {
        entered.send(()).expect("the test listens");
        let _ = held.lock().expect("no panic").recv();
        Ok(())
    };
    let mut launch = launch(script("", "return 1"));
    launch.store = LaunchStore::Supplied(Store::over(Wrapped {
        on_open: Box::new(stuck),
        ..Wrapped::default()
    }));
    let control = launch.control.clone();
    let cancel = thread::spawn(move || {
        enter.recv().expect("the step begins");
        control.cancel();
    });
    let report = run(&host(), launch).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    let last = report.events.last().expect("events");
    assert_eq!(
        (kinds(&report.events).last().map(String::as_str), last.section.as_str()),
        (Some("run_failed"), "T")
    );
    assert_eq!(last.provenance.sequence, report.events.len() as u64 - 1);
    drop(release);
    cancel.join().expect("no panic");
}

#[tokio::test]
async fn a_model_backend_that_panics_ends_the_run_as_an_internal_fault() {
    let host = builder().models(models(Script::new([]))).build().expect("a Host");
    let report = run(
        &host,
        launch(script("models: { w: {} }", "models.use('w')\nreturn models.infer('q')")),
    )
    .await;
    assert_eq!(failure(&report).0, RunErrorKind::Internal);
    assert_eq!(kinds(&report.events).last().map(String::as_str), Some("run_failed"));
}

#[tokio::test]
async fn a_run_that_nobody_drives_any_more_gives_its_work_up() {
    let given_up = Arc::new(AtomicUsize::new(0));
    let host = builder().plugin(&hanging(&given_up, false)).build().expect("a Host");
    let (started, mut start) = tokio::sync::mpsc::unbounded_channel();
    let driven = tokio::spawn(async move {
        let mut heard = Heard::reacting(|line| {
            if line.starts_with("start ") {
                started.send(()).expect("the test listens");
            }
        });
        host.run(launch(script("", "tools.call('kit/hang')")), &mut heard).await;
    });
    start.recv().await.expect("the call starts");
    driven.abort();
    assert!(driven.await.expect_err("aborted").is_cancelled());
    while given_up.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_go_side_by_side_and_stay_apart() {
    let host = host();
    let one = |name: &'static str| {
        let host = host.clone();
        let source = prompt(
            "",
            &section(
                "A",
                "store.write('f', sys.execution)\nlog(sys.execution)\nreturn store.read('f')",
            ),
        );
        tokio::spawn(async move { run(&host, runvil_harness::Launch::new(source, name)).await })
    };
    let (a, b) = tokio::join!(one("a"), one("b"));
    let (a, b) = (a.expect("no panic"), b.expect("no panic"));
    assert_eq!((result(&a), result(&b)), ("a", "b"));
    assert!(b.events.iter().all(|event| event.execution == "b"));
}
