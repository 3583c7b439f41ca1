//! The runner's grip on a case that takes too long.

use std::sync::OnceLock;

use runvil_engine::CancelFlag;
use runvil_harness::RunControl;

/// Ends a case from another thread, whatever it does.
#[derive(Debug, Default)]
pub(crate) struct CaseGuard {
    control: RunControl,
    flag: OnceLock<CancelFlag>,
}

impl CaseGuard {
    /// Cancels the case's run, whether it is being prepared, runs Lua, or waits.
    pub(crate) fn cancel(&self) {
        self.control.cancel();
        if let Some(flag) = self.flag.get() {
            flag.cancel();
        }
    }

    /// The control of the case's launch.
    pub(crate) fn control(&self) -> &RunControl {
        &self.control
    }

    /// Takes the flag of the built run, which running Lua looks at.
    pub(crate) fn watch(&self, flag: CancelFlag) {
        let flag = self.flag.get_or_init(|| flag);
        if self.control.is_cancelled() {
            flag.cancel();
        }
    }
}
