//! Answers in any order give the same run, for each prompt whose result does not hang on who ends first (book: Races,
//! claims, and determinism).

use std::fmt::Write as _;

use runvil_testkit::{RunOptions, Verdict, run_paths};

/// A name, the prompt's body, the Host's replies, and what comes out: the result and a file of the store.
const PROMPTS: [(&str, &str, &str, &str); 5] = [
    (
        "arms",
        "## A\n```lua\nmodels.use('m')\nlocal r = tasks.fanout('### W', { 'a', 'b', 'c', 'd' })\nlocal t = {}\nfor i = 1, #r do \
         t[i] = r[i].text end\nreturn table.concat(t, ' ')\n```\n### W\n```lua\nmodels.use('m')\nstore.write(item .. '.md', item)\n\
         return models.infer(item .. '?') .. tools.call('kit/echo', { n = sys.index })\n```\n",
        "a1{\"n\":1} b1{\"n\":2} c1{\"n\":3} d1{\"n\":4}",
        "c.md: c",
    ),
    (
        "joins",
        "## A\n```lua\nlocal set = {}\nfor i = 1, 6 do set[i] = tasks.spawn('### W', { index = i, item = 'x' .. i }) end\n\
         local t = {}\nfor i, one in ipairs(tasks.join(set)) do t[i] = one.result end\nreturn table.concat(t, ',')\n```\n### W\n```lua\n\
         store.append(item .. '.md', item)\nreturn tools.call('kit/echo', { i = item })\n```\n",
        "{\"i\":\"x1\"},{\"i\":\"x2\"},{\"i\":\"x3\"},{\"i\":\"x4\"},{\"i\":\"x5\"},{\"i\":\"x6\"}",
        "x4.md: x4",
    ),
    (
        "nested",
        "## A\n```lua\nlocal r = tasks.fanout('### Outer', { 1, 2, 3 })\nlocal n = 0\nfor i = 1, #r do n = n + tonumber(r[i].text) end\n\
         store.write('sum.md', tostring(n))\nreturn n\n```\n### Outer\n```lua\nlocal r = tasks.fanout('#### Inner', { item, item * 10 })\n\
         return r[1].text + r[2].text\n```\n#### Inner\n```lua\ntools.call('kit/echo')\nreturn item\n```\n",
        "66",
        "sum.md: '66'",
    ),
    (
        "batch",
        "## A\n```lua\nmodels.use('m')\ntools.offer('kit/echo')\nmessages:user('batch')\nmodels.loop()\nlocal t = {}\n\
         for i = 3, 5 do t[#t + 1] = messages[i].content end\nstore.write('n.md', tostring(#messages))\nreturn table.concat(t, ' ')\n```\n",
        "{\"k\":1} {\"k\":2} {\"k\":3}",
        "n.md: '6'",
    ),
    (
        "one-file-after-the-other",
        "## A\n```lua\nlocal a = tasks.spawn('### W', { item = 'one' })\ntasks.join({ a })\nlocal b = tasks.spawn('### W', { item = 'two' })\n\
         tasks.join({ b })\nreturn store.read('log.md')\n```\n### W\n```lua\nstore.append('log.md', item .. ' ')\ntools.call('kit/echo')\n\
         return 'x'\n```\n",
        "one two ",
        "log.md: 'one two '",
    ),
];

const REPLIES: &str = "
    replies:
    - {when: {contains: 'a?'}, text: a1}
    - {when: {contains: 'b?'}, text: b1}
    - {when: {contains: 'c?'}, text: c1}
    - {when: {contains: 'd?'}, text: d1}
    - when: {contains: batch}
      tool_calls:
      - {id: c1, name: kit_echo, arguments: {k: 1}}
      - {id: c2, name: kit_echo, arguments: {k: 2}}
      - {id: c3, name: kit_echo, arguments: {k: 3}}
    - text: done
";

/// The suite that runs every prompt in one order of answers.
fn suite(order: &str, place: usize) -> String {
    let mut text = String::new();
    for (name, body, result, file) in PROMPTS {
        let head = "---\nname: t\ndescription: d\nrunvil: 0\nuses: [acme/kit]\nmodels:\n  m: {}\n---\n# T\n";
        let prompt = format!("{head}{body}").replace('\n', "\n    ");
        let result = serde_json::Value::from(result);
        write!(
            text,
            "- id: {name}/order-{place}\n  spec: s\n  rule: r\n  prompt: |\n    {prompt}\n  host:\n    answers: {order}\n    \
             packs:\n      acme/kit:\n        tools:\n          echo: {{description: Echoes., parameters: {{type: object}}, \
             echoes: true}}{REPLIES}  expect:\n    result: {result}\n    store: {{{file}}}\n\n"
        )
        .expect("text is written to memory");
    }
    text
}

#[test]
fn every_order_of_answers_gives_the_same_result_and_files() {
    let orders = ["issued", "newest", "together"].map(str::to_owned).into_iter();
    let shuffled = (0..40).map(|seed| format!("{{shuffled: {seed}}}"));
    let folder = tempfile::tempdir().expect("a folder for the cases");
    for (place, order) in orders.chain(shuffled).enumerate() {
        let path = folder.path().join(format!("{place}.yaml"));
        std::fs::write(&path, suite(&order, place)).expect("the cases are written");
    }
    let report = run_paths(&[folder.path()], &RunOptions::default());
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    assert_eq!(report.cases.len(), PROMPTS.len() * 43);
    for case in report.cases {
        assert_eq!(case.verdict, Verdict::Passed, "{}", case.id);
    }
}
