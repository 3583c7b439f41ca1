//! What walking and converting data costs, each beside a yardstick in the same run.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench that cannot set itself up fails"
)]

use divan::Bencher;
use mlua::{Function, LuaString, Table, Value};
use runvil_lua::{CancelFlag, Vm, VmConfig};

fn main() {
    divan::main();
}

fn vm() -> Vm {
    let config = VmConfig {
        seed: [7; 32],
        memory_bytes: 512 * 1024 * 1024,
        cancel: CancelFlag::new(),
    };
    Vm::new(&config).unwrap()
}

mod keys {
    use super::*;

    const FILL: &str = "local t = {} for i = 1, 100000 do t['key ' .. i * 7919 % 1000003] = i end return t";

    /// `pairs` over the whole table.
    #[divan::bench(sample_count = 20)]
    fn pairs(bencher: Bencher<'_, '_>) {
        walk(
            bencher,
            "local t = ... local n = 0 for k, v in pairs(t) do n = n + v end return n",
        );
    }

    /// The yardstick in Lua: collect, sort into the order that `pairs` has for keys of any type, read.
    #[divan::bench(sample_count = 10)]
    fn ordered_in_lua(bencher: Bencher<'_, '_>) {
        walk(
            bencher,
            "local t = ... local rank = { boolean = 1, number = 2, string = 3 }
            local function before(a, b)
              local ra, rb = rank[type(a)] or 4, rank[type(b)] or 4
              if ra ~= rb then return ra < rb end
              if ra == 1 then return not a and b end
              return ra < 4 and a < b
            end
            local keys = {} for k in raw_next, t do keys[#keys + 1] = k end table.sort(keys, before)
            local n = 0 for i = 1, #keys do n = n + t[keys[i]] end return n",
        );
    }

    /// The least that Lua can do: collect and sort keys that are known to be texts, read.
    #[divan::bench(sample_count = 20)]
    fn sorted_in_lua(bencher: Bencher<'_, '_>) {
        walk(
            bencher,
            "local t = ... local keys = {} for k in raw_next, t do keys[#keys + 1] = k end table.sort(keys)
            local n = 0 for i = 1, #keys do n = n + t[keys[i]] end return n",
        );
    }

    fn walk(bencher: Bencher<'_, '_>, source: &str) {
        let vm = vm();
        let bare = mlua::Lua::new();
        let lua = if source.contains("raw_next") { &bare } else { vm.lua() };
        if source.contains("raw_next") {
            bare.globals()
                .raw_set("raw_next", bare.globals().raw_get::<Value>("next").unwrap())
                .unwrap();
        }
        let table: Table = lua.load(FILL).eval().unwrap();
        let function: Function = lua.load(source).into_function().unwrap();
        bencher.bench_local(|| function.call::<i64>(&table).unwrap());
    }

    /// The yardstick in Rust: collect the keys and sort them.
    #[divan::bench(sample_count = 20)]
    fn sorted_in_rust(bencher: Bencher<'_, '_>) {
        let lua = mlua::Lua::new();
        let table: Table = lua.load(FILL).eval().unwrap();
        bencher.bench_local(|| {
            let mut keys: Vec<(Vec<u8>, i64)> = table
                .pairs::<LuaString, i64>()
                .map(|pair| pair.map(|(key, value)| (key.as_bytes().to_vec(), value)))
                .collect::<mlua::Result<_>>()
                .unwrap();
            keys.sort_unstable();
            keys.iter().map(|(_, value)| value).sum::<i64>()
        });
    }
}

mod json {
    use super::*;

    /// Records of the usual sort, close to 8 MiB of them.
    fn document() -> String {
        let record = r#"{"id":12345,"name":"a name of some length","tags":["one","two","three"],"ratio":0.25,"nested":{"flag":true,"none":null,"text":"line\nbreak"}}"#;
        let count = 8 * 1024 * 1024 / (record.len() + 1) - 1;
        format!("[{}]", vec![record; count].join(","))
    }

    #[divan::bench(sample_count = 10)]
    fn there_and_back_in_lua(bencher: Bencher<'_, '_>) {
        let vm = vm();
        let function: Function = vm
            .lua()
            .load("return #json.encode(json.decode((...)))")
            .into_function()
            .unwrap();
        let text = vm.lua().create_string(document()).unwrap();
        bencher.bench_local(|| function.call::<i64>(&text).unwrap());
    }

    #[divan::bench(sample_count = 10)]
    fn there_and_back_in_rust(bencher: Bencher<'_, '_>) {
        let text = document();
        bencher.bench_local(|| {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            serde_json::to_string(&value).unwrap().len()
        });
    }

    #[divan::bench]
    fn encode_a_small_record(bencher: Bencher<'_, '_>) {
        let vm = vm();
        let function: Function = vm
            .lua()
            .load("local r = { id = 1, name = 'x', tags = { 'a', 'b' } } return function() return json.encode(r) end")
            .eval()
            .unwrap();
        bencher.bench_local(|| function.call::<LuaString>(()).unwrap());
    }
}
