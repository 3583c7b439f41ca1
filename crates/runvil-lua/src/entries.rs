//! A table's entries in the fixed order of keys, for the driver.

use mlua::{Table, Value};

use crate::order::SortKey;

/// The keys and values that a table itself holds, in the order in which `pairs` visits them (book: Deterministic table
/// iteration). Metamethods play no part.
///
/// # Errors
///
/// A Lua memory error.
pub fn ordered_pairs(table: &Table) -> mlua::Result<Vec<(Value, Value)>> {
    let entries = table.pairs::<Value, Value>().collect::<mlua::Result<Vec<_>>>()?;
    let border = i64::try_from(table.raw_len()).unwrap_or(i64::MAX);
    let texts: Vec<_> = entries
        .iter()
        .map(|(key, _)| key.as_string().map(mlua::LuaString::as_bytes))
        .collect();
    let mut order: Vec<_> = entries
        .iter()
        .zip(&texts)
        .enumerate()
        .map(|(position, ((key, _), text))| {
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            match (key, text) {
                (Value::Boolean(value), _) => SortKey::boolean(*value, position),
                (Value::Integer(value), _) if (1..=border).contains(value) => SortKey::array(*value, position),
                (Value::Integer(value), _) => SortKey::integer(*value, position),
                (Value::Number(value), _) => SortKey::float(*value, true, position),
                (_, Some(text)) => SortKey::text(text, true, position),
                _ => SortKey::other(position),
            }
        })
        .collect();
    order.sort_unstable();
    Ok(order.iter().map(|key| entries[key.position as usize].clone()).collect())
}
