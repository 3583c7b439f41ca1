//! The pattern functions answer as Lua's own do.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

mod common;

use common::{run, text};
use mlua::{Lua, LuaOptions, MultiValue, StdLib};

/// Runs the source here and in bare Lua, and compares.
fn same(source: &str) {
    let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::new()).unwrap();
    let values: MultiValue = lua.load(source).set_name("line 10").eval().unwrap();
    let expected: Vec<String> = values.iter().map(text).collect();
    assert_eq!(run(source), expected, "{source}");
}

#[test]
fn fixed_cases() {
    for call in [
        "find('hello world', 'o w')",
        "find('hello', '')",
        "find('hello', '', 6)",
        "find('hello', '', 7)",
        "find('hello', 'l', -2)",
        "find('hello', 'l', -200)",
        "find('a.b', '.', 1, true)",
        "find('a.b', '%.')",
        "find('a\\0b', '\\0')",
        "find('a\\0b', '%z')",
        "find('abc', 'b', nil, true)",
        "find('', '^$')",
        "find('aXb', '%u')",
        "find('aXb', '%U+')",
        "find(' \\t\\v\\f\\r\\n', '^%s*$')",
        "find('key = value', '^(%w+)%s*=%s*(%w+)$')",
        "find(12345, 34)",
        "match('2024-02-29', '(%d+)-(%d+)-(%d+)')",
        "match('hello', '()ll()')",
        "match('hello', '(h)(e)(l)%3')",
        "match('abab', '(ab)%1')",
        "match('THE (quick) fox', '%((%a+)%)')",
        "match('f(a(b)c)d', '%b()')",
        "match('f(a(b)c)d', '%bxx')",
        "match('THE (quick) fox', '%f[%a]%a+', 5)",
        "match('x', '%f[^%z]')",
        "match('[[]]', '[]]+')",
        "match('a-z', '[a%-z]+')",
        "match('^a', '[%^a]+')",
        "match('a^', '[a^]+')",
        "match('x]y', '[^]]+')",
        "match('aaab', 'a-b')",
        "match('aaa', 'a-$')",
        "match('äö', '[\\128-\\255]+')",
        "match('a$b', 'a$b')",
        "match('abc', '.-c')",
        "match('abc', 'x?abc')",
        "gsub('hello world', 'o', '0')",
        "gsub('hello world', '', '-')",
        "gsub('hello', 'l', { l = 'L' })",
        "gsub('hello', '(l)(l)', '%2%1%0%%')",
        "gsub('hello', '.', function(c) if c == 'l' then return false end return c:upper() end)",
        "gsub('abc', '%w', '%0%0', 2)",
        "gsub('abc', '^%w', '')",
        "gsub('abc', 'b*', '-')",
        "gsub('abc', '()', '%1')",
        "gsub('abc', 'x', 'y')",
        "gsub('abc', '.', 7)",
        "gsub('abc', '.', { a = 1, b = true })",
        "gsub('abc', '.', {})",
        "gsub('abc', 'b', '%')",
        "gsub('abc', 'b', '%x')",
        "gsub('abc', 'b', '%2')",
        "gsub('abc', '(b)', '%2')",
        "gsub('abc', 'b', function() return {} end)",
        "gsub('abc', 'b', { b = function() end })",
        "gsub('abc', 'b')",
        "gsub('abc', 'b', true)",
        "gsub('abc', 'b', 'x', 'y')",
        "gsub(nil, 'b', 'x')",
        "find('a', '%')",
        "find('a', '[a')",
        "find('a', '[]')",
        "find('a', '[%')",
        "find('a', '(a')",
        "find('a', 'a)')",
        "find('a', '%1')",
        "find('a', '(%1)')",
        "find('a', '()%1')",
        "find('a', '%0')",
        "find('a', '%b')",
        "find('a', '%ba')",
        "find('a', '%f')",
        "find('a', ('()'):rep(33))",
        "find('a', ('('):rep(200))",
        "find(('a'):rep(300), ('a?'):rep(300) .. 'b')",
        "find({}, 'a')",
        "find('a', 'a', {})",
        "gmatch('a', 'a', {})",
        "gmatch('a')",
    ] {
        same(&format!("return pcall(string.{}", call.replacen('(', ", ", 1)));
        same(&format!("return select(2, pcall(function() return string.{call} end))"));
    }
}

#[test]
fn iterations() {
    for arguments in [
        "'one two three', '%a+'",
        "'k=v, a=b', '(%w+)=(%w+)'",
        "'abc', ''",
        "'abc', '()'",
        "'abc', 'x*'",
        "'aaa', '^a'",
        "'hello', 'l', 4",
        "'hello', 'l', -2",
        "'hello', 'l', 10",
        "'hello', '.', -100",
        "'abcabc', '(a)(b)'",
    ] {
        same(&format!(
            "local out = {{}} for a, b in string.gmatch({arguments}) do out[#out + 1] = tostring(a) .. ':' .. tostring(b) end return table.concat(out, ' ')"
        ));
    }
    same("local f = string.gmatch('ab', '.') return f(), f(), f(), f()");
    same("return ('x'):gmatch('x')()");
}

#[test]
fn random_patterns() {
    let pieces = [
        "a", "b", "c", ".", "%a", "%d", "%s", "%w", "%S", "%%", "[ab]", "[^a]", "[a-c]", "[%d%-]", "[^%s]", "(", ")",
        "()", "%1", "%2", "*", "+", "-", "?", "^", "$", "%b()", "%f[%w]", "%f[%s]", " ", "1", "\\0", "[", "]", "%",
    ];
    let subjects = [
        "",
        "a",
        "abc abc",
        "aaabbbccc",
        "a1 b2 (c(3)) ab",
        "  x  ",
        "((a)b)",
        "ab\\0ab",
        "cba%-^$",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut calls = Vec::new();
    for _ in 0..3000 {
        let length = 1 + draw(7);
        let pattern: String = (0..length).map(|_| pieces[draw(pieces.len())]).collect();
        let subject = subjects[draw(subjects.len())];
        let start = draw(9) as i64 - 3;
        calls.push(format!("t('{subject}', '{pattern}', {start})"));
    }
    let source = format!(
        "local out = {{}}
        local function show(...) local n = select('#', ...) for i = 1, n do out[#out + 1] = tostring((select(i, ...))) end out[#out + 1] = ';' end
        local function t(s, p, i)
          show(pcall(string.find, s, p, i)) show(pcall(string.match, s, p, i)) show(pcall(string.gsub, s, p, '<%0>'))
          show(pcall(string.gsub, s, p, function(...) return table.concat({{ ... }}, '|') end, 3))
          show(pcall(function() for a, b in string.gmatch(s, p, i) do out[#out + 1] = tostring(a) .. tostring(b) end end))
        end
        {}
        local sum = 0
        local all = table.concat(out, ',')
        for k = 1, #all do sum = (sum * 31 + all:byte(k)) % 1000000007 end
        return sum, #all",
        calls.join("\n")
    );
    same(&source);
}
