//! What a reply says of itself: its model, token counts, timings and metrics. A fault here never fails the round
//! (book: Infer event order).

use runvil_engine::Usage;
use serde_json::{Map, Value};

/// A fault in a reply's metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    /// No model is named, so the round goes by the name that the request gave.
    #[error("completion response named no string `model`; labeled with the requested model")]
    NoModel,
    /// A section that is not an object.
    #[error("completion response `{0}` was not an object; ignored")]
    Section(&'static str),
    /// A token count that is no whole number.
    #[error("completion response `usage.{0}` was not a whole number; left unknown")]
    Count(&'static str),
}

/// The sections that the metrics are made of, in the order in which problems with them are told.
const SECTIONS: [&str; 3] = ["usage", "timings", "metrics"];

/// The metadata of a reply while it arrives. A later section replaces an earlier one: some servers count on in each
/// chunk.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    named_model: bool,
    sections: [Option<Value>; SECTIONS.len()],
}

/// The metadata of a whole reply.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) usage: Option<Usage>,
    pub(super) metrics: Option<Value>,
    pub(super) problems: Vec<String>,
}

impl Metadata {
    /// Takes the metadata out of a chunk or document.
    pub(super) fn take(&mut self, from: &mut Map<String, Value>) {
        self.named_model |= from
            .get("model")
            .and_then(Value::as_str)
            .is_some_and(|model| !model.is_empty());
        for (name, section) in SECTIONS.iter().zip(&mut self.sections) {
            match from.remove(*name) {
                None | Some(Value::Null) => {}
                told => *section = told,
            }
        }
    }

    /// Reads what was told.
    pub(super) fn finish(self) -> Told {
        let mut problems = Vec::new();
        let mut metrics = Map::new();
        if !self.named_model {
            problems.push(Problem::NoModel);
        }
        let mut usage = None;
        for (name, section) in SECTIONS.into_iter().zip(self.sections) {
            match section {
                None => {}
                Some(Value::Object(section)) => {
                    if name == "usage" {
                        usage = Some(read_usage(&section, &mut problems));
                    }
                    metrics.insert(name.to_owned(), Value::Object(section));
                }
                Some(_) => problems.push(Problem::Section(name)),
            }
        }
        Told {
            usage,
            metrics: (!metrics.is_empty()).then_some(Value::Object(metrics)),
            problems: problems.iter().map(ToString::to_string).collect(),
        }
    }
}

fn read_usage(section: &Map<String, Value>, problems: &mut Vec<Problem>) -> Usage {
    let mut count = |name: &'static str, value: Option<&Value>| match value {
        None | Some(Value::Null) => None,
        Some(value) => whole(value).or_else(|| {
            problems.push(Problem::Count(name));
            None
        }),
    };
    let prompt_tokens = count("prompt_tokens", section.get("prompt_tokens"));
    let completion_tokens = count("completion_tokens", section.get("completion_tokens"));
    let details = section.get("completion_tokens_details").and_then(Value::as_object);
    let reasoning = details.and_then(|details| details.get("reasoning_tokens"));
    let reasoning_tokens = count("completion_tokens_details.reasoning_tokens", reasoning);
    let usage = Usage {
        prompt_tokens,
        completion_tokens,
        reasoning_tokens,
    };
    with_reasoning_counted(usage, section.get("total_tokens").and_then(whole))
}

/// Counts reasoning in with the completion for a server that counts it beside: its total tells.
fn with_reasoning_counted(mut usage: Usage, total: Option<u64>) -> Usage {
    if let (Some(prompt), Some(completion), Some(reasoning), Some(total)) = (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        total,
    ) && let Some(output) = completion.checked_add(reasoning)
        && prompt.checked_add(output) == Some(total)
    {
        usage.completion_tokens = Some(output);
    }
    usage
}

