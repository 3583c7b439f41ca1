//! The page on the configuration says what is so: each key is there, each example loads.

use std::collections::BTreeSet;

use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

/// The table of embedded models, whose keys stand below the name of one.
const MODELS: &str = "models";
const MODEL: &str = "models.\"local/NAME\"";

/// The known keys below a table, or the tables themselves, as the parser names them.
fn known(table: Option<&str>) -> Vec<String> {
    let text = match table {
        Some(table) => format!("[{table}]\n_ = 0\n"),
        None => "_ = 0\n".to_owned(),
    };
    let error = toml::from_str::<ConfigFile>(&text).expect_err("no such key");
    let names = error.message().split('`').skip(1).step_by(2);
    names.skip(1).map(str::to_owned).collect()
}

fn all_known() -> BTreeSet<String> {
    let keys = |table: String| {
        let table = if table == MODELS { MODEL.to_owned() } else { table };
        let keys = known(Some(&table));
        keys.into_iter().map(move |key| format!("{table}.{key}"))
    };
    known(None).into_iter().flat_map(keys).collect()
}

/// The keys that a row of a table on the page stands for.
fn described() -> BTreeSet<String> {
    let tables = known(None);
    let key = |line: &str| line.strip_prefix("| `")?.split_once('`').map(|(key, _)| key.to_owned());
    let is_key = |key: &String| {
        key.split_once('.')
            .is_some_and(|(table, _)| tables.iter().any(|t| t == table))
    };
    PAGE.lines().filter_map(key).filter(is_key).collect()
}

fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().expect("an end")).collect()
}

#[test]
fn every_key_has_a_row_and_every_row_is_a_key() {
    assert!(all_known().len() >= 13, "{:?}", all_known());
    assert_eq!(described(), all_known());
}

#[test]
fn every_example_loads() {
    assert!(examples().len() >= 4);
    for example in examples() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join(FILE_NAME), example).expect("a file");
        Config::load_from(directory.path(), None).unwrap_or_else(|fault| unreachable!("{example}{fault}"));
    }
}

#[test]
fn the_whole_file_has_every_key_and_the_built_in_limits() {
    let whole: toml::Table = examples()[0].parse().expect("TOML");
    let keys = whole.iter().flat_map(|(table, keys)| {
        let mut keys = keys.as_table().expect("a table");
        let mut table = table.as_str();
        if table == MODELS {
            keys = keys.values().next().and_then(toml::Value::as_table).expect("a model");
            table = MODEL;
        }
        keys.keys().map(move |key| format!("{table}.{key}"))
    });
    assert_eq!(keys.collect::<BTreeSet<_>>(), all_known());
    let mut limits = Limits::default();
    let file: ConfigFile = toml::from_str(examples()[0]).expect("a configuration");
    file.limits.apply(&mut limits);
    assert_eq!(limits, Limits::default());
}

#[test]
fn the_rows_of_the_limits_tell_the_built_in_values() {
    let limits = serde_json::to_value(Limits::default()).expect("plain data");
    for (name, value) in limits.as_object().expect("an object") {
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `limits.{name}` ")));
        let row = row.unwrap_or_else(|| unreachable!("{name} has no row"));
        assert!(row.contains(&format!("| {value} |")), "{row}");
    }
}

#[test]
fn every_dialect_is_named() {
    for dialect in runvil_model::ThinkingDialect::ALL {
        assert!(PAGE.contains(&format!("`{dialect}`")), "{dialect}");
    }
}
