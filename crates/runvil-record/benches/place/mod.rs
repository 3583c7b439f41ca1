//! A place in which recorded runs can be timed: a server on this machine answers the rounds, and the files are in a real
//! directory whose writes wait for the disk, as those of a run do.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use runvil_engine::{ModelId, ModelInfo, Recorder, RunOutcome, ThinkingMode};
use runvil_harness::{Host, Launch, LaunchStore, ModelAccess, RunReport};
use runvil_model::{ChatCompletions, Endpoint, Gateway};
use runvil_record::{Database, HostFacts, RunId};
use runvil_vfs::{Mount, Mounts, Store};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A place to run in.
pub(crate) struct Place {
    runtime: Runtime,
    host: Host,
    folder: TempDir,
    pub(crate) database: Database,
}

impl Place {
    pub(crate) fn new() -> Self {
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

    /// Runs this Lua to its end. The id is the record's.
    pub(crate) fn run(&self, lua: &str, recorded: bool) -> (Option<RunId>, RunReport) {
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
