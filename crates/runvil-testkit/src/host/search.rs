//! A search provider that answers from the case.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use runvil_pack::{SearchError, SearchErrorKind, SearchProvider, SearchRequest, SearchResult, async_trait};

use crate::case::SearchAnswer;

/// The Host's search provider.
pub(crate) struct ScriptedSearch(Mutex<VecDeque<SearchAnswer>>);

impl ScriptedSearch {
    pub(crate) fn new(answers: &[SearchAnswer]) -> Self {
        Self(Mutex::new(answers.iter().cloned().collect()))
    }
}

#[async_trait]
impl SearchProvider for ScriptedSearch {
    async fn search(&self, _: &SearchRequest) -> Result<Vec<SearchResult>, SearchError> {
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match answer {
            Some(SearchAnswer::Results(results)) => Ok(results),
            Some(SearchAnswer::Fails(message)) => Err(SearchError::new(SearchErrorKind::Backend, message)),
            None => Err(SearchError::new(
                SearchErrorKind::Backend,
                "the case scripts no further search answer",
            )),
        }
    }
}
