//! An operator who answers from the case.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use runvil_pack::{InputBroker, InputError, async_trait};

use super::Hang;
use crate::case::OperatorAnswer;

/// The run's input broker. Once its answers are used up, it never answers.
pub(crate) struct ScriptedOperator {
    answers: Mutex<VecDeque<OperatorAnswer>>,
    hang: Hang,
}

impl ScriptedOperator {
    pub(crate) fn new(answers: &[OperatorAnswer], hang: Hang) -> Self {
        Self {
            answers: Mutex::new(answers.iter().cloned().collect()),
            hang,
        }
    }
}

#[async_trait]
impl InputBroker for ScriptedOperator {
    async fn ask(&self) -> Result<String, InputError> {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match answer {
            Some(OperatorAnswer::Says(text)) => Ok(text),
            Some(OperatorAnswer::Fails(message)) => Err(InputError::new(message)),
            None => self.hang.forever().await,
        }
    }
}
