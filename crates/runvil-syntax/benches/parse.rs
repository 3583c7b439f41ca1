//! What a parse costs, beside reading the same file line by line.

use std::fmt::Write;
use std::io::{BufRead, BufReader};

use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// A prompt of about 1 MB: 2,000 sections with prose, lists, quotes and two Lua blocks each.
fn large_prompt() -> String {
    let mut text = "---\nname: large\ndescription: d\nrunvil: 0\n---\n\n# Large\n".to_owned();
    for number in 0..2000 {
        write!(
            text,
            "\n## Section {number}\n\n\
             ```lua\nvar.step = {number}\nlocal total = 0\nfor i = 1, 10 do\n  total = total + i\nend\nvar.total = total\n```\n\n\
             Summarize *step* {{{{ var.step }}}} in one paragraph, with `code` where it helps the reader.\n\
             Keep to what the notes below say, and name the total {{{{ var.total }}}} at the end.\n\n\
             - first point, short\n- second point, a little longer than the first\n\n\
             > quoted text that the model should keep\n\n\
             ```lua\nlocal reply = models.infer(prose)\nreturn reply\n```\n"
        )
        .expect("writing to a string succeeds");
    }
    text
}

#[divan::bench]
fn parse(bencher: Bencher<'_, '_>) {
    let text = large_prompt();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| runvil_syntax::parse_structure(black_box(text.as_bytes())).expect("the prompt parses"));
}

#[divan::bench]
fn read_line_by_line(bencher: Bencher<'_, '_>) {
    let text = large_prompt();
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| {
        let lines = BufReader::new(black_box(text.as_bytes())).lines();
        lines.map(|line| line.expect("the text is UTF-8").len()).sum::<usize>()
    });
}
