//! A terminal to run the command in: what it writes lands on a screen, what is typed reaches it as from a keyboard.

use std::{
    io::{Read, Write},
    num::NonZero,
    path::Path,
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use pty_process::{
    Size,
    blocking::{Command, Pty, open},
};

/// How long anything is waited for. Only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

const ROWS: NonZero<u16> = NonZero::new(24).expect("some rows");
const COLUMNS: NonZero<u16> = NonZero::new(100).expect("some columns");

/// A command that runs in a terminal.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    shown: Arc<Mutex<Shown>>,
    reader: Option<thread::JoinHandle<()>>,
}

/// What the command wrote.
struct Shown {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts a command in a terminal of 24 by 100, all three of its standard streams there.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_within(COLUMNS, command)
    }

    /// Starts a command in a terminal of so many columns.
    pub(crate) fn start_within(columns: NonZero<u16>, command: Command) -> Self {
        let (pty, other_end) = open().expect("a terminal");
        pty.resize(Size::new(ROWS.get(), columns.get()))
            .expect("a terminal of that size");
        let child = command.spawn(other_end).expect("the command starts");
        let (pty, shown) = (
            Arc::new(pty),
            Arc::new(Mutex::new(Shown {
                screen: vt100::Parser::new(ROWS, columns, 0),
                bytes: Vec::new(),
            })),
        );
        let (output, writes_to) = (Arc::clone(&pty), Arc::clone(&shown));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The terminal is at its end, or fails to be read, once its last user is gone.
            while let Ok(read @ 1..) = (&*output).read(&mut buffer) {
                let mut shown = writes_to.lock().unwrap_or_else(PoisonError::into_inner);
                shown.screen.process(&buffer[..read]);
                shown.bytes.extend_from_slice(&buffer[..read]);
            }
        });
        Self {
            child,
            pty,
            shown,
            reader: Some(reader),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands on the screen, without the blanks at the end of each line.
    pub(crate) fn screen(&self) -> String {
        let text = self.shown().screen.screen().contents();
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Every byte that came so far, as text.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.shown().bytes).into_owned()
    }

    /// Waits until the screen fulfils a condition.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, fulfilled: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !fulfilled(&self.screen()) {
            assert!(
                begun.elapsed() < PATIENCE,
                "{what} does not come; on the screen is:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until this text stands on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Types text. A line ends with `\r`, as at a keyboard; `\x03` is Ctrl-C, `\x04` Ctrl-D.
    pub(crate) fn types(&self, text: &str) {
        (&*self.pty).write_all(text.as_bytes()).expect("the keyboard works");
    }

    /// Waits until the command ends; gives its exit status.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> i32 {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the command can be waited for") {
                break status;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "the command does not end; on the screen is:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(10));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the terminal is read to its end");
        }
        status.code().expect("the command ends by itself")
    }
}

impl Drop for Terminal {
    /// A test that failed leaves no command behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command as a terminal starts it, in a directory and with an environment of its own.
pub(crate) fn command(directory: &Path, argv: &[&str], environment: &[(&str, String)]) -> Command {
    let mut command = Command::new(argv[0])
        .args(&argv[1..])
        .current_dir(directory)
        .env("TERM", "xterm-256color");
    for name in ["RUNVIL_GATEWAY_URL", "RUNVIL_GATEWAY_API_KEY", "RUNVIL_LOG", "NO_COLOR"] {
        command = command.env_remove(name);
    }
    for (name, value) in environment {
        command = command.env(name, value);
    }
    command
}
