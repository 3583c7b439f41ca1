//! Operations in short, for tests of runs on a store.

use runvil_vfs::{Identity, LineBounds, StoreFailure, StoreOp, StoreReason, StoreReply};

pub(crate) fn write(path: &str, contents: &str) -> StoreOp {
    StoreOp::Write {
        path: path.into(),
        contents: contents.into(),
    }
}

pub(crate) fn read(path: &str) -> StoreOp {
    StoreOp::Read {
        path: path.into(),
        lines: LineBounds::WHOLE,
    }
}

pub(crate) fn glob(pattern: &str) -> StoreOp {
    StoreOp::Glob {
        pattern: pattern.into(),
    }
}

pub(crate) fn exists(path: &str) -> StoreOp {
    StoreOp::Exists { path: path.into() }
}

pub(crate) fn root() -> Identity {
    Identity::root("0")
}

pub(crate) fn reply(text: &str) -> Result<StoreReply, StoreFailure> {
    Ok(StoreReply::Text(text.to_owned()))
}

pub(crate) fn reason<T: std::fmt::Debug>(outcome: Result<T, StoreFailure>) -> StoreReason {
    outcome.unwrap_err().reason()
}