/// A whole number of tokens; some servers write one as `12.0`.
fn whole(value: &Value) -> Option<u64> {
    /// Above this not every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let float = value
            .as_f64()
            .filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        Some(float as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(chunks: impl IntoIterator<Item = Value>) -> Told {
        let mut metadata = Metadata::default();
        for chunk in chunks {
            let Value::Object(mut chunk) = chunk else {
                panic!("a chunk is an object")
            };
            metadata.take(&mut chunk);
        }
        metadata.finish()
    }

    fn usage(section: &Value) -> (Usage, Vec<String>) {
        let told = told([json!({ "model": "m", "usage": section })]);
        (told.usage.expect("usage is told"), told.problems)
    }

    #[test]
    fn a_reply_that_names_no_model_says_so_once() {
        let problem = "completion response named no string `model`; labeled with the requested model";
        for chunk in [
            json!({}),
            json!({ "model": null }),
            json!({ "model": 5 }),
            json!({ "model": "" }),
        ] {
            assert_eq!(told([chunk.clone(), chunk]).problems, [problem]);
        }
        assert!(
            told([json!({}), json!({ "model": "m" }), json!({})])
                .problems
                .is_empty()
        );
    }

    #[test]
    fn what_a_server_leaves_out_is_unknown() {
        assert_eq!(told([json!({ "model": "m", "usage": null })]), Told::default());
        assert_eq!(usage(&json!({})), (Usage::default(), Vec::new()));
        let (read, problems) = usage(&json!({ "prompt_tokens": 12.0, "completion_tokens": null, "total_tokens": 9 }));
        assert_eq!(
            (read.prompt_tokens, read.completion_tokens, problems.len()),
            (Some(12), None, 0)
        );
    }

    #[test]
    fn the_last_usage_counts_and_metrics_are_passed_on_unchanged() {
        let told = told([
            json!({ "model": "m", "usage": { "prompt_tokens": 1 }, "timings": { "prompt_ms": 0.5 } }),
            json!({ "usage": { "prompt_tokens": 7, "cost": 0.01 }, "metrics": { "ttft": 2 } }),
        ]);
        assert_eq!(told.usage.and_then(|usage| usage.prompt_tokens), Some(7));
        let metrics = json!({
            "usage": { "prompt_tokens": 7, "cost": 0.01 }, "timings": { "prompt_ms": 0.5 }, "metrics": { "ttft": 2 },
        });
        assert_eq!(told.metrics, Some(metrics));
    }

    #[test]
    fn a_malformed_section_is_one_problem_and_no_metric() {
        let told = told([json!({ "usage": [1], "timings": "fast", "metrics": 5 })]);
        let expected = [
            "completion response named no string `model`; labeled with the requested model",
            "completion response `usage` was not an object; ignored",
            "completion response `timings` was not an object; ignored",
            "completion response `metrics` was not an object; ignored",
        ];
        assert_eq!(
            (told.usage, told.metrics, told.problems),
            (None, None, expected.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn a_malformed_count_is_unknown_and_the_others_stay() {
        for bad in [json!(-1), json!(1.5), json!("12"), json!(1e300), json!([])] {
            let (read, problems) = usage(&json!({ "prompt_tokens": bad, "completion_tokens": 5 }));
            assert_eq!((read.prompt_tokens, read.completion_tokens), (None, Some(5)));
            assert_eq!(
                problems,
                ["completion response `usage.prompt_tokens` was not a whole number; left unknown"]
            );
        }
    }

    #[test]
    fn reasoning_counted_beside_the_completion_is_counted_in() {
        let section = |total: u64| {
            json!({
                "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": total,
                "completion_tokens_details": { "reasoning_tokens": 94 },
            })
        };
        assert_eq!(usage(&section(135)).0.completion_tokens, Some(103));
        assert_eq!(usage(&section(41)).0.completion_tokens, Some(9));
        assert_eq!(usage(&section(135)).0.reasoning_tokens, Some(94));
    }
}
