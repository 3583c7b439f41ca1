//! What recording costs, how fast a record repeats its run, and how fast a list of many runs opens.
//!
//! The rounds go to a server on this machine, and the files into a real directory whose writes wait for the disk, as those of
//! a run do.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use divan::{Bencher, counter::ItemsCount};
use runvil_engine::{ModelId, ModelInfo, Recorder, RunOutcome, RunStart, ThinkingMode};
use runvil_harness::{Host, Launch, LaunchStore, ModelAccess, Recorded, RunReport, replay};
use runvil_model::{ChatCompletions, Endpoint, Gateway};
use runvil_record::{Database, HostFacts, RunFilter, RunId};
use runvil_vfs::{Mount, Mounts, Store};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

const ROUNDS: &str = "models.use('m') for i = 1, 1000 do models.infer('round ' .. i) end return 'done'";
const WRITES: &str = "for i = 1, 1000 do store.write(i % 10 .. '.md', 'x') end return 'done'";
const READS: &str = "store.write('a.md', 'x') for i = 1, 999 do store.read('a.md') end return 'done'";
const MIXED: &str = "models.use('m') for i = 1, 250 do store.write('a.md', models.infer('round ' .. i)) store.append('a.md', 'x') \
                     store.read('a.md') end return 'done'";

/// A place to run in.
struct Place {
    runtime: Runtime,
    host: Host,
    folder: TempDir,
    database: Database,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let database = Database::open(folder.path().join("runs.db")).expect("a database");
        let gateway =
            Gateway::from_lookup(|name| (name == "RUNVIL_GATEWAY_URL").then(|| serve().into())).expect("a gateway");
        let backend = ChatCompletions::new(Endpoint::from(gateway)).expect("a backend");
        let models = ModelAccess {
            backend: Some(Arc::new(backend)),
            current: Some(ModelInfo {
                id: ModelId::new("gateway", "m").expect("an id"),
                context: 32_000,
                thinking: ThinkingMode::Never,
                description: String::new(),
                provider: None,
            }),
        };
        Self {
            runtime: Runtime::new().expect("a runtime"),
            host: Host::builder().models(models).build().expect("a Host"),
            folder,
            database,
        }
    }

    fn launch(&self, lua: &str, recorder: Option<Arc<dyn Recorder>>) -> Launch {
        let mount = Mount::new("/", DirBackend::new(self.folder.path().join("files"))).expect("a mount");
        let store = Store::new(Mounts::new([mount]).expect("mounts"), "/").expect("a store");
        let source = format!(
            "---\nname: b\ndescription: d\nrunvil: 0\nmodels:\n  m: {{}}\n---\n# B\n## A\n```lua\n{lua}\n```\n"
        );
        Launch {
            store: LaunchStore::Supplied(store),
            recorder,
            ..Launch::new(source, "bench")
        }
    }

    fn run(&self, lua: &str, recorded: bool) -> (Option<RunId>, RunReport) {
        let writer = recorded.then(|| Arc::new(self.database.record(HostFacts::default()).expect("a record")));
        let id = writer.as_ref().map(|writer| writer.id());
        let recorder = writer.map(|writer| writer as Arc<dyn Recorder>);
        let report = self
            .runtime
            .block_on(self.host.run(self.launch(lua, recorder), &mut ()));
        assert!(
            matches!(report.outcome, RunOutcome::Completed { .. }),
            "{:?}",
            report.outcome
        );
        (id, report)
    }
}

/// A server that answers each request with one short reply. Gives its root.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let root = format!("http://{}/v1", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || drop(answer(&stream)));
        }
    });
    root
}

fn answer(stream: &TcpStream) -> std::io::Result<()> {
    const REPLY: &str =
        "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let mut writer = stream;
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{REPLY}",
            REPLY.len()
        )?;
    }
}

/// Runs with 1,000 small effects.
#[divan::bench_group(sample_count = 10, sample_size = 1)]
mod effects_1000 {
    use super::*;

    #[divan::bench(args = [false, true])]
    fn rounds(bencher: Bencher<'_, '_>, recorded: bool) {
        bench(bencher, ROUNDS, recorded);
    }

    #[divan::bench(args = [false, true])]
    fn writes(bencher: Bencher<'_, '_>, recorded: bool) {
        bench(bencher, WRITES, recorded);
    }

    #[divan::bench(args = [false, true])]
    fn reads(bencher: Bencher<'_, '_>, recorded: bool) {
        bench(bencher, READS, recorded);
    }

    #[divan::bench(args = [false, true])]
    fn mixed(bencher: Bencher<'_, '_>, recorded: bool) {
        bench(bencher, MIXED, recorded);
    }

    fn bench(bencher: Bencher<'_, '_>, lua: &str, recorded: bool) {
        let place = Place::new();
        bencher
            .counter(ItemsCount::new(1000_u32))
            .bench_local(|| place.run(lua, recorded));
    }
}

/// A replay of 10,000 effects.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn replay_10000(bencher: Bencher<'_, '_>) {
    let place = Place::new();
    let lua = "models.use('m') for i = 1, 3000 do models.infer('round ' .. i) store.read('a.md') end for i = 1, 3999 do \
               store.exists(i .. '.md') end return 'done'";
    let (id, _) = place.run(&format!("store.write('a.md', 'x') {lua}"), true);
    let id = id.expect("a recorded run");
    let run = place.database.run(id).expect("a run");
    let recorded = Recorded {
        start: run.start,
        source: run.source,
        parse_events: place.database.parse_events(id).expect("events"),
        prepared: run.prepared,
        outcome: run.outcome,
    };
    bencher.counter(ItemsCount::new(10_000_u32)).bench_local(|| {
        let mut history = place.database.history(id).expect("a history");
        let replayed = replay(&recorded, &recorded.source, &mut history).expect("replayed");
        assert_eq!((replayed.effects, replayed.divergence), (10_000, None));
    });
}

/// The first page and a later one of 100,000 runs.
#[divan::bench(args = [false, true], sample_count = 20)]
fn page_of_100000_runs(bencher: Bencher<'_, '_>, later: bool) {
    let database = Database::in_memory().expect("a database");
    let start: RunStart = Place::new().start();
    for _ in 0..100_000 {
        let writer = database.record(HostFacts::default()).expect("a record");
        writer.started(&start, b"").expect("kept");
    }
    let filter = RunFilter::default();
    let after = later
        .then(|| database.runs(&filter, None, 50_000).expect("a page").next)
        .flatten();
    bencher.bench_local(|| {
        let page = database.runs(&filter, after.as_ref(), 50).expect("a page");
        assert_eq!(page.runs.len(), 50);
    });
}

impl Place {
    fn start(&self) -> RunStart {
        let (id, _) = self.run("return 'x'", true);
        self.database.run(id.expect("a recorded run")).expect("a run").start
    }
}
