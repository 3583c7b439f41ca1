//! `runvil model`: the models that are installed on this machine.

use crate::{
    args::ModelArgs,
    exit::{Exit, Fault},
};

#[cfg(not(feature = "local"))]
pub(crate) fn model(_args: &ModelArgs) -> Result<Exit, Fault> {
    Err(crate::local::not_built())
}

#[cfg(feature = "local")]
pub(crate) fn model(args: &ModelArgs) -> Result<Exit, Fault> {
    use crate::args::ModelCommand;
    match &args.command {
        ModelCommand::Add { name, file } => installed::add(name, file),
        ModelCommand::List { json } => installed::list(*json),
        ModelCommand::Remove { name } => installed::remove(name),
    }
}

#[cfg(feature = "local")]
mod installed {
    use std::path::Path;

    use runvil_local::{InstalledModel, LocalName};

    use crate::{
        exit::{Exit, Fault},
        local, out,
    };

    pub(super) fn add(name: &str, file: &Path) -> Result<Exit, Fault> {
        let added = local::library()?.add(&named(name)?, file)?;
        out::print(format_args!("{}\n", line(&added)))?;
        Ok(Exit::Success)
    }

    pub(super) fn list(json: bool) -> Result<Exit, Fault> {
        let models = local::library()?.list()?;
        if json {
            let text = serde_json::to_string_pretty(&models).expect("models are described by strings and numbers");
            out::print(format_args!("{text}\n"))?;
        } else if models.is_empty() {
            out::note("no model is installed; `runvil model add NAME FILE.gguf` adds one");
        } else {
            let lines: String = models.iter().map(|model| line(model) + "\n").collect();
            out::print(lines)?;
        }
        Ok(Exit::Success)
    }

    pub(super) fn remove(name: &str) -> Result<Exit, Fault> {
        let name = named(name)?;
        local::library()?.remove(&name)?;
        out::print(format_args!("removed local/{name}\n"))?;
        Ok(Exit::Success)
    }

    /// A name, with or without the `local/` that a model's id begins with.
    fn named(name: &str) -> Result<LocalName, Fault> {
        name.strip_prefix("local/")
            .unwrap_or(name)
            .parse()
            .map_err(Fault::usage)
    }

    fn line(model: &InstalledModel) -> String {
        let InstalledModel { name, bytes, facts, .. } = model;
        format!(
            "local/{name}  {} MiB, {} million parameters, {}, context of {} tokens: {}",
            bytes.div_ceil(1 << 20),
            facts.parameters.div_ceil(1_000_000),
            facts.quantization,
            facts.context,
            facts.title
        )
    }
}
