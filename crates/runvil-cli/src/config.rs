//! `runvil.toml`: the settings of a project and of a user.
//!
//! The project's file is the nearest one in the current directory and the directories above it. The user's is in the
//! user's configuration folder. What the project's file says counts before what the user's says, key by key.
//! `docs/configuration.md` describes every key.

#[cfg(test)]
mod documented;
mod local_model;

use std::{
    env, fmt, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy as _;
use runvil_engine::{Limits, ThinkingMode};
use serde::Deserialize;

pub(crate) use self::local_model::LocalModels;
use crate::{
    budget::Budget,
    exit::Fault,
    files::{self, FileError},
};

/// The name of the file.
const FILE_NAME: &str = "runvil.toml";

/// The most bytes of a configuration file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The settings of a run that do not stand on the command line.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) endpoint: Endpoint,
    pub(crate) model: Model,
    /// The settings of embedded models.
    #[cfg_attr(
        not(feature = "local"),
        allow(dead_code, reason = "this build has no embedded models")
    )]
    pub(crate) models: LocalModels,
    pub(crate) limits: Limits,
    pub(crate) record: Record,
    pub(crate) budget: Budget,
    /// The files that say all this.
    pub(crate) files: Vec<PathBuf>,
}

/// One configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    endpoint: Endpoint,
    model: Model,
    models: LocalModels,
    limits: LimitSettings,
    record: Record,
    budget: Budget,
}

/// `[endpoint]`: how models are reached. `RUNVIL_GATEWAY_URL` counts before it; the key stays out of files, in
/// `RUNVIL_GATEWAY_API_KEY`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Endpoint {
    /// The API root, such as `http://127.0.0.1:8081/v1`.
    pub(crate) url: Option<String>,
    /// How the server is told to think or not to think.
    pub(crate) thinking_dialect: Option<String>,
}

/// `[model]`: the current model. What it says counts before what the endpoint says of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Model {
    /// The name that the endpoint lists the model under.
    pub(crate) id: Option<String>,
    /// The context window in tokens.
    pub(crate) context: Option<u32>,
    /// Whether the model thinks: `never`, `switchable` or `always`.
    pub(crate) thinking: Option<ThinkingMode>,
    /// What the model is.
    pub(crate) description: Option<String>,
    /// Who provides it.
    pub(crate) provider: Option<String>,
}

/// `[record]`: the records of runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Record {
    /// The database. A relative path counts from the folder of the configuration file.
    pub(crate) path: Option<PathBuf>,
    /// Whether runs are recorded; they are by default.
    pub(crate) enabled: Option<bool>,
    /// Whether a record survives a loss of power, too.
    pub(crate) durable: Option<bool>,
}

/// `[limits]`: the run limits, each in place of its default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitSettings {
    lua_memory_bytes: Option<u64>,
    lua_log_events: Option<u32>,
    concurrency: Option<u32>,
    max_response_bytes: Option<u64>,
    max_tool_iterations: Option<u32>,
    request_timeout_ms: Option<u64>,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: the file is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("{}: {problem}", .path.display())]
    Invalid { path: PathBuf, problem: String },
    #[error("the current directory cannot be told: {0}")]
    NoDirectory(#[from] io::Error),
}

impl Config {
    /// Reads the files that apply in the current directory.
    pub(crate) fn load() -> Result<Self, Fault> {
        Self::load_from(&env::current_dir().map_err(refused)?, user_directory().as_deref())
    }

    fn load_from(directory: &Path, user: Option<&Path>) -> Result<Self, Fault> {
        let project = directory
            .ancestors()
            .map(|above| above.join(FILE_NAME))
            .find(|path| path.is_file());
        let user = user.map(|folder| folder.join(FILE_NAME)).filter(|path| path.is_file());
        let mut config = Self::default();
        // The user's own file may be the nearest one, too.
        for path in user
            .iter()
            .chain(project.iter().filter(|path| Some(*path) != user.as_ref()))
        {
            config.add(path).map_err(refused)?;
            config.files.push(path.clone());
        }
        Ok(config)
    }

