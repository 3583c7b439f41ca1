//! HTML to a tree, within limits.
//!
//! The parser is html5ever's. Two layers of ours stand around its tree builder: a gate before it, which hands on
//! nothing more once a limit is reached, and a tree behind it, which keeps itself shallow.

use std::borrow::Cow;
use std::cell::{Cell, Ref};
use std::time::Instant;

use dom_query::{Document, NodeId};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, QualName, TokenizerResult, local_name};

use super::limits::Limits;
use crate::text::beginning;

/// How much is parsed between two looks at the clock, in bytes.
const STRIDE: usize = 4096;

/// Parses a page, up to its limits. None when the tree is so deep all the same that walking it is not safe.
pub(super) fn parse(html: &str, limits: Limits) -> Option<Document> {
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let gate = Gate {
        builder: TreeBuilder::new(
            ShallowTree {
                document: Document::default(),
                limits,
                run: Cell::new(None),
            },
            options,
        ),
        limits,
        text: Cell::new(0),
        in_code: Cell::new(false),
        closed: Cell::new(false),
    };
    let tokenizer = Tokenizer::new(gate, TokenizerOpts::default());
    feed(&tokenizer, html, limits);
    tokenizer.end();
    let document = tokenizer.sink.builder.sink.finish();
    is_shallow(&document, 2 * limits.depth).then_some(document)
}

/// Feeds the tokenizer until the page ends, a limit is reached, or the time is over.
fn feed(tokenizer: &Tokenizer<Gate>, html: &str, limits: Limits) {
    let started = Instant::now();
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        if tokenizer.sink.is_closed() || started.elapsed() >= limits.time {
            // What the tokenizer still holds is half a token.
            tokenizer.sink.closed.set(true);
            return;
        }
        let (next, later) = rest.split_at(beginning(rest, STRIDE).len());
        rest = later;
        queue.push_back(StrTendril::from(next));
        // A script or a declared encoding, which concern nobody here, stop the tokenizer before its input is used up.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    }
}

/// Whether no node lies deeper than `depth`.
fn is_shallow(document: &Document, depth: usize) -> bool {
    let mut open = vec![(document.root(), 0)];
    while let Some((node, level)) = open.pop() {
        if level > depth {
            return false;
        }
        open.extend(node.children_it(false).map(|child| (child, level + 1)));
    }
    true
}

/// Hands tokens on to the tree builder until the page reaches a limit.
struct Gate {
    builder: TreeBuilder<NodeId, ShallowTree>,
    limits: Limits,
    text: Cell<usize>,
    in_code: Cell<bool>,
    closed: Cell<bool>,
}

impl Gate {
    fn is_closed(&self) -> bool {
        self.closed.get() || self.text.get() >= self.limits.text || self.builder.sink.nodes() >= self.limits.nodes
    }

    /// Counts text; that of scripts and styles, which is never shown, goes no further.
    fn takes_text(&self, text: &StrTendril) -> bool {
        if self.in_code.get() {
            return false;
        }
        self.text.set(self.text.get() + text.len());
        true
    }

    /// Hands on a tag, and notes whether what follows is code. In the midst of code no tag comes but the one that ends
    /// it; a `style` or `script` of an embedded drawing is no code to the parser.
    fn take_tag(&self, tag: Tag, line: u64) -> TokenSinkResult<NodeId> {
        let code = matches!(tag.name, local_name!("script") | local_name!("style"));
        let result = self.builder.process_token(Token::TagToken(tag), line);
        self.in_code.set(code && matches!(result, TokenSinkResult::RawData(_)));
        result
    }
}

