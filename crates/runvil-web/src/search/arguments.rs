//! The arguments of a search call (book: Search argument rules and search errors).

use runvil_pack::{Arguments, SearchRequest};
use serde_json::Value;

/// The most characters of a query.
pub(super) const QUERY_MAXIMUM: usize = 400;
/// The most results that a call may ask for.
pub(super) const COUNT_MAXIMUM: u64 = 20;
/// The most characters of a country, a language or a hostname.
pub(super) const CODE_MAXIMUM: usize = 128;
/// The most hostnames in a list.
pub(super) const DOMAINS_MAXIMUM: usize = 20;

/// Why a call's arguments are refused. Its `Display` is the message that the book fixes, without the tool's prefix.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("invalid arguments")]
    Parse(#[source] serde_json::Error),
    #[error("query must not be empty")]
    EmptyQuery,
    #[error("query exceeds {QUERY_MAXIMUM} characters")]
    LongQuery,
    #[error("count must be between 1 and {COUNT_MAXIMUM}")]
    Count,
    #[error("{0} must be 1..={CODE_MAXIMUM} characters")]
    Code(&'static str),
    #[error("{0} may list at most {DOMAINS_MAXIMUM} hostnames")]
    ManyDomains(&'static str),
    #[error("{0} contains an invalid hostname")]
    Hostname(&'static str),
}

/// Parses the arguments, then checks their bounds, and reports the first failure.
pub(super) fn parse(arguments: Arguments) -> Result<SearchRequest, ArgumentError> {
    let request: SearchRequest = serde_json::from_value(Value::Object(arguments)).map_err(ArgumentError::Parse)?;
    check_query(&request.query)?;
    if request.count.is_some_and(|count| !(1..=COUNT_MAXIMUM).contains(&count)) {
        return Err(ArgumentError::Count);
    }
    check_code("country", request.country.as_deref())?;
    check_code("search_lang", request.search_lang.as_deref())?;
    check_domains("include_domains", &request.include_domains)?;
    check_domains("exclude_domains", &request.exclude_domains)?;
    Ok(request)
}

fn check_query(query: &str) -> Result<(), ArgumentError> {
    if is_blank(query) {
        return Err(ArgumentError::EmptyQuery);
    }
    if query.chars().count() > QUERY_MAXIMUM {
        return Err(ArgumentError::LongQuery);
    }
    Ok(())
}

fn check_code(name: &'static str, code: Option<&str>) -> Result<(), ArgumentError> {
    match code {
        Some(code) if is_blank(code) || code.chars().count() > CODE_MAXIMUM => Err(ArgumentError::Code(name)),
        _ => Ok(()),
    }
}

fn check_domains(name: &'static str, domains: &[String]) -> Result<(), ArgumentError> {
    if domains.len() > DOMAINS_MAXIMUM {
        return Err(ArgumentError::ManyDomains(name));
    }
    if domains.iter().all(|domain| is_hostname(domain)) {
        Ok(())
    } else {
        Err(ArgumentError::Hostname(name))
    }
}

/// Whether a list entry is a bare hostname: nothing of a URL, and nothing that is not visible.
fn is_hostname(text: &str) -> bool {
    let foreign = |character: char| character == '/' || character.is_whitespace() || character.is_control();
    !text.is_empty() && text.chars().count() <= CODE_MAXIMUM && !text.contains(foreign)
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

#[cfg(test)]
mod tests;
