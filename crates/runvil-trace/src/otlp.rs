//! Sends spans to a collector: OTLP over HTTP, as protobuf.

use std::{
    env,
    sync::{Arc, OnceLock},
    time::Duration,
};

use opentelemetry::{Array, StringValue, Value, trace::TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter as Export},
};
use tracing::Subscriber;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    registry::LookupSpan,
};

use crate::TARGET;

/// The variables that name a collector; one of them turns the export on.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// The variables that name the service, in place of `runvil`.
const NAMES: [&str; 2] = ["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"];

/// The attribute that `tracing` holds as the text of a list.
const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";

/// Why spans cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// A variable of the export, or the HTTP client, cannot be used.
    #[error("spans cannot be exported: {0}")]
    Setup(#[from] ExporterBuildError),
    /// Some spans did not reach the collector.
    #[error("not all spans reached the collector: {0}")]
    Lost(String),
}

/// The export of a process's runs. Keep it until the process ends, and then [`OtlpExport::finish`] it.
#[derive(Debug)]
pub struct OtlpExport {
    provider: SdkTracerProvider,
    failure: Failure,
}

/// The first failure to export, which the thread that exports leaves here.
type Failure = Arc<OnceLock<String>>;

impl OtlpExport {
    /// The export to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` names;
    /// `None` if neither is set. The other variables of the OpenTelemetry exporter, such as
    /// `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME`, count as well.
    ///
    /// Call it outside of any async runtime: spans are sent from a thread of its own.
    ///
    /// # Errors
    /// A variable cannot be used.
    pub fn from_env() -> Result<Option<Self>, OtlpError> {
        if ENDPOINTS.iter().all(|name| is_unset(name)) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        Ok(Some(Self::through(exporter)))
    }

    /// The export to a collector at this URL, its path included, such as `http://localhost:4318/v1/traces`.
    ///
    /// # Errors
    /// The URL cannot be used.
    pub fn to(url: &str) -> Result<Self, OtlpError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .build()?;
        Ok(Self::through(exporter))
    }

    fn through(exporter: SpanExporter) -> Self {
        let failure = Failure::default();
        let exporter = WithLists {
            exporter,
            failure: Arc::clone(&failure),
        };
        let mut resource = Resource::builder();
        if NAMES.iter().all(|name| is_unset(name)) {
            resource = resource.with_service_name("runvil");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Self { provider, failure }
    }

    /// The layer that takes the spans of runs out of a subscriber.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("runvil"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(Targets::new().with_target(TARGET, LevelFilter::DEBUG))
    }

    /// Sends what is left, and ends the export.
    ///
    /// # Errors
    /// Some spans did not reach the collector, be it now or earlier.
    pub fn finish(self) -> Result<(), OtlpError> {
        let ended = self.provider.shutdown();
        match (self.failure.get(), ended) {
            (Some(failure), _) => Err(OtlpError::Lost(failure.clone())),
            (None, Err(error)) => Err(OtlpError::Lost(error.to_string())),
            (None, Ok(())) => Ok(()),
        }
    }
}

fn is_unset(name: &str) -> bool {
    env::var_os(name).is_none_or(|value| value.is_empty())
}

/// Turns the texts of lists into lists, as the conventions have them, and keeps the first failure.
#[derive(Debug)]
struct WithLists<E> {
    exporter: E,
    failure: Failure,
}

impl<E: Export> Export for WithLists<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for attribute in batch.iter_mut().flat_map(|span| &mut span.attributes) {
            if attribute.key.as_str() == FINISH_REASONS {
                attribute.value = list(&attribute.value.as_str());
            }
        }
        let exported = self.exporter.export(batch).await;
        if let Err(error) = &exported {
            self.failure.get_or_init(|| error.to_string());
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The one reason that a round has, without the marks of a list around it.
fn list(text: &str) -> Value {
    let reason = text.strip_prefix("[\"").and_then(|text| text.strip_suffix("\"]"));
    Value::Array(Array::String(vec![StringValue::from(
        reason.unwrap_or(text).to_owned(),
    )]))
}
