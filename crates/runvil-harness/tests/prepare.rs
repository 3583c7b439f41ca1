//! The order prepare works in, and what it refuses.

mod common;

use std::{
    future::pending,
    io,
    sync::{Arc, Mutex},
};

use common::{
    Heard, builder, ended_early, failure, host, kinds, launch, model, pack, prepared, prompt, result, run, script,
};
use runvil_engine::{Limits, RunErrorKind, RunOutcome, ThinkingMode};
use runvil_harness::{Host, HostError, LaunchStore, ModelAccess, Origin, RosterEntry, Seed};
use runvil_pack::{
    INPUT_BROKER, InputBroker, InputError, PackError, ServiceKey, ServiceName, Services, ToolOutput, async_trait,
    shipped::UserInputPlugin,
};
use tracing_subscriber::fmt::MakeWriter;

const RETURN: &str = "return 'ran'";

/// The notice's lines below its first.
fn gaps(report: &runvil_harness::RunReport) -> Vec<&str> {
    let (kind, message) = failure(report);
    assert_eq!(kind, RunErrorKind::RequirementsUnmet);
    let mut lines = message.lines();
    assert_eq!(lines.next(), Some("the environment cannot satisfy this prompt:"));
    lines.map(|line| line.strip_prefix("- ").expect("a gap")).collect()
}