    /// Lays a file over the settings so far.
    fn add(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text =
            String::from_utf8(files::read(path, MAX_BYTES)?).map_err(|_| ConfigError::NotText(path.to_owned()))?;
        let invalid = |problem: &dyn fmt::Display| ConfigError::Invalid {
            path: path.to_owned(),
            problem: problem.to_string().trim_end().to_owned(),
        };
        let file: ConfigFile =
            toml::from_str(&text).map_err(|error| match crate::nearest::suggestion(error.message()) {
                Some(suggestion) => invalid(&format_args!("{}\n{suggestion}", error.to_string().trim_end())),
                None => invalid(&in_words(&error.to_string())),
            })?;
        let ConfigFile {
            endpoint,
            model,
            models,
            limits,
            record,
            budget,
        } = file;
        if model.context == Some(0) {
            return Err(invalid(&"`model.context` must be at least 1"));
        }
        overlay(&mut self.endpoint.url, endpoint.url);
        overlay(&mut self.endpoint.thinking_dialect, endpoint.thinking_dialect);
        overlay(&mut self.model.id, model.id);
        overlay(&mut self.model.context, model.context);
        overlay(&mut self.model.thinking, model.thinking);
        overlay(&mut self.model.description, model.description);
        overlay(&mut self.model.provider, model.provider);
        overlay(
            &mut self.record.path,
            record
                .path
                .map(|place| path.parent().unwrap_or(Path::new("")).join(place)),
        );
        overlay(&mut self.record.enabled, record.enabled);
        overlay(&mut self.record.durable, record.durable);
        overlay(&mut self.budget.max_rounds, budget.max_rounds);
        overlay(&mut self.budget.max_total_tokens, budget.max_total_tokens);
        overlay(&mut self.budget.max_seconds, budget.max_seconds);
        self.models.add(models);
        limits.apply(&mut self.limits);
        self.limits.validate().map_err(|error| invalid(&error))
    }
}

impl LimitSettings {
    fn apply(self, limits: &mut Limits) {
        set(&mut limits.lua_memory_bytes, self.lua_memory_bytes);
        set(&mut limits.lua_log_events, self.lua_log_events);
        set(&mut limits.concurrency, self.concurrency);
        set(&mut limits.max_response_bytes, self.max_response_bytes);
        set(&mut limits.max_tool_iterations, self.max_tool_iterations);
        set(&mut limits.request_timeout_ms, self.request_timeout_ms);
    }
}

/// The message with what a value may be in place of the type that it is read into.
fn in_words(message: &str) -> String {
    let message = message.trim_end();
    let kinds = [
        ("expected u32", "expected a whole number from 1 to 4294967295"),
        ("expected u64", "expected a whole number from 1 to 9223372036854775807"),
        (
            "expected f64",
            "expected a number of seconds above 0, such as 90 or 0.5",
        ),
    ];
    let kind = kinds.iter().find(|(kind, _)| message.ends_with(kind));
    kind.map_or_else(
        || message.to_owned(),
        |(kind, words)| message.replace(kind, words).replace(" as i128", ""),
    )
}

fn overlay<T>(setting: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *setting = value;
    }
}

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

fn refused(error: impl Into<ConfigError>) -> Fault {
    let error = error.into();
    Fault::usage(error).with_help("correct the configuration file, or move it out of the way")
}

