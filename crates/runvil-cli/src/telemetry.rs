//! The export of the spans of runs to a collector, in a build with the feature `otlp`.

#[cfg(feature = "otlp")]
use runvil_trace::OtlpExport;
use tracing::Subscriber;
use tracing_subscriber::{Layer, registry::LookupSpan};

use crate::exit::Fault;

/// The export, if this build has one and a variable such as `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector.
#[derive(Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otlp")]
    export: Option<OtlpExport>,
}

#[cfg(feature = "otlp")]
impl Telemetry {
    /// Starts the export. Call it outside of any async runtime.
    pub(crate) fn start() -> Result<Self, Fault> {
        let export = OtlpExport::from_env()
            .map_err(|error| Fault::usage(error).with_help("correct or unset the variables that begin with OTEL_"))?;
        Ok(Self { export })
    }

    /// What takes the spans out of the log.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        self.export.as_ref().map(OtlpExport::layer)
    }

    /// Sends what is left. A collector that is gone takes nothing away from the run.
    pub(crate) fn finish(self) {
        if let Some(Err(error)) = self.export.map(OtlpExport::finish) {
            crate::out::note(format_args!("warning: {error}"));
        }
    }
}

#[cfg(not(feature = "otlp"))]
impl Telemetry {
    /// There is none in this build.
    #[allow(clippy::unnecessary_wraps, reason = "a build with the export can fail here")]
    pub(crate) fn start() -> Result<Self, Fault> {
        Ok(Self::default())
    }

    /// Takes nothing.
    #[allow(clippy::unused_self, reason = "a build with the export asks it")]
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_subscriber::layer::Identity::new()
    }

    pub(crate) fn finish(self) {}
}
