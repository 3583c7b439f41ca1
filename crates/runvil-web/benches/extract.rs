//! What rendering a page of 1 MB costs, beside what parsing it alone costs. The aim is at most five times as much.

use std::fmt::Write as _;

use divan::Bencher;
use divan::counter::BytesCount;
use dom_query::Document;
use runvil_web::{Url, extract};

fn main() {
    divan::main();
}

/// An article of `size` bytes or a little more, between a menu and a footer.
fn page(size: usize) -> String {
    let mut page = String::from("<html><head><title>Doc</title></head><body><nav><a href='/x'>menu</a></nav><article>");
    let mut index = 0;
    while page.len() < size {
        index += 1;
        write!(
            page,
            "<div class='part c{index}'><h2>Part {index}</h2><p>It tells, at some length, which rows of \
             <a href='/trees/{index}'>trees</a> were <b>pruned</b> in the cold months, who carried the ladders from \
             the barn, and how many baskets of late apples still came in before the frost.</p>\
             <ul><li>one</li><li>two <i>and</i> three</li></ul></div>"
        )
        .expect("into memory");
    }
    page + "</article><footer>footer</footer></body></html>"
}

const MEGABYTE: usize = 1_000_000;

fn address() -> Url {
    Url::parse("https://site.example/page").expect("a URL")
}

#[divan::bench]
fn parse_alone(bencher: Bencher<'_, '_>) {
    let page = page(MEGABYTE);
    bencher
        .counter(BytesCount::of_str(&page))
        .bench(|| Document::from(page.as_str()).tree.len());
}

#[divan::bench]
fn article(bencher: Bencher<'_, '_>) {
    let (page, address) = (page(MEGABYTE), address());
    bencher
        .counter(BytesCount::of_str(&page))
        .bench(|| extract(&page, &address, false));
}

#[divan::bench]
fn whole_page(bencher: Bencher<'_, '_>) {
    let (page, address) = (page(MEGABYTE), address());
    bencher
        .counter(BytesCount::of_str(&page))
        .bench(|| extract(&page, &address, true));
}