/// The folder of the user's own configuration file.
fn user_directory() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.config_dir().join("runvil"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(project: &str, user: &str) -> Result<Config, String> {
        let root = tempfile::tempdir().expect("a directory");
        let (deep, folder) = (root.path().join("a/b"), root.path().join("user"));
        fs::create_dir_all(&deep).expect("a directory");
        fs::create_dir_all(&folder).expect("a directory");
        fs::write(root.path().join("a").join(FILE_NAME), project).expect("a file");
        fs::write(folder.join(FILE_NAME), user).expect("a file");
        Config::load_from(&deep, Some(&folder)).map_err(|fault| fault.to_string())
    }

    #[test]
    fn the_project_counts_before_the_user_key_by_key() {
        let project = "[model]\nid = 'p'\n[limits]\nconcurrency = 2\n";
        let user = "[endpoint]\nurl = 'http://localhost:1/v1'\n[model]\nid = 'u'\ncontext = 9\n";
        let config = load(project, user).expect("a configuration");
        assert_eq!(config.model.id.as_deref(), Some("p"));
        assert_eq!(config.model.context, Some(9));
        assert_eq!(config.endpoint.url.as_deref(), Some("http://localhost:1/v1"));
        assert_eq!(
            config.limits,
            Limits {
                concurrency: 2,
                ..Limits::default()
            }
        );
    }

    #[test]
    fn a_number_that_cannot_be_meant_is_told_what_may_be() {
        for (text, says) in [
            ("[limits]\nconcurrency = -1\n", "a whole number from 1 to 4294967295"),
            ("[limits]\nconcurrency = 'x'\n", "a whole number from 1 to 4294967295"),
            (
                "[limits]\nlua_memory_bytes = 99999999999999999999\n",
                "a whole number from 1 to 9223372036854775807",
            ),
            ("[budget]\nmax_rounds = -1\n", "a whole number from 0 on"),
            ("[budget]\nmax_seconds = 'x'\n", "a number of seconds above 0"),
            ("[budget]\nmax_seconds = -1\n", "a number of seconds above 0"),
        ] {
            let message = load(text, "").expect_err("refused");
            assert!(message.contains(says) && message.contains("line 2"), "{message}");
        }
    }

    #[test]
    fn an_unknown_key_is_named_with_file_and_line() {
        let message = load("[limits]\nconcurency = 2\n", "").expect_err("refused");
        assert!(message.contains("runvil.toml"), "{message}");
        assert!(message.contains("line 2"), "{message}");
        assert!(message.contains("`concurency`"), "{message}");
        assert!(message.contains("\ndid you mean `concurrency`?\n"), "{message}");
    }

    #[test]
    fn a_value_that_cannot_be_meant_is_refused() {
        for (text, says) in [
            ("[limits]\nconcurrency = 0\n", "limit `concurrency` must be at least 1"),
            ("[model]\ncontext = 0\n", "`model.context` must be at least 1"),
            ("[model]\nthinking = 'sometimes'\n", "sometimes"),
            ("[budget]\nmax_seconds = 0\n", "a number of seconds above 0 is meant"),
            ("[budget]\nmax_rounds = -1\n", "line 2"),
            ("model = 3\n", "line 1"),
        ] {
            let message = load(text, "").expect_err("refused");
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn the_settings_of_an_embedded_model_are_laid_over_each_other() {
        let project = "[models.'local/a']\ntemperature = 1\nstop = ['END']\n";
        let user = "[models.'local/a']\ntemperature = 0.5\ntop_k = 3\n[models.'local/b']\nseed = 7\n";
        let models = load(project, user).expect("a configuration").models.0;
        let settings: Vec<_> = models
            .iter()
            .map(|(name, model)| (name.0.as_str(), model.temperature, model.top_k, model.seed))
            .collect();
        assert_eq!(settings, [("a", Some(1.0), Some(3), None), ("b", None, None, Some(7))]);
    }

    #[test]
    fn a_setting_of_an_embedded_model_that_cannot_be_meant_is_refused() {
        for (setting, says) in [
            ("temperature = -0.1", "expected a number from 0 to 5"),
            ("temperature = nan", "expected a number from 0 to 5"),
            ("temperature = 'hot'", "expected a number from 0 to 5"),
            ("top_p = 0", "expected a number above 0 and up to 1"),
            ("top_p = 1.5", "expected a number above 0 and up to 1"),
            ("top_k = -1", "expected a whole number of tokens, 0 for all of them"),
            ("top_k = 0.5", "expected a whole number of tokens, 0 for all of them"),
            ("repetition_penalty = 0.9", "expected a number from 1 to 2"),
            ("seed = -1", "expected a whole number from 0 on"),
            ("max_tokens = 0", "expected a whole number of tokens, at least 1"),
            ("stop = ['']", "expected a list of up to 16 texts, none of them empty"),
            ("temprature = 1", "did you mean `temperature`?"),
        ] {
            let message = load(&format!("[models.'local/a']\n{setting}\n"), "").expect_err("refused");
            assert!(message.contains(says) && message.contains("line 2"), "{message}");
        }
        let message = load("[models.qwen3-8b]\ntemperature = 1\n", "").expect_err("refused");
        assert!(
            message.contains("the name of an embedded model, such as \"local/smollm2\""),
            "{message}"
        );
    }

    #[test]
    fn without_a_file_everything_is_as_built_in() {
        let root = tempfile::tempdir().expect("a directory");
        let config = Config::load_from(root.path(), None).expect("a configuration");
        assert_eq!(config.limits, Limits::default());
    }
}
