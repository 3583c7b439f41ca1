//! A YAML text as nodes, each with its place. What cannot be read is a node too, so that a mistake above it is met first.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput, Tag, options};

use super::scalar::{Kind, Scalar};

/// How deep collections may nest, in flow and in block style each.
const MAX_NESTING: usize = 128;

/// The nodes of one YAML document.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    nodes: Vec<Node<'a>>,
    /// The value of the whole document; `None` when the text holds none.
    pub(super) root: Option<NodeId>,
    /// What is wrong behind the first document.
    pub(super) tail: Option<Broken>,
    /// How many more children may be visited. Aliases can name a collection again and again.
    visits: Cell<usize>,
}

/// A node's index. An alias has the index of what it names.
pub(super) type NodeId = usize;

/// One value.
#[derive(Debug)]
pub(super) struct Node<'a> {
    /// The offset of its first byte.
    pub(super) start: usize,
    pub(super) content: Content<'a>,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    Scalar(Scalar<'a>),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
    /// A value with a tag that the core schema does not know.
    Tagged,
    /// The place where the text stops being YAML.
    Broken(Broken),
}

/// What the YAML reader says, and where.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub(super) message: String,
    pub(super) at: usize,
}

impl<'a> Document<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let options = options! {
            emit_comments: false,
            flow_nesting_limit: MAX_NESTING,
            block_nesting_limit: MAX_NESTING,
        };
        let mut reader = Reader {
            events: Parser::new_from_str_with_options(text, options),
            nodes: Vec::new(),
            anchors: BTreeMap::new(),
            broken: false,
        };
        let root = reader.root();
        let tail = match root {
            Some(_) if !reader.broken => reader.tail(),
            _ => None,
        };
        Document {
            text,
            visits: Cell::new(10 * reader.nodes.len() + 1000),
            nodes: reader.nodes,
            root,
            tail,
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id]
    }

    /// Counts a visit to each child of a collection; false when there have been too many.
    pub(super) fn visit(&self, children: usize) -> bool {
        let left = self.visits.get().checked_sub(children);
        self.visits.set(left.unwrap_or(0));
        left.is_some()
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    nodes: Vec<Node<'a>>,
    anchors: BTreeMap<usize, NodeId>,
    /// Whether the text stopped being YAML. Nothing is read after that.
    broken: bool,
}

impl<'a> Reader<'a> {
    /// Reads the value of the first document.
    fn root(&mut self) -> Option<NodeId> {
        loop {
            match self.next() {
                Ok((Event::StreamStart | Event::DocumentStart(..), _)) => {}
                Ok((Event::StreamEnd, _)) => return None,
                Ok((event, start)) => return Some(self.node(event, start)),
                Err(broken) => return Some(self.broken(broken)),
            }
        }
    }

    /// Reads on to the end of the text, which is one document.
    fn tail(&mut self) -> Option<Broken> {
        loop {
            match self.next() {
                Ok((Event::StreamEnd, _)) => return None,
                Ok((Event::DocumentEnd, _)) => {}
                Ok((_, at)) => {
                    let message = "the frontmatter is more than one YAML document".to_owned();
                    return Some(Broken { message, at });
                }
                Err(broken) => return Some(broken),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, usize), Broken> {
        let end = |at| Broken {
            message: "unexpected end of the YAML".to_owned(),
            at,
        };
        let offset = |mark: &granit_parser::Marker| mark.byte_offset().unwrap_or(0);
        match self.events.next() {
            Some(Ok((event, span))) => Ok((event, offset(&span.start))),
            Some(Err(error)) => Err(Broken {
                message: error.info(),
                at: offset(error.marker()),
            }),
            None => Err(end(0)),
        }
    }

    /// The node that `event` opens, with all that is in it.
    fn node(&mut self, event: Event<'a>, start: usize) -> NodeId {
        match event {
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(&id) => id,
                None => self.broken(Broken {
                    message: "unknown anchor".to_owned(),
                    at: start,
                }),
            },
            Event::Scalar(text, style, anchor, tag) => {
                let content = scalar(text, style, tag.as_deref());
                self.push(start, anchor, content)
            }
            Event::SequenceStart(_, anchor, tag) => {
                let id = self.push(start, anchor, Content::Tagged);
                let items = self.sequence();
                if !is_custom(tag.as_deref(), "seq") {
                    self.nodes[id].content = Content::Sequence(items);
                }
                id
            }
            Event::MappingStart(_, anchor, tag) => {
                let id = self.push(start, anchor, Content::Tagged);
                let entries = self.mapping();
                if !is_custom(tag.as_deref(), "map") {
                    self.nodes[id].content = Content::Mapping(entries);
                }
                id
            }
            event => self.broken(Broken {
                message: format!("unexpected YAML event {event:?}"),
                at: start,
            }),
        }
    }

    fn sequence(&mut self) -> Vec<NodeId> {
        let mut items = Vec::new();
        while let Some(item) = self.child(&Event::SequenceEnd) {
            items.push(item);
        }
        items
    }

    fn mapping(&mut self) -> Vec<(NodeId, NodeId)> {
        let mut entries = Vec::new();
        while let Some(key) = self.child(&Event::MappingEnd) {
            let value = self.child(&Event::MappingEnd).unwrap_or(key);
            entries.push((key, value));
        }
        entries
    }

    /// The next child of a collection; `None` once `end` has come or the text has broken.
    fn child(&mut self, end: &Event<'_>) -> Option<NodeId> {
        if self.broken {
            return None;
        }
        match self.next() {
            Ok((event, _)) if event == *end => None,
            Ok((event, start)) => Some(self.node(event, start)),
            Err(broken) => Some(self.broken(broken)),
        }
    }

    fn broken(&mut self, broken: Broken) -> NodeId {
        self.broken = true;
        self.push(broken.at, 0, Content::Broken(broken))
    }

    fn push(&mut self, start: usize, anchor: usize, content: Content<'a>) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Node { start, content });
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        id
    }
}

fn scalar<'a>(text: Cow<'a, str>, style: ScalarStyle, tag: Option<&Tag>) -> Content<'a> {
    let by_text = ["null", "bool", "int", "float"];
    let kind = match tag {
        None if style == ScalarStyle::Plain => Kind::of_plain(&text),
        None => Kind::String,
        Some(tag) if tag.is_yaml_core_schema_tag("str") || is_non_specific(tag) => Kind::String,
        Some(tag) if by_text.iter().any(|name| tag.is_yaml_core_schema_tag(name)) => Kind::of_plain(&text),
        Some(_) => return Content::Tagged,
    };
    Content::Scalar(Scalar { text, kind })
}

