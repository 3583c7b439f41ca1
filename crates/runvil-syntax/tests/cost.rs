//! Texts that make a careless parser slow: each is parsed, however long that takes. A parser that is not linear hangs here.

use runvil_syntax::parse_structure;

const SIZE: usize = 200_000;

fn parse(body: &str) {
    let text = format!("---\nname: p\ndescription: d\n---\n# T\n{body}");
    assert!(parse_structure(text.as_bytes()).is_ok(), "{}", &body[..40]);
}

#[test]
fn deeply_nested_containers_with_lazy_lines() {
    for marker in [">", "> ", "- ", "1) ", "> - ", "-\t"] {
        parse(&(marker.repeat(SIZE / 2 / marker.len()) + "a\n" + &"b\n".repeat(SIZE / 4)));
    }
}

#[test]
fn containers_that_nest_line_by_line() {
    let depth = SIZE.isqrt();
    let stairs: String = (0..depth).map(|step| "  ".repeat(step / 2) + "- a\n").collect();
    parse(&(stairs + &"b\n".repeat(SIZE / 4)));
}

#[test]
fn unclosed_inline_markup() {
    for piece in [
        "[", "![", "[a](", "[a][", "*a _b ", "<", "<a b='", "`` ` ", "&", "<!-- ", "\\",
    ] {
        parse(&piece.repeat(SIZE / piece.len()));
    }
}

#[test]
fn many_small_blocks() {
    let list = "- a\n".repeat(SIZE / 4);
    parse(&format!("## L\n{list}"));
    parse(&"a\n\n---\n\n".repeat(SIZE / 8));
    let fences = "```lua\n```\n".repeat(SIZE / 11);
    parse(&fences);
    parse(&format!("## S\n{fences}"));
    parse(&(0..SIZE / 8).map(|number| format!("## {number}\n")).collect::<String>());
}

#[test]
fn one_long_line() {
    parse(&"word ".repeat(SIZE / 5));
    parse(&("## ".to_owned() + &"a".repeat(SIZE)));
    parse(&(" ".repeat(SIZE) + "\n"));
}
