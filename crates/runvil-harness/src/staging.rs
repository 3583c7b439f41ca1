//! Putting a launch's input text in place (book: Staging the input file).

use std::error::Error;

use runvil_engine::{RunError, RunErrorKind};
use runvil_syntax::FileDeclaration;
use runvil_vfs::{Store, StoreFailure, StoreOp, StoreReply};

/// Why the run is refused before anything else of its environment is looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt's declared input file cannot be put in place")]
pub struct InputRefusal {
    #[source]
    cause: InputProblem,
}

/// What is wrong with the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum InputProblem {
    #[error("the launch supplied input text, but the prompt declares no `input:` file")]
    Undeclared,
    #[error(
        "the prompt declares the input file `{path}`, but the launch supplied no input text and the store has no such file"
    )]
    Missing { path: String },
    #[error("input file `{path}`")]
    Store {
        path: String,
        #[source]
        failure: StoreFailure,
    },
}

impl From<InputProblem> for InputRefusal {
    fn from(cause: InputProblem) -> Self {
        Self { cause }
    }
}

impl From<&InputRefusal> for RunError {
    fn from(refusal: &InputRefusal) -> Self {
        Self::new(RunErrorKind::Input, cause_chain(refusal))
    }
}

/// Writes the input text to the declared file. Without a text, the store has to hold the file already.
///
/// Blocks as long as the store does.
pub(crate) fn stage(
    declared: Option<&FileDeclaration>,
    text: Option<String>,
    store: Option<&Store>,
) -> Result<(), InputRefusal> {
    let Some(FileDeclaration { path, .. }) = declared else {
        return if text.is_some() {
            Err(InputProblem::Undeclared.into())
        } else {
            Ok(())
        };
    };
    let refused = |failure| InputProblem::Store {
        path: path.clone(),
        failure,
    };
    let store = store.ok_or_else(|| refused(StoreFailure::NoStore))?;
    match text {
        Some(text) => store.stage(path, text).map_err(refused)?,
        None if holds(store, path).map_err(refused)? => {}
        None => return Err(InputProblem::Missing { path: path.clone() }.into()),
    }
    Ok(())
}

/// Whether the store holds a file at the path. A directory there is none.
fn holds(store: &Store, path: &str) -> Result<bool, StoreFailure> {
    match store.perform_for_host(StoreOp::Exists { path: path.to_owned() })? {
        StoreReply::Exists(false) => return Ok(false),
        StoreReply::Exists(true) => {}
        other => unreachable!("an existence check replied {other:?}"),
    }
    match store.text(path) {
        Ok(text) => Ok(text.is_some()),
        Err(StoreFailure::IsADirectory { .. }) => Ok(false),
        // What else is wrong with the file is for its reader.
        Err(_) => Ok(true),
    }
}

/// An error's text and that of each cause, as a run's message joins them.
fn cause_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runvil_vfs::{Mode, Policy};

    use super::*;

    fn declared(path: &str) -> FileDeclaration {
        FileDeclaration {
            path: path.to_owned(),
            description: "The draft".to_owned(),
        }
    }

    fn message(result: Result<(), InputRefusal>) -> String {
        RunError::from(&result.expect_err("a refusal")).message
    }

    #[test]
    fn the_text_replaces_what_the_store_holds() {
        let store = Store::memory();
        store.put("in.md", "old").expect("a seed");
        let text = "  new\n".to_owned();
        stage(Some(&declared("in.md")), Some(text), Some(&store)).expect("staged");
        assert_eq!(store.text("in.md"), Ok(Some("  new\n".to_owned())));
        stage(Some(&declared("in.md")), None, Some(&store)).expect("the file is there");
    }

    #[test]
    fn nothing_declared_and_nothing_given_is_fine_without_a_store() {
        assert_eq!(stage(None, None, None), Ok(()));
    }

    #[test]
    fn text_without_a_declared_file_is_refused() {
        assert_eq!(
            message(stage(None, Some(String::new()), Some(&Store::memory()))),
            "the prompt's declared input file cannot be put in place: \
             the launch supplied input text, but the prompt declares no `input:` file"
        );
    }

    #[test]
    fn a_declared_file_that_nobody_supplies_is_refused() {
        assert_eq!(
            message(stage(Some(&declared("in.md")), None, Some(&Store::memory()))),
            "the prompt's declared input file cannot be put in place: the prompt declares the input file `in.md`, \
             but the launch supplied no input text and the store has no such file"
        );
    }

    #[test]
    fn the_stores_own_refusal_is_the_last_cause() {
        let store = Store::memory();
        store.set_policy(Some(Arc::new(Mode::Ask) as Arc<dyn Policy>));
        let staged = |path: &str| stage(Some(&declared(path)), Some("x".to_owned()), Some(&store));
        assert_eq!(
            message(staged("in.md")),
            "the prompt's declared input file cannot be put in place: input file `in.md`: \
             store path in.md needs approval, which this run cannot give: \
             Write on in.md needs user approval: the Ask mode refuses all mutations"
        );
        assert!(
            message(staged("../in.md"))
                .ends_with("input file `../in.md`: invalid path \"../in.md\": path contains a traversal segment")
        );
        assert!(
            message(stage(Some(&declared("in.md")), None, None))
                .ends_with("this run declares no store, so no store operation can run")
        );
    }
}
