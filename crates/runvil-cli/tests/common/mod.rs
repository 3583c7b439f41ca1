//! What the whole-program tests share: the binary, a place to run it in, and the server that it talks to.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use runvil_engine::EffectKind;
use runvil_record::{Database, RecordedEffect, RunFilter, RunId};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) mod part;
#[cfg(unix)]
pub(crate) mod terminal;

/// A directory of its own to run the command in, away from the configuration of whoever runs the tests.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            root: TempDir::new().expect("a directory"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, and gives its path.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, contents).expect("a file");
        path
    }

    /// Writes a prompt file with this frontmatter beyond the usual three keys, and this body.
    pub(crate) fn prompt(&self, frontmatter: &str, body: &str) -> PathBuf {
        let text = format!("---\nname: p\ndescription: d\nrunvil: 0\n{frontmatter}---\n\n# P\n\n{body}\n");
        self.file("prompt.md", text)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a readable file")
    }

    /// The command, to be run in this place.
    pub(crate) fn runvil<I, S>(&self, args: I) -> Runvil
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runvil"));
        command
            .args(args)
            .current_dir(self.root.path())
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("APPDATA", self.path("config"))
            .env_remove("RUNVIL_GATEWAY_URL")
            .env_remove("RUNVIL_GATEWAY_API_KEY")
            .env_remove("RUNVIL_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Runvil { command, input: None }
    }
}

impl Place {
    /// A place whose records are in `kept/runs.db`.
    pub(crate) fn with_records() -> Self {
        let place = Self::new();
        place.file("runvil.toml", "[record]\npath = 'kept/runs.db'\n");
        place
    }

    pub(crate) fn database(&self) -> Database {
        Database::open_existing(self.path("kept/runs.db")).expect("a database")
    }

    /// How many runs are recorded.
    pub(crate) fn runs(&self) -> usize {
        let page = self.database().runs(&RunFilter::default(), None, 100);
        page.expect("a page").runs.len()
    }

    /// Runs `runvil run` with these arguments on a server that never answers, and kills it in its first round.
    pub(crate) fn kill_in_a_round(&self, args: &[&str]) -> RunId {
        let newest = || {
            let database = Database::open_existing(self.path("kept/runs.db")).ok()?;
            database.find("last").ok()
        };
        let before = newest();
        let mut child = self.runvil([&["run"], args].concat()).server("silent").spawn();
        let begun = Instant::now();
        let run = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "the run comes to no round");
            if child.try_wait().expect("a child").is_some() {
                let ended = Outcome::from(child.wait_with_output().expect("an end"));
                unreachable!("the run comes to no round: {ended:#?}");
            }
            thread::sleep(Duration::from_millis(20));
            let Some(run) = newest().filter(|run| Some(*run) != before) else {
                continue;
            };
            let is_open = |effect: Result<RecordedEffect, _>| {
                effect.is_ok_and(|recorded| {
                    recorded.answer.is_none() && matches!(recorded.effect.kind, EffectKind::ModelRound(_))
                })
            };
            if self
                .database()
                .effects(run)
                .is_ok_and(|effects| effects.into_iter().any(is_open))
            {
                break run;
            }
        };
        child.kill().expect("killed");
        child.wait().expect("ended");
        run
    }
}

#[cfg(unix)]
impl Place {
    /// Starts the command in a terminal, its models served by the test server as said.
    pub(crate) fn at_terminal(&self, behaviour: &str, args: &[&str]) -> terminal::Terminal {
        let mut argv = vec![env!("CARGO_BIN_EXE_runvil")];
        argv.extend(args);
        terminal::Terminal::start(terminal::command(self.root.path(), &argv, &self.environment(behaviour)))
    }

    /// Starts the command in a terminal of so many columns.
    pub(crate) fn within(&self, columns: u16, args: &[&str]) -> terminal::Terminal {
        let mut argv = vec![env!("CARGO_BIN_EXE_runvil")];
        argv.extend(args);
        let columns = columns.try_into().expect("some columns");
        let command = terminal::command(self.root.path(), &argv, &self.environment("hello"));
        terminal::Terminal::start_within(columns, command)
    }

    /// Starts a shell command line in a terminal, in which `$RUNVIL` is the command: its streams may be redirected.
    pub(crate) fn shell(&self, behaviour: &str, line: &str) -> terminal::Terminal {
        let mut environment = self.environment(behaviour);
        environment.push(("RUNVIL", env!("CARGO_BIN_EXE_runvil").to_owned()));
        terminal::Terminal::start(terminal::command(
            self.root.path(),
            &["/bin/sh", "-c", line],
            &environment,
        ))
    }