impl TokenSink for Gate {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let wanted = match token {
            Token::EOFToken => true,
            _ if self.is_closed() => false,
            Token::TagToken(tag) => return self.take_tag(tag, line),
            Token::CharacterTokens(ref text) => self.takes_text(text),
            Token::CommentToken(_) | Token::ParseError(_) => false,
            Token::DoctypeToken(_) | Token::NullCharacterToken => true,
        };
        if wanted {
            self.builder.process_token(token, line)
        } else {
            TokenSinkResult::Continue
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// A tree that hangs an element that would lie too deep higher up, keeps only attributes of a sensible size, and breaks
/// up text of any length.
struct ShallowTree {
    document: Document,
    limits: Limits,
    run: Cell<Option<Run>>,
}

/// Text that has come in one place, in bytes, since the last break.
#[derive(Clone, Copy)]
struct Run {
    place: NodeId,
    length: usize,
}

/// The most text of a node, in bytes: writing a node out takes time in proportion to the square of its length when it
/// holds much that must be escaped.
const TEXT_NODE: usize = 32 * 1024;

/// The most attributes that an element keeps.
const ATTRIBUTES: usize = 64;

impl ShallowTree {
    fn nodes(&self) -> usize {
        self.document.tree.len()
    }

    /// Where an element that belongs under `parent` is hung: there, or under the lowest ancestor that has room.
    fn place(&self, parent: NodeId, child: NodeId) -> NodeId {
        let mut path = vec![parent];
        while let Some(above) = path.last().and_then(|node| self.document.tree.parent_of(node)) {
            path.push(above.id);
        }
        path.reverse();
        let mut room = path.len().min(self.limits.depth);
        if self.indents(&child) {
            let mut indents = path
                .iter()
                .enumerate()
                .filter(|(_, node)| self.indents(node))
                .map(|(level, _)| level);
            if let Some(full) = indents.nth(self.limits.indents - 1) {
                room = room.min(full);
            }
        }
        path[room.saturating_sub(1)]
    }

    /// Whether the node indents every line of Markdown within it.
    fn indents(&self, node: &NodeId) -> bool {
        self.document.tree.get_name(node).is_some_and(|name| {
            matches!(
                name.local,
                local_name!("blockquote") | local_name!("ul") | local_name!("ol") | local_name!("menu")
            )
        })
    }

    /// Counts text that comes at `place`, and says whether it starts a node of its own.
    fn starts_node(&self, place: NodeId, length: usize) -> bool {
        let before = self.run.get().filter(|run| run.place == place);
        let before = before.map_or(0, |run| run.length);
        let full = before + length > TEXT_NODE;
        let length = if full { length } else { before + length };
        self.run.set(Some(Run { place, length }));
        full
    }

    /// An empty comment, which writes nothing and keeps the text on its two sides apart.
    fn break_in_text(&self) -> NodeOrText<NodeId> {
        NodeOrText::AppendNode(self.document.create_comment(StrTendril::new()))
    }

    fn sensible(&self, element: &QualName, attribute: &Attribute) -> bool {
        let most = match element.local {
            local_name!("base") => self.limits.base,
            _ => self.limits.attribute,
        };
        attribute.value.len() <= most
    }
}

impl TreeSink for ShallowTree {
    type Handle = NodeId;
    type Output = Document;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Document {
        self.document
    }

    fn create_element(&self, name: QualName, mut attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        attributes.truncate(ATTRIBUTES);
        attributes.retain(|attribute| self.sensible(&name, attribute));
        self.document.create_element(name, attributes, flags)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        match child {
            NodeOrText::AppendNode(child) => {
                let parent = self.place(*parent, child);
                self.document.append(&parent, NodeOrText::AppendNode(child));
            }
            NodeOrText::AppendText(text) => {
                if self.starts_node(*parent, text.len()) {
                    self.document.append(parent, self.break_in_text());
                }
                self.document.append(parent, NodeOrText::AppendText(text));
            }
        }
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        if self.document.tree.parent_of(element).is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    // A page's parse errors concern nobody, and a hostile one has millions.
    fn parse_error(&self, _: Cow<'static, str>) {}

    // The attributes of a second `html` or `body` tag say nothing about the text.
    fn add_attrs_if_missing(&self, _: &NodeId, _: Vec<Attribute>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.document.get_template_contents(target)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn same_node(&self, left: &NodeId, right: &NodeId) -> bool {
        self.document.same_node(left, right)
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.document.elem_name(target)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.document.create_pi(target, data)
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        if let NodeOrText::AppendText(text) = &child
            && self.starts_node(*sibling, text.len())
        {
            let comment = self.break_in_text();
            self.document.append_before_sibling(sibling, comment);
        }
        self.document.append_before_sibling(sibling, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.document.append_doctype_to_document(name, public_id, system_id);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(target)
    }
}
