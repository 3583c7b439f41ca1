//! `pairs` and `next`: the fixed key order.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

mod common;

use common::run;

/// The keys that a walk visits, and that both ways of walking agree.
fn keys(table: &str) -> String {
    let walk = |how: &str| {
        run(&format!(
            "local seen = {{}} for k, v in {how} do assert(v ~= nil) seen[#seen + 1] = tostring(k) end return table.concat(seen, ' ')"
        ))
        .remove(0)
    };
    let by_pairs = walk(&format!("pairs({table})"));
    assert_eq!(walk(&format!("next, {table}")), by_pairs, "{table}");
    by_pairs
}

#[test]
fn array_part_then_booleans_numbers_and_strings() {
    for (table, expected) in [
        ("{ zeta = 1, alpha = 2, mid = 3, beta = 4 }", "alpha beta mid zeta"),
        ("{ 'a', 'b', z = 1, [true] = 2, [10] = 3 }", "1 2 true 10 z"),
        ("{ [true] = 1, 'x' }", "1 true"),
        ("{ 10, 20, [false] = 'f', [true] = 't' }", "1 2 false true"),
        ("{ [false] = 'b', [3] = 'c', [7] = 'y' }", "false 3 7"),
        (
            "{ [true] = 't', [7] = 's', b = 'b', [false] = 'f', [2.5] = 'h', a = 'a' }",
            "false true 2.5 7 a b",
        ),
        (
            "{ [1.5] = 1, 'x', 'y', [0] = 1, [-1] = 1, [-0.5] = 1, [-1.5] = 1 }",
            "1 2 -1.5 -1 -0.5 0 1.5",
        ),
        (
            "{ [math.maxinteger] = 1, [2^63] = 1, [1e300] = 1, [-1e300] = 1, [math.mininteger] = 1 }",
            "-1e+300 -9223372036854775808 9223372036854775807 9.2233720368547758e+18 1e+300",
        ),
        (
            "{ Z = 1, a = 1, ['10'] = 1, ['9'] = 1, ab = 1, b = 1, B = 1 }",
            "10 9 B Z a ab b",
        ),
        (
            "{ [math.huge] = 1, [-math.huge] = 1, ['\\255'] = 1, z = 1, [1.5] = 1 }",
            "1.5 z -inf inf \u{fffd}",
        ),
        ("{}", ""),
    ] {
        assert_eq!(keys(table), expected, "{table}");
    }
}

#[test]
fn keys_that_are_no_scalars_come_last_and_all_of_them() {
    let source = "local t = { a = 1 } for i = 1, 20 do t[{}] = i t[function() end] = i end
        local seen, first = 0
        for k in pairs(t) do first = first or k seen = seen + 1 end
        local again = 0
        for k in next, t do again = again + 1 end
        return first, seen, again";
    assert_eq!(run(source), ["a", "41", "41"]);
}

#[test]
fn a_hole_below_the_border_is_skipped() {
    for table in ["{ 1, nil, 3 }", "{ nil, nil, 3, x = 1 }", "{ 1, 2, nil, 4, nil }"] {
        let source = format!(
            "local n = 0 for k, v in pairs({table}) do assert(v ~= nil) n = n + 1 end
            local m = 0 for k, v in next, {table} do assert(v ~= nil) m = m + 1 end return n == m and n"
        );
        assert_ne!(run(&source), ["false"], "{table}");
    }
}

#[test]
fn pairs_returns_iterator_table_and_nil_and_keeps_its_own_place() {
    let source = "local t = { a = 1, b = 2 } local f, s, i = pairs(t)
        local k1 = f('ignored') local k2 = f() local a, b = f() local n = select('#', f())
        return s == t, i, k1, k2, a, b, n";
    assert_eq!(run(source), ["true", "nil", "a", "b", "nil", "nil", "2"]);
}

#[test]
fn pairs_sees_the_keys_of_its_start_and_the_values_of_the_moment() {
    let source = "local t = { a = 1, b = 2, c = 3 } local seen = {}
        for k, v in pairs(t) do seen[#seen + 1] = k .. v if k == 'a' then t.b = nil t.c = 9 t.d = 4 t[1] = 5 end end
        return table.concat(seen, ' ')";
    assert_eq!(run(source), ["a1 c9"]);
}

#[test]
fn clearing_while_walking_loses_no_key() {
    let source = "local out = {}
        for _, t in ipairs({ { 10, 20, [false] = 'f', [true] = 't' }, { a = 1, b = 2, c = 3 } }) do
          for k in pairs(t) do out[#out + 1] = tostring(k) t[k] = nil end
        end
        for _, t in ipairs({ { 10, 20, [false] = 'f' }, { 10, [false] = 'f' } }) do
          for k in next, t do out[#out + 1] = tostring(k) t[k] = nil end
        end
        local t = { 10, 20, [false] = 'f', [true] = 't' }
        for k in next, t do out[#out + 1] = tostring(k) if type(k) == 'boolean' then t[k] = nil end end
        return table.concat(out, ' ')";
    assert_eq!(run(source), ["1 2 false true a b c 1 2 false 1 false 1 2 false true"]);
}

#[test]
fn a_cleared_hash_integer_resumes_as_if_in_the_array_part() {
    let source = "local t, out = { [false] = 'b', [3] = 'c', [7] = 'y' }, {}
        for k in next, t do out[#out + 1] = tostring(k) if k == 7 then t[7] = nil end end
        return table.concat(out, ' ')";
    assert_eq!(run(source), ["false 3 7 false 3"]);
}

#[test]
fn clearing_table_keys_in_a_next_walk_visits_all() {
    let source = "local t, n = { a = 1 }, 0 for i = 1, 8 do t[{}] = i end
        for k in next, t do n = n + 1 t[k] = nil end return n, next(t)";
    assert_eq!(run(source), ["9", "nil"]);
}

#[test]
fn next_from_an_absent_key_resumes_after_its_place() {
    let source = "return next({ a = 1, m = 2, z = 3 }, 'c'), (next({ [1.5] = 1, [4] = 2, x = 3 }, 2.5)),
        (next({ x = 1, [7] = 2 }, true)), (next({ a = 1 }, 'zz')), (next({ 5, 6 }, 1.0)), (next({ 5, 6 }, 9)),
        select('#', next({ a = 1 }, 'a')), select('#', next({}))";
    assert_eq!(run(source), ["m", "4", "7", "nil", "2", "nil", "2", "1"]);
}

#[test]
fn metamethods_do_not_change_the_walk_but_pairs_does() {
    let source = "local mt = { __index = function() return 1 end, __len = function() return 9 end }
        local n = 0 for _ in pairs(setmetatable({ 1, x = 2 }, mt)) do n = n + 1 end
        local inherited = setmetatable({}, setmetatable({}, { __index = { __pairs = error } }))
        for _ in pairs(inherited) do n = n + 1 end
        return n, pairs(setmetatable({}, { __pairs = function(t) return 1, 2, 3, 4, 5 end }))";
    assert_eq!(run(source), ["2", "1", "2", "3", "4", "5"]);
}

#[test]
fn a_large_table_walks_in_order() {
    let source = "local t = {} for i = 1, 50000 do t['k' .. i * 7919 % 100003] = i end
        local last, n = '', 0 for k in pairs(t) do assert(last < k) last = k n = n + 1 end return n";
    assert_eq!(run(source), ["50000"]);
}
