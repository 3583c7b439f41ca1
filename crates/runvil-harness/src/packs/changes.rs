//! In what the Packs that are there differ from those that a run was prepared with.

use runvil_engine::{PackEntry, PackSnapshot, ToolEntry};

/// Each difference as a sentence. A tool that is there no more is told where the run is refused for it.
pub(crate) fn changes(was: &PackSnapshot, is: &PackSnapshot) -> Vec<String> {
    let mut changes = Vec::new();
    for was in &was.packs {
        match is.packs.iter().find(|is| is.id == was.id) {
            Some(is) => pack(&mut changes, was, is),
            None => changes.push(format!("the Pack {} is there no more", was.id)),
        }
    }
    let news = is.packs.iter().filter(|is| was.packs.iter().all(|was| was.id != is.id));
    changes.extend(news.map(|is| format!("the Pack {} is new", is.id)));
    changes
}

fn pack(changes: &mut Vec<String>, was: &PackEntry, is: &PackEntry) {
    let id = &was.id;
    match (&was.unavailable, &is.unavailable) {
        (None, Some(why)) => changes.push(format!("the Pack {id} was ready and is not now: {why}")),
        (Some(_), None) => changes.push(format!("the Pack {id} was not ready and is now")),
        _ => {}
    }
    if was.prelude != is.prelude {
        changes.push(format!("the Lua of the Pack {id} has changed"));
    }
    for tool in &was.tools {
        if let Some(now) = is.tools.iter().find(|now| now.id == tool.id) {
            changes.extend(tool_change(tool, now));
        }
    }
    let news = is.tools.iter().filter(|is| was.tools.iter().all(|was| was.id != is.id));
    changes.extend(news.map(|is| format!("the tool {} is new", is.id)));
}

fn tool_change(was: &ToolEntry, is: &ToolEntry) -> Option<String> {
    let parts = [
        ("description", was.description != is.description),
        ("parameters", was.parameters != is.parameters),
        ("kind of output", was.structured != is.structured),
        ("bearing in a stop", was.survives_stop != is.survives_stop),
    ];
    let changed: Vec<&str> = parts
        .iter()
        .filter(|(_, differs)| *differs)
        .map(|(part, _)| *part)
        .collect();
    (!changed.is_empty()).then(|| format!("the tool {} has another {} now", was.id, changed.join(" and another ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(id: &str, description: &str) -> ToolEntry {
        ToolEntry {
            id: id.to_owned(),
            description: description.to_owned(),
            parameters: json!({}),
            structured: false,
            survives_stop: false,
        }
    }

    fn packs(tools: Vec<ToolEntry>) -> PackSnapshot {
        PackSnapshot {
            packs: vec![PackEntry {
                id: "kit".to_owned(),
                declared: true,
                unavailable: None,
                prelude: None,
                tools,
            }],
        }
    }

    #[test]
    fn a_tool_that_changed_is_told_with_what_changed() {
        let was = packs(vec![tool("kit/a", "one"), tool("kit/gone", "")]);
        assert_eq!(changes(&was, &was), [""; 0]);
        let is = packs(vec![tool("kit/a", "two"), tool("kit/new", "")]);
        assert_eq!(
            changes(&was, &is),
            ["the tool kit/a has another description now", "the tool kit/new is new"]
        );
        assert_eq!(
            changes(&was, &PackSnapshot::default()),
            ["the Pack kit is there no more"]
        );
    }
}
