//! Where the records of runs are, and what the command line puts into them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy as _;
use runvil_record::{Database, Durability, HostFacts, RecordError, RunId, RunWriter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{args::RunArgs, budget::Budget, config::Config, exit::Fault, files, models::Gate, store::StoreSpec};

/// What the command line needs to set a run up again. It holds no secret.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// The version of the command that recorded the run.
    pub(crate) version: String,
    pub(crate) store: StoreSpec,
    /// Whether somebody answered questions.
    pub(crate) operator: bool,
    /// The API root that models were reached under.
    pub(crate) endpoint: Option<String>,
    /// Where the text of the declared output file goes.
    pub(crate) output: Option<PathBuf>,
    /// Whether the directory of the store was there when the run began.
    pub(crate) store_was_there: bool,
    /// The model that the command line named.
    pub(crate) model: Option<String>,
    /// The file that the declared input file's text came from.
    pub(crate) input: Option<PathBuf>,
    /// The file that the UI snapshot came from.
    pub(crate) ui: Option<PathBuf>,
    /// What `[budget]` in `runvil.toml` said; `None` in the record of a version that did not keep it.
    pub(crate) configured_budget: Option<Budget>,
    /// What the command line said of the budget.
    pub(crate) given_budget: Budget,
}

impl Settings {
    /// What the record of a run holds of them, as far as this version can read it.
    pub(crate) fn of(host: &Value) -> Self {
        serde_json::from_value(host.clone()).unwrap_or_default()
    }

    /// The budget that holds for the run, if it is recorded.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.configured_budget
            .map(|configured| configured.under(self.given_budget))
    }

    /// As the record keeps it.
    ///
    /// # Errors
    /// A path is not UTF-8.
    pub(crate) fn to_json(&self) -> Result<Value, Fault> {
        serde_json::to_value(self).map_err(|_| not_utf8())
    }
}

fn not_utf8() -> Fault {
    Fault::usage("a path on the command line is not UTF-8, so the run cannot be recorded")
        .with_help("name the path in UTF-8, or run with --no-record")
}

/// Where the prompt is, as the record keeps it.
///
/// # Errors
/// The path is not UTF-8.
pub(crate) fn prompt_file(path: &Path) -> Result<Option<String>, Fault> {
    let text = |path: PathBuf| path.into_os_string().into_string().map_err(|_| not_utf8());
    whole(path).map(text).transpose()
}

/// The path, whatever the current directory is.
fn whole(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

/// The path of a file that can be looked at again, which a pipe cannot.
fn whole_file(path: &Path) -> Option<PathBuf> {
    whole(path).filter(|path| path.is_file())
}

impl From<RecordError> for Fault {
    fn from(error: RecordError) -> Self {
        Self::failure(format_args!("records: {error}")).with_help(error.help())
    }
}

/// The version of the command.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The recorder of a run that is about to start, unless none is wanted.
pub(crate) fn recorder(args: &RunArgs, config: &Config, gate: Option<&Gate>) -> Result<Option<Arc<RunWriter>>, Fault> {
    if args.no_record || config.record.enabled == Some(false) {
        return Ok(None);
    }
    let input_is_stdin = args.input.as_deref().is_some_and(files::is_stdin);
    let settings = Settings {
        version: VERSION.to_owned(),
        store: StoreSpec::from(args).absolute(),
        operator: !args.no_operator && !input_is_stdin,
        endpoint: gate.map(|gate| gate.root().to_owned()),
        output: args.output.as_deref().and_then(whole),
        store_was_there: args.store.as_deref().is_some_and(Path::is_dir),
        model: args.model.clone(),
        input: args.input.as_deref().filter(|_| !input_is_stdin).and_then(whole_file),
        ui: args.ui.as_deref().and_then(whole_file),
        configured_budget: Some(config.budget),
        given_budget: Budget::from(&args.drive.budget),
    };
    let facts = HostFacts {
        file: prompt_file(&args.file)?,
        host: settings.to_json()?,
        parent: None,
    };
    let writer = open(config, args.durable)?.record(facts).map_err(unrecordable)?;
    Ok(Some(Arc::new(writer)))
}

/// Opens the database to record in.
pub(crate) fn open(config: &Config, durable: bool) -> Result<Database, Fault> {
    let opened = Database::open(place(config)?).map_err(unrecordable)?;
    survive(opened, config, durable)
}

/// Opens the database, if there is one.
pub(crate) fn open_if_any(config: &Config) -> Result<Option<Database>, Fault> {
    match Database::open_existing(place(config)?) {
        Ok(database) => Ok(Some(database)),
        Err(RecordError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the database that is there.
pub(crate) fn open_existing(config: &Config) -> Result<Database, Fault> {
    Ok(Database::open_existing(place(config)?)?)
}

/// Sets what the records survive.
pub(crate) fn survive(database: Database, config: &Config, durable: bool) -> Result<Database, Fault> {
    let durability = if durable || config.record.durable == Some(true) {
        Durability::Power
    } else {
        Durability::Process
    };
    Ok(database.with_durability(durability)?)
}

/// The run that an argument means.
pub(crate) fn find(database: &Database, reference: &str) -> Result<RunId, Fault> {
    Ok(database.find(reference)?)
}

/// Where the database is: as the configuration says, or where the platform keeps a user's data.
pub(crate) fn place(config: &Config) -> Result<PathBuf, Fault> {
    if let Some(path) = &config.record.path {
        return Ok(path.clone());
    }
    let folders = etcetera::choose_base_strategy().map_err(|error| {
        Fault::usage(format_args!("the folder of the records cannot be told: {error}"))
            .with_help("set `path` under [record] in runvil.toml, or run with --no-record")
    })?;
    Ok(folders.data_dir().join("runvil").join("runs.db"))
}

fn unrecordable(error: RecordError) -> Fault {
    let help = format!("{}; or run with --no-record", error.help());
    Fault::from(error).with_help(help)
}
