//! Which runs there are.

use runvil_engine::{EffectId, RunOutcome};
use rusqlite::{OptionalExtension as _, Row, ToSql, params_from_iter};

use crate::{Database, Parent, RecordError, RunId, journal::Journal};

/// How a run ended, without its result or error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeKind {
    /// It ran to its end.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

impl OutcomeKind {
    /// The kind of an outcome.
    #[must_use]
    pub fn of(outcome: &RunOutcome) -> Self {
        match outcome {
            RunOutcome::Completed { .. } => Self::Completed,
            RunOutcome::Cancelled => Self::Cancelled,
            RunOutcome::Failed(_) => Self::Failed,
        }
    }

    /// The word for it: `completed`, `cancelled` or `failed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Completed, Self::Cancelled, Self::Failed]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// Which runs are asked for. An empty filter lets all through.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFilter {
    /// Runs of this name.
    pub name: Option<String>,
    /// Runs of the prompt with this name in its frontmatter, or with this file path.
    pub prompt: Option<String>,
    /// Runs that ended so; `Some(None)` asks for those that did not end.
    pub outcome: Option<Option<OutcomeKind>>,
    /// Runs that started at this instant or later, in UTC milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// Runs that started before this instant.
    pub before: Option<i64>,
}

/// Token counts over a run's model rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of the requests, as far as they were reported; `None` if none was.
    pub prompt: Option<u64>,
    /// Tokens of the replies, as far as they were reported; `None` if none was.
    pub completion: Option<u64>,
    /// Of how many rounds one of the counts is unknown: the server did not report it, or the round was cut short.
    pub unreported: u64,
}

/// What a list of runs shows of one.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// Its name.
    pub name: String,
    /// The name that the prompt's frontmatter gives it; `None` if the file does not parse.
    pub prompt_name: Option<String>,
    /// The hash of the prompt file.
    pub prompt_hash: String,
    /// Where the prompt file was.
    pub file: Option<String>,
    /// When it started, in UTC milliseconds since the Unix epoch.
    pub started_at: i64,
    /// When it ended, in UTC microseconds since the Unix epoch.
    pub ended_at: Option<i64>,
    /// How it ended; `None` for one that goes, or whose process died.
    pub outcome: Option<OutcomeKind>,
    /// The run that it forked from.
    pub parent: Option<Parent>,
    /// How often it was resumed.
    pub resumed: u64,
    /// How many effects it asked for; `None` before it ended.
    pub effects: Option<u64>,
    /// How many model rounds it sent; `None` before it ended.
    pub rounds: Option<u64>,
    /// The token counts of its rounds; `None` before it ended.
    pub tokens: Option<Tokens>,
}

/// Some of the runs, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Behind which run the next page begins; `None` if this is the last page.
    pub next: Option<RunId>,
}

const COLUMNS: &str = "id, name, prompt_name, prompt_hash, file, started_at, ended_at, outcome, parent, parent_effect, \
                       resumed, effects, rounds, prompt_tokens, completion_tokens, unreported";

impl Database {
    /// A page of at most `limit` runs that the filter lets through, the newest first, from behind `after` on.
    ///
    /// A page costs what it holds, however many runs there are.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self, filter: &RunFilter, after: Option<&RunId>, limit: usize) -> Result<Page, RecordError> {
        let (sql, values) = page_query(filter, after, limit);
        let mut runs = self.reading(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(params_from_iter(&values), summary)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let more = runs.len() > limit;
        runs.truncate(limit);
        let next = runs.last().filter(|_| more).map(|run| run.id);
        Ok(Page { runs, next })
    }