    fn environment(&self, behaviour: &str) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_str().expect("text").to_owned();
        vec![
            ("HOME", text(self.path("home"))),
            ("XDG_CONFIG_HOME", text(self.path("config"))),
            ("XDG_DATA_HOME", text(self.path("data"))),
            ("RUNVIL_GATEWAY_URL", Server::shared().root(behaviour)),
        ]
    }
}

/// One call of the command.
pub(crate) struct Runvil {
    command: Command,
    input: Option<Vec<u8>>,
}

impl Runvil {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Reaches models through the test server, which behaves as said.
    pub(crate) fn server(self, behaviour: &str) -> Self {
        let root = Server::shared().root(behaviour);
        self.env("RUNVIL_GATEWAY_URL", root)
    }

    /// Gives it this standard input.
    pub(crate) fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.input = Some(bytes.as_ref().to_owned());
        self.command.stdin(Stdio::piped());
        self
    }

    pub(crate) fn spawn(mut self) -> Child {
        let mut child = self.command.spawn().expect("the command starts");
        if let Some(input) = self.input {
            let mut stdin = child.stdin.take().expect("a piped input");
            // A command that does not read its input closes it.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        child
    }

    /// Runs it on a prompt file with these arguments.
    pub(crate) fn run_file(mut self, prompt: &Path, args: &str) -> Outcome {
        self.command.arg(prompt).arg(args);
        self.run()
    }

    pub(crate) fn run(self) -> Outcome {
        Outcome::from(self.spawn().wait_with_output().expect("the command ends"))
    }
}

/// What a call of the command came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Outcome {
    /// The run completed with exactly this result.
    #[track_caller]
    pub(crate) fn completed(&self, result: &str) -> &Self {
        assert_eq!((self.status, self.stdout.as_str()), (Some(0), result), "{self:#?}");
        self
    }

    /// The command ended with this status, said this on standard error, wrote no result, and did not panic.
    #[track_caller]
    pub(crate) fn refused(&self, status: i32, says: &str) -> &Self {
        assert_eq!((self.status, self.stdout.as_str()), (Some(status), ""), "{self:#?}");
        assert!(self.stderr.contains(says), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn does_not_say(&self, text: &str) -> &Self {
        assert!(!self.stderr.contains(text) && !self.stdout.contains(text), "{self:#?}");
        self
    }
}

/// The test server, a process of its own.
pub(crate) struct Server {
    port: u16,
    requests: &'static Mutex<Vec<Value>>,
    /// Its standard input is what keeps the server alive.
    _process: Mutex<Child>,
}

impl Server {
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    fn start() -> Self {
        static REQUESTS: Mutex<Vec<Value>> = Mutex::new(Vec::new());
        let mut process = Command::new(example("test_server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a piped output")).lines();
        let port = lines.next().expect("a port").expect("a port").parse().expect("a port");
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let request = serde_json::from_str(&line).expect("a request");
                REQUESTS.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            }
        });
        Self {
            port,
            requests: &REQUESTS,
            _process: Mutex::new(process),
        }
    }

    /// The API root under which the server behaves as said.
    pub(crate) fn root(&self, behaviour: &str) -> String {
        format!("http://127.0.0.1:{}/{behaviour}", self.port)
    }

    /// Waits until every request that the server answered is known here, too.
    fn catch_up(&self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let path = format!("/marker/{}", LAST.fetch_add(1, Ordering::Relaxed));
        self.get(&path);
        let known = |requests: &[Value]| requests.iter().any(|request| request["path"] == path.as_str());
        while !known(&self.requests.lock().unwrap_or_else(PoisonError::into_inner)) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn get(&self, path: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").expect("the server reads");
        io::copy(&mut stream, &mut io::sink()).expect("the server answers");
    }

    /// Lets the replies of a `gated` root go on that wait for it now or next, one for each call.
    pub(crate) fn open_gate(&self, behaviour: &str) {
        self.get(&format!("/{behaviour}/gate"));
    }

    /// The requests that came to an endpoint of a root so far.
    pub(crate) fn requests(&self, behaviour: &str, endpoint: &str) -> Vec<Value> {
        self.catch_up();
        let path = format!("/{behaviour}/{endpoint}");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests
            .iter()
            .filter(|request| request["path"] == path.as_str())
            .cloned()
            .collect()
    }
}

/// The path of an example of this package, which Cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the test's own path");
    let target = tests.parent().and_then(Path::parent).expect("a target directory");
    target
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The path of a shipped prompt.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prompts").join(name)
}
