//! How a command ends.

use std::{fmt, process::ExitCode};

/// The exit status of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The work is done: the run completed, the files parse, the cases passed.
    Success,
    /// The work failed: the run failed, a file does not parse, a case failed, an endpoint or a file let the command down.
    Failure,
    /// The command line or the configuration cannot be used.
    Usage,
    /// The run was cancelled.
    Cancelled,
}

impl Exit {
    /// The status as the shell sees it.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Cancelled => 130,
        }
    }

    /// The status to return from `main`.
    pub(crate) fn leave(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// Why a command does not do its work: one message that names the place, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    exit: Exit,
    message: String,
    help: Option<String>,
}

impl Fault {
    /// A command line or a configuration that cannot be used.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.to_string(),
            help: None,
        }
    }

    /// Work that cannot be done.
    pub(crate) fn failure(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Failure,
            ..Self::usage(message)
        }
    }

    /// Whoever read along is gone: there is nothing left to do, and nothing to say.
    pub(crate) fn unread() -> Self {
        Self::failure("")
    }

    /// Adds what to do about it.
    pub(crate) fn with_help(self, help: impl fmt::Display) -> Self {
        Self {
            help: Some(help.to_string()),
            ..self
        }
    }

    /// The exit status.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the message to standard error, if there is one.
    pub(crate) fn print(&self) {
        if !self.message.is_empty() {
            crate::out::note(self);
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}