/// Whether a collection's tag makes it something else than the core schema's `name`.
fn is_custom(tag: Option<&Tag>, name: &str) -> bool {
    tag.is_some_and(|tag| !tag.is_yaml_core_schema_tag(name) && !is_non_specific(tag))
}

/// Whether the tag is a lone `!`.
fn is_non_specific(tag: &Tag) -> bool {
    matches!((tag.handle(), tag.suffix()), ("!", "") | ("", "!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(document: &Document<'_>, id: NodeId) -> String {
        match &document.node(id).content {
            Content::Scalar(scalar) => format!("{:?}", scalar.text),
            Content::Sequence(items) => {
                let items: Vec<String> = items.iter().map(|&item| show(document, item)).collect();
                format!("[{}]", items.join(" "))
            }
            Content::Mapping(entries) => {
                let entry =
                    |&(key, value): &(NodeId, NodeId)| format!("{}:{}", show(document, key), show(document, value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
            Content::Tagged => "tagged".to_owned(),
            Content::Broken(_) => "broken".to_owned(),
        }
    }

    fn shown(text: &str) -> String {
        let document = Document::read(text);
        document.root.map_or("nothing".to_owned(), |root| show(&document, root))
    }

    #[test]
    fn both_styles_give_the_same_nodes() {
        let flow = shown("{a: [b, 'c'], d: {e: f}}\n");
        assert_eq!(flow, r#"{"a":["b" "c"] "d":{"e":"f"}}"#);
        assert_eq!(shown("a:\n  - b\n  - c\nd:\n  e: f\n"), flow);
    }

    #[test]
    fn an_empty_text_holds_nothing() {
        for text in ["", "\n\n", "# only a comment\n"] {
            assert_eq!(shown(text), "nothing", "{text:?}");
        }
    }

    #[test]
    fn an_alias_is_what_it_names() {
        assert_eq!(shown("a: &x [b]\nc: *x\n"), r#"{"a":["b"] "c":["b"]}"#);
        assert_eq!(shown("a: *x\n"), r#"{"a":broken}"#);
    }

    #[test]
    fn what_stands_above_a_syntax_error_is_read() {
        assert_eq!(shown("a: b\nc: [d, }"), r#"{"a":"b" "c":["d" broken]}"#);
    }

    #[test]
    fn a_custom_tag_hides_its_value() {
        assert_eq!(
            shown("[!x a, !!str 5, ! b, !x [c], !!seq [d], !x {e: f}]"),
            r#"[tagged "5" "b" tagged ["d"] tagged]"#
        );
    }

    #[test]
    fn a_second_document_is_found() {
        let at = |text| Document::read(text).tail.map(|broken| broken.at);
        assert_eq!(at("a: b\n...\n"), None);
        assert_eq!(at("a: b\n...\nc: d\n"), Some(9));
    }

    #[test]
    fn deep_nesting_breaks_the_text_early() {
        for text in [
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "{a: ".repeat(100_000),
            "? ".repeat(100_000),
        ] {
            let document = Document::read(&text);
            assert!(document.nodes.len() < 1000, "{} nodes", document.nodes.len());
        }
    }
}
