//! Packs whose tools answer from the case.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use runvil_pack::{
    Arguments, BuildContext, NameError, Pack, PackError, PackName, PackRegistry, Plugin, RegistryError, ServiceName,
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait, serde_json,
};

use super::Hang;
use crate::case::{ScriptedPackSpec, ToolAnswer, ToolAnswers, ToolSpec};

/// Adds one scripted Pack.
pub(crate) struct ScriptedPlugin {
    name: PackName,
    pack: Result<Arc<dyn Pack>, PackError>,
}

impl ScriptedPlugin {
    /// # Errors
    /// A tool's name is malformed.
    pub(crate) fn new(name: PackName, spec: &ScriptedPackSpec, hang: &Hang) -> Result<Self, NameError> {
        let pack = match &spec.unavailable {
            Some(reason) => Err(PackError::reason(reason)),
            None => Ok(Arc::new(ScriptedPack::new(&name, spec, hang)?) as Arc<dyn Pack>),
        };
        Ok(Self { name, pack })
    }
}

impl Plugin for ScriptedPlugin {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let pack = self.pack.clone();
        registry.add(self.name.clone(), move |_: &BuildContext| pack)
    }
}

struct ScriptedPack {
    prelude: Option<String>,
    needs: Vec<ServiceName>,
    not_ready: Option<String>,
    tools: Vec<Arc<dyn Tool>>,
}

impl ScriptedPack {
    fn new(name: &PackName, spec: &ScriptedPackSpec, hang: &Hang) -> Result<Self, NameError> {
        let tool = |(suffix, tool): (&String, &ToolSpec)| {
            let tool = ScriptedTool::new(name, suffix, tool, hang)?;
            Ok(Arc::new(tool) as Arc<dyn Tool>)
        };
        Ok(Self {
            prelude: spec.prelude.clone(),
            needs: spec.needs.iter().cloned().map(ServiceName::new).collect(),
            not_ready: spec.not_ready.clone(),
            tools: spec.tools.iter().map(tool).collect::<Result<_, NameError>>()?,
        })
    }
}

#[async_trait]
impl Pack for ScriptedPack {
    fn description(&self) -> &str {
        "Answers from a conformance case."
    }

    fn prelude(&self) -> Option<&str> {
        self.prelude.as_deref()
    }

    fn needs(&self) -> Vec<ServiceName> {
        self.needs.clone()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    async fn ready(&self) -> Result<(), PackError> {
        match &self.not_ready {
            Some(reason) => Err(PackError::reason(reason)),
            None => Ok(()),
        }
    }
}

struct ScriptedTool {
    definition: ToolDefinition,
    trusted: bool,
    answers: Answers,
    hang: Hang,
}

enum Answers {
    Always(ToolAnswer),
    Each(Mutex<VecDeque<ToolAnswer>>),
}

impl ScriptedTool {
    fn new(pack: &PackName, suffix: &str, spec: &ToolSpec, hang: &Hang) -> Result<Self, NameError> {
        let mut definition =
            ToolDefinition::new(pack.id().tool(suffix)?, &spec.description).parameters(spec.parameters.clone());
        if spec.structured {
            definition = definition.structured();
        }
        if spec.survives_stop {
            definition = definition.survives_stop();
        }
        let answers = match &spec.answers {
            ToolAnswers::Always(answer) => Answers::Always(answer.clone()),
            ToolAnswers::Each(answers) => Answers::Each(Mutex::new(answers.iter().cloned().collect())),
        };
        Ok(Self {
            definition,
            trusted: spec.trusted,
            answers,
            hang: hang.clone(),
        })
    }

    fn next_answer(&self) -> Option<ToolAnswer> {
        match &self.answers {
            Answers::Always(answer) => Some(answer.clone()),
            Answers::Each(answers) => answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front(),
        }
    }

    fn output(&self, text: String) -> ToolOutput {
        if self.trusted {
            ToolOutput::trusted(text)
        } else {
            ToolOutput::untrusted(text)
        }
    }
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
        match self.next_answer() {
            Some(ToolAnswer::Returns(text)) => Ok(self.output(text)),
            Some(ToolAnswer::Echoes) => Ok(self.output(serde_json::Value::Object(arguments).to_string())),
            Some(ToolAnswer::Fails(message)) => Err(ToolError::other(message)),
            Some(ToolAnswer::Hangs) => self.hang.forever().await,
            None => Err(ToolError::other("the case scripts no further answer of this tool")),
        }
    }
}