async fn refusal_of(host: &Host, frontmatter: &str) -> Vec<String> {
    let report = ended_early(host, launch(script(frontmatter, RETURN))).await;
    gaps(&report).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_parse_failure_comes_before_an_input_failure() {
    let mut launch = launch(script("uses: [gone]", "local x ="));
    launch.input = Some("stray".to_owned());
    let report = ended_early(&host(), launch).await;
    assert_eq!(failure(&report).0, RunErrorKind::Parse);
    assert_eq!(kinds(&report.events).last().map(String::as_str), Some("parse_failed"));
}

#[tokio::test]
async fn an_input_failure_comes_before_unmet_requirements() {
    let mut launch = launch(script("uses: [gone]", RETURN));
    launch.input = Some("stray".to_owned());
    let report = ended_early(&host(), launch).await;
    assert_eq!(failure(&report).0, RunErrorKind::Input);
    assert_eq!(
        kinds(&report.events).last().map(String::as_str),
        Some("parse_succeeded")
    );
    assert!(report.roster.is_empty());
}

#[tokio::test]
async fn unmet_requirements_come_before_the_version() {
    let refused = script("uses: [gone]", RETURN).replace("runvil: 0", "runvil: 3");
    assert_eq!(
        gaps(&ended_early(&host(), launch(refused)).await),
        ["missing required Pack: gone"]
    );
    let newer = script("", RETURN).replace("runvil: 0", "runvil: 3");
    assert_eq!(
        failure(&ended_early(&host(), launch(newer)).await).0,
        RunErrorKind::Version
    );
    let none = script("", RETURN).replace("runvil: 0\n", "");
    assert_eq!(
        failure(&ended_early(&host(), launch(none)).await),
        (RunErrorKind::Parse, "not a runvil prompt: no runvil version")
    );
}

#[tokio::test]
async fn staged_input_is_there_for_the_h1_and_a_refused_run_keeps_it() {
    let reads = prompt(
        "input: { path: in.md, description: d }",
        "```lua\nreturn store.read('in.md')\n```",
    );
    let mut staged = launch(reads);
    staged.input = Some("  a\nb ".to_owned());
    assert_eq!(result(&run(&host(), staged).await), "  a\nb ");

    let mut refused = launch(script("input: { path: in.md, description: d }\nuses: [gone]", RETURN));
    refused.input = Some("kept".to_owned());
    let store = ended_early(&host(), refused).await.store.expect("the run's store");
    assert_eq!(store.text("in.md"), Ok(Some("kept".to_owned())));
}

#[tokio::test]
async fn a_bare_entry_means_the_runvil_pack() {
    let others = builder()
        .plugin(&pack("zeta/kit"))
        .plugin(&pack("acme/kit"))
        .build()
        .expect("a Host");
    assert_eq!(
        refusal_of(&others, "uses: [kit]").await,
        [
            "kit is unavailable: kit means runvil/kit, which is not installed; write acme/kit or zeta/kit to use that Pack"
        ]
    );
    assert_eq!(
        refusal_of(&others, "uses: [lathe]").await,
        ["missing required Pack: lathe"]
    );
    assert_eq!(
        refusal_of(&others, "uses: [runvil/kit]").await,
        ["kit is unavailable: runvil/kit is not installed"]
    );
    assert_eq!(
        refusal_of(&others, "uses: [other/kit]").await,
        ["kit is unavailable: other/kit is not installed"]
    );
    assert_eq!(
        refusal_of(&others, "uses: [other/saw]").await,
        ["saw is unavailable: other/saw is not installed"]
    );
}

#[tokio::test]
async fn the_notice_lists_every_gap_in_its_order() {
    let host = builder()
        .plugin(&pack("acme/worn").broken("the belt snapped"))
        .plugin(&pack("acme/hungry").needs("acme/clock").needs("acme/bell"))
        .plugin(&pack("acme/late").ready(|| async { Err(PackError::reason("it never woke")) }))
        .models(ModelAccess {
            backend: None,
            current: Some(model(32_000, ThinkingMode::Never)),
        })
        .build()
        .expect("a Host");
    let frontmatter = "uses: [acme/late, acme/worn, acme/hungry, lathe, acme/gone, anvil]\n\
                       models: { b: { keywords: [thinking] }, a: { min_context: 200000, keywords: [thinking, fast] } }";
    let report = ended_early(&host, launch(script(frontmatter, RETURN))).await;
    assert_eq!(
        gaps(&report),
        [
            "missing required Pack: lathe",
            "missing required Pack: anvil",
            "hungry needs acme/clock, and the environment provides none",
            "hungry needs acme/bell, and the environment provides none",
            "late is unavailable: it never woke",
            "worn is unavailable: the belt snapped",
            "gone is unavailable: acme/gone is not installed",
            "role 'a': requires a context of at least 200000 tokens; the current model provides 32000",
            "role 'a': requires 'thinking'; the current model's thinking capability is Never",
            "role 'b': requires 'thinking'; the current model's thinking capability is Never",
        ]
    );
    assert_eq!(
        kinds(&report.events).last().map(String::as_str),
        Some("parse_succeeded")
    );
    let counts = &report.requirements;
    assert_eq!(
        (
            counts.missing_packs.len(),
            counts.missing_services.len(),
            counts.unavailable_packs.len(),
            counts.unmet.len()
        ),
        (2, 2, 3, 3)
    );
}

#[tokio::test]
async fn without_a_current_model_no_role_is_checked() {
    let report = run(
        &host(),
        launch(script("models: { a: { min_context: 200000 } }", RETURN)),
    )
    .await;
    assert_eq!(result(&report), "ran");
}

#[tokio::test]
async fn the_roster_holds_declared_packs_first_and_then_every_runvil_pack() {
    let host = builder()
        .plugin(&pack("runvil/zebra"))
        .plugin(&pack("runvil/clock").needs("acme/gear").needs("acme/spring"))
        .plugin(&pack("runvil/kit"))
        .plugin(&pack("acme/kit"))
        .plugin(&pack("acme/idle"))
        .build()
        .expect("a Host");
    let report = run(&host, launch(script("uses: [zebra, acme/kit]", RETURN))).await;
    let entry = |name: &str, declared, unavailable: Option<&str>| RosterEntry {
        name: name.parse().expect("a Pack name"),
        declared,
        unavailable: unavailable.map(str::to_owned),
    };
    assert_eq!(
        report.roster,
        [
            entry("runvil/zebra", true, None),
            entry("acme/kit", true, None),
            entry(
                "runvil/clock",
                false,
                Some("the run lacks the services it needs: acme/gear, acme/spring")
            ),
            entry("runvil/subagents", false, None),
        ]
    );
    assert!(report.requirements.is_satisfied());
}

const GEAR: ServiceKey<str> = ServiceKey::new("acme/gear");

#[tokio::test]
async fn a_service_of_the_run_or_of_the_host_meets_a_need() {
    let needy = pack("acme/kit").needs("acme/gear");
    let with = builder()
        .plugin(&needy)
        .service(GEAR, Arc::from("steel"))
        .build()
        .expect("a Host");
    assert_eq!(
        result(&run(&with, launch(script("uses: [acme/kit]", RETURN))).await),
        "ran"
    );

    let without = builder().plugin(&needy).build().expect("a Host");
    let mut launch = launch(script("uses: [acme/kit]", RETURN));
    launch.services = Services::new().with_name(ServiceName::new("acme/gear"));
    assert_eq!(result(&run(&without, launch).await), "ran");
}

struct Operator;

#[async_trait]
impl InputBroker for Operator {
    async fn ask(&self) -> Result<String, InputError> {
        Ok("  hi\n".to_owned())
    }
}

#[tokio::test]
async fn the_operator_is_asked_through_the_broker_of_the_run_that_asks() {
    let host = builder().plugin(&UserInputPlugin).build().expect("a Host");
    let ask = script("uses: [user-input]", "return input.ask()");
    assert_eq!(
        gaps(&ended_early(&host, launch(ask.clone())).await),
        ["user-input needs runvil/input-broker, and the environment provides none"]
    );
    let mut launch = launch(ask);
    launch.services = Services::new().with(INPUT_BROKER, Arc::new(Operator) as Arc<dyn InputBroker>);
    assert_eq!(result(&run(&host, launch).await), "  hi\n");
}

#[tokio::test]
async fn a_cancel_ends_the_wait_and_takes_each_pack_as_it_stands() {
    let starting = || pack("acme/slow").ready(pending);
    let host = builder()
        .plugin(&starting())
        .plugin(&pack("acme/quick").tool("quick/go", |_, _| async { Ok(ToolOutput::trusted("went")) }))
        .build()
        .expect("a Host");

    let refused = launch(script("uses: [acme/slow, acme/quick]", RETURN));
    let control = refused.control.clone();
    let (report, ()) = tokio::join!(ended_early(&host, refused), async { control.cancel() });
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    assert_eq!(
        report
            .roster
            .iter()
            .map(|pack| pack.unavailable.is_some())
            .collect::<Vec<_>>(),
        [true, false, false]
    );
    assert_eq!(
        kinds(&report.events).last().map(String::as_str),
        Some("parse_succeeded")
    );
}

#[tokio::test]
async fn a_cancelled_run_without_a_gap_is_built_and_runs_nothing() {
    let host = builder()
        .plugin(&pack("runvil/slow").ready(pending))
        .build()
        .expect("a Host");
    let launch = launch(script("", "log('ran')"));
    launch.control.cancel();
    let mut heard = Heard::new();
    let report = host.run(launch, &mut heard).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    assert_eq!(heard.of("log"), [""; 0]);
}

#[tokio::test]
async fn a_cancelled_run_never_ends_as_a_failure() {
    for source in [
        script("", "local x ="),
        script("uses: [gone]", RETURN),
        script("", RETURN).replace("runvil: 0\n", ""),
    ] {
        let launch = launch(source);
        launch.control.cancel();
        assert_eq!(ended_early(&host(), launch).await.outcome, RunOutcome::Cancelled);
    }
}

#[tokio::test]
async fn an_undeclared_third_party_pack_neither_delays_a_run_nor_is_in_it() {
    let host = builder()
        .plugin(&pack("acme/slow").ready(pending))
        .build()
        .expect("a Host");
    let report = run(&host, launch(script("", RETURN))).await;
    assert_eq!(result(&report), "ran");
    assert_eq!(report.roster.len(), 1);
}

#[tokio::test]
async fn an_undeclared_pack_that_is_not_ready_only_loses_its_tools() {
    let sick = pack("runvil/kit")
        .ready(|| async { Err(PackError::reason("it is ill")) })
        .tool("kit/go", |_, _| async { Ok(ToolOutput::trusted("went")) });
    let host = builder().plugin(&sick).build().expect("a Host");
    let offer = script("", "local ok, err = pcall(packs.offer, 'kit')\nreturn tostring(err)");
    assert_eq!(
        result(&run(&host, launch(offer)).await),
        "packs.offer: the kit Pack is unavailable in this run: it is ill"
    );
}

#[tokio::test]
async fn a_readiness_check_that_panics_makes_the_pack_unavailable() {
    let host = builder()
        .plugin(&pack("acme/kit").ready(|| async { panic!("no") }))
        .build()
        .expect("a Host");
    assert_eq!(
        refusal_of(&host, "uses: [acme/kit]").await,
        ["kit is unavailable: its readiness check stopped unexpectedly"]
    );
}

#[tokio::test]
async fn tools_are_read_once_and_only_a_declared_packs_prelude_runs() {
    let go = |text: &'static str| move |_, _| async move { Ok(ToolOutput::trusted(text)) };
    let host = builder()
        .plugin(&pack("acme/kit").prelude("answer = 42").tool("kit/go", go("acme")))
        .plugin(&pack("runvil/kit").tool("kit/go", go("runvil")))
        .plugin(&pack("runvil/other").prelude("other = 1").tool("other/go", go("other")))
        .build()
        .expect("a Host");
    let lua = "return tools.call('kit/go') .. tools.call('other/go') .. answer .. type(other)";
    assert_eq!(
        result(&run(&host, launch(script("uses: [acme/kit]", lua))).await),
        "acmeother42nil"
    );
    assert_eq!(
        result(&run(&host, launch(script("", "return tools.call('kit/go')"))).await),
        "runvil"
    );
}

#[tokio::test]
async fn a_run_is_stamped_before_its_prompt_is_parsed() {
    let report = ended_early(&host(), launch("no prompt")).await;
    assert_eq!(
        (report.facts.seed, report.facts.started_at),
        ([7; 32], 1_700_000_000_000)
    );
    assert_eq!(report.facts.name, "session-1");
    assert!(report.prompt_hash.starts_with("sha256:"));
    let again = ended_early(&host(), launch("no prompt")).await;
    assert_eq!(report.prompt_hash, again.prompt_hash);
}

struct Clock(Mutex<Vec<i64>>);

impl Origin for Clock {
    fn seed(&self) -> Seed {
        Seed::default()
    }

    fn now(&self) -> i64 {
        self.0.lock().expect("no panic").pop().expect("an instant is left")
    }
}

#[tokio::test]
async fn a_later_run_never_starts_earlier() {
    let clock = Arc::new(Clock(Mutex::new(vec![3000, 1000, 2000])));
    let host = builder().origin(clock).build().expect("a Host");
    let mut starts = Vec::new();
    for _ in 0..3 {
        starts.push(
            prepared(&host, launch(script("", RETURN)))
                .await
                .record
                .facts()
                .started_at,
        );
    }
    assert_eq!(starts, [2000, 2000, 3000]);
}

#[test]
fn a_host_refuses_a_pack_added_twice_and_a_limit_of_zero() {
    let twice = builder().plugin(&pack("acme/kit")).plugin(&pack("acme/kit")).build();
    assert!(matches!(twice, Err(HostError::Registry(_))));
    let limits = Limits {
        concurrency: 0,
        ..Limits::default()
    };
    assert!(matches!(builder().limits(limits).build(), Err(HostError::Limit(_))));
}

#[tokio::test]
async fn a_run_without_a_store_fails_at_its_first_step() {
    let mut launch = launch(script("", RETURN));
    launch.store = LaunchStore::Undeclared;
    let report = run(&host(), launch).await;
    assert_eq!(
        failure(&report),
        (
            RunErrorKind::Vfs,
            "this run declares no store, so no store operation can run"
        )
    );
    assert!(report.store.is_none());
}

/// Collects what is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_pack_that_cannot_serve_is_warned_of_in_the_hosts_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let host = builder()
        .plugin(&pack("runvil/worn").broken("the belt snapped"))
        .plugin(&pack("runvil/late").ready(|| async { Err(PackError::reason("it never woke")) }))
        .plugin(&pack("runvil/kit").tool("other/go", |_, _| async { Ok(ToolOutput::trusted("")) }))
        .build()
        .expect("a Host");
    let report = run(&host, launch(script("", "return tostring(tools.get('other/go'))"))).await;
    assert_eq!(result(&report), "nil");
    let log = String::from_utf8(log.0.lock().expect("no panic").clone()).expect("text");
    for line in [
        "WARN runvil_harness::packs::installed: Pack construct failed; it is built as unavailable pack=runvil/worn error=the belt snapped",
        "Pack will not be ready; this run treats it as unavailable pack=runvil/late error=it never woke",
        "a Pack's tool id escapes its Pack id; dropped pack=kit tool=other/go",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
}