    /// What a list shows of one run.
    ///
    /// # Errors
    /// There is no such run, or the database cannot be read.
    pub fn summary(&self, run: RunId) -> Result<RunSummary, RecordError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        self.reading(|connection| connection.query_row(&sql, [run.to_string()], summary).optional())?
            .ok_or_else(|| self.lacks_run(&run.to_string()))
    }

    /// The run that a person means by a whole id, the beginning of one, or `last` for the newest.
    ///
    /// # Errors
    /// No run is meant, or several are.
    pub fn find(&self, reference: &str) -> Result<RunId, RecordError> {
        if reference == "last" {
            let page = self.runs(&RunFilter::default(), None, 1)?;
            return page
                .runs
                .first()
                .map(|run| run.id)
                .ok_or_else(|| self.no_such_run(reference));
        }
        let beginning = reference.to_ascii_lowercase();
        let is_id_text = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if beginning.is_empty() || !is_id_text(&beginning) {
            return Err(self.no_such_run(reference));
        }
        let found = self.reading(|connection| {
            connection
                .prepare_cached("SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2")?
                .query_map([beginning], |row| id(row, 0))?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        match found[..] {
            [] => Err(self.lacks_run(reference)),
            [one] => Ok(one),
            [one, other, ..] => Err(RecordError::Ambiguous {
                path: self.place().to_owned(),
                reference: reference.to_owned(),
                two: [one, other],
            }),
        }
    }

    /// Whether a process drives the run at the moment.
    ///
    /// # Errors
    /// The lock of the run cannot be looked at.
    pub fn is_live(&self, run: RunId) -> Result<bool, RecordError> {
        let Some(path) = self.path() else { return Ok(false) };
        let held = Journal::is_held(path, run)?;
        match self.summary(run) {
            Ok(summary) => Ok(held && summary.outcome.is_none()),
            // Its first frames are on their way into the database.
            Err(RecordError::NoSuchRun { .. }) if held => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// There is no run whose id begins so; maybe only because its journal is damaged.
    pub(crate) fn lacks_run(&self, reference: &str) -> RecordError {
        let beginning = reference.to_ascii_lowercase();
        let damaged = self.damaged_journal(|run| run.to_string().starts_with(&beginning));
        damaged.unwrap_or_else(|| self.no_such_run(reference))
    }

    pub(crate) fn no_such_run(&self, reference: &str) -> RecordError {
        RecordError::NoSuchRun {
            path: self.place().to_owned(),
            reference: reference.to_owned(),
        }
    }
}

/// The question for a page, with one run more than it holds. Each way to an answer is an index that has the runs in order.
fn page_query(filter: &RunFilter, after: Option<&RunId>, limit: usize) -> (String, Vec<Box<dyn ToSql>>) {
    let mut conditions = vec!["TRUE".to_owned()];
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut add = |condition: &str, value: Box<dyn ToSql>| {
        values.push(value);
        conditions.push(format!("{condition} ?{}", values.len()));
    };
    if let Some(after) = after {
        add("id <", Box::new(after.to_string()));
    }
    if let Some(name) = &filter.name {
        add("name =", Box::new(name.clone()));
    }
    if let Some(outcome) = filter.outcome {
        add("outcome IS", Box::new(outcome.map(OutcomeKind::as_str)));
    }
    if let Some(since) = filter.since {
        add("started_at >=", Box::new(since));
    }
    if let Some(before) = filter.before {
        add("started_at <", Box::new(before));
    }
    let rest = conditions.join(" AND ");
    let mut sql = format!("SELECT {COLUMNS} FROM runs WHERE {rest}");
    if let Some(prompt) = &filter.prompt {
        values.push(Box::new(prompt.clone()));
        let prompt = format!("?{}", values.len());
        sql = format!(
            "{sql} AND prompt_name = {prompt} \
             UNION ALL SELECT {COLUMNS} FROM runs WHERE {rest} AND file = {prompt} AND prompt_name IS NOT {prompt}"
        );
    }
    values.push(Box::new(i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX)));
    (format!("{sql} ORDER BY id DESC LIMIT ?{}", values.len()), values)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let count = |index: usize| {
        row.get::<_, Option<i64>>(index)
            .map(|count| count.map(i64::unsigned_abs))
    };
    let parent: Option<String> = row.get(8)?;
    let parent = match parent.and_then(|parent| parent.parse().ok()) {
        Some(run) => Some(Parent {
            run,
            effect: EffectId(count(9)?.unwrap_or_default()),
        }),
        None => None,
    };
    let outcome: Option<String> = row.get(7)?;
    let unreported = count(15)?;
    Ok(RunSummary {
        id: id(row, 0)?,
        name: row.get(1)?,
        prompt_name: row.get(2)?,
        prompt_hash: row.get(3)?,
        file: row.get(4)?,
        started_at: row.get(5)?,
        ended_at: row.get(6)?,
        outcome: outcome.as_deref().and_then(OutcomeKind::from_word),
        parent,
        resumed: count(10)?.unwrap_or_default(),
        effects: count(11)?,
        rounds: count(12)?,
        tokens: unreported
            .map(|unreported| {
                Ok::<_, rusqlite::Error>(Tokens {
                    prompt: count(13)?,
                    completion: count(14)?,
                    unreported,
                })
            })
            .transpose()?,
    })
}

pub(crate) fn id(row: &Row<'_>, index: usize) -> rusqlite::Result<RunId> {
    let text: String = row.get(index)?;
    text.parse()
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_an_index_and_not_by_sorting() {
        let database = Database::in_memory().expect("a database");
        let connection = database.connection();
        let after = RunId::draw();
        let filters = [
            RunFilter::default(),
            RunFilter {
                name: Some("a".to_owned()),
                ..RunFilter::default()
            },
            RunFilter {
                outcome: Some(Some(OutcomeKind::Failed)),
                ..RunFilter::default()
            },
            RunFilter {
                outcome: Some(None),
                ..RunFilter::default()
            },
            RunFilter {
                prompt: Some("p".to_owned()),
                ..RunFilter::default()
            },
            RunFilter {
                since: Some(5),
                ..RunFilter::default()
            },
        ];
        for filter in filters {
            let (sql, values) = page_query(&filter, Some(&after), 50);
            let mut statement = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .expect("a plan");
            let plan: Vec<String> = statement
                .query_map(params_from_iter(&values), |row| row.get(3))
                .expect("a plan")
                .collect::<rusqlite::Result<_>>()
                .expect("a plan");
            let steps = ["USING INDEX", "MERGE", "LEFT", "RIGHT"];
            let is_cheap = |line: &String| steps.iter().any(|step| line.contains(step));
            assert!(plan.iter().all(is_cheap), "{filter:?}: {plan:?}");
        }
    }
}
