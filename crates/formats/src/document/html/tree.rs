//! The tree that html5ever builds, in one arena: dropping or walking it needs no deep stack.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName};

/// A node of a [`Dom`].
pub(super) type NodeId = usize;

/// A page.
#[derive(Debug)]
pub(super) struct Dom {
    nodes: RefCell<Vec<Entry>>,
    deepest: Cell<u32>,
}

#[derive(Debug, Default)]
struct Entry {
    parent: Option<NodeId>,
    children: Vec<NodeId>,
    depth: u32,
    kind: Kind,
}

#[derive(Debug, Default)]
enum Kind {
    /// The document, a comment, or the contents of a template: nothing to be seen.
    #[default]
    Nothing,
    Text(StrTendril),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
        template: Option<NodeId>,
    },
}

/// The top of the page.
pub(super) const DOCUMENT: NodeId = 0;

impl Default for Dom {
    fn default() -> Dom {
        Dom {
            nodes: RefCell::new(vec![Entry::default()]),
            deepest: Cell::new(0),
        }
    }
}

impl Dom {
    fn add(&self, kind: Kind) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Entry {
            kind,
            ..Entry::default()
        });
        nodes.len() - 1
    }

    fn detach(&self, node: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(parent) = nodes[node].parent.take() {
            nodes[parent].children.retain(|child| *child != node);
        }
    }

    fn insert(&self, parent: NodeId, at: usize, child: NodeOrText<NodeId>) {
        match child {
            NodeOrText::AppendNode(node) => {
                self.detach(node);
                let mut nodes = self.nodes.borrow_mut();
                nodes[node].parent = Some(parent);
                nodes[node].depth = nodes[parent].depth + 1;
                self.deepest.set(self.deepest.get().max(nodes[node].depth));
                let at = at.min(nodes[parent].children.len());
                nodes[parent].children.insert(at, node);
            }
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                if let Some(before) = at
                    .checked_sub(1)
                    .and_then(|at| nodes[parent].children.get(at).copied())
                    && let Kind::Text(known) = &mut nodes[before].kind
                {
                    known.push_tendril(&text);
                    return;
                }
                let node = nodes.len();
                nodes.push(Entry {
                    parent: Some(parent),
                    kind: Kind::Text(text),
                    ..Entry::default()
                });
                nodes[parent].children.insert(at, node);
            }
        }
    }

    /// How deep the tree became while it was built.
    pub(super) fn depth(&self) -> u32 {
        self.deepest.get()
    }

    /// All nodes, in the order they were met.
    pub(super) fn all(&self) -> impl Iterator<Item = NodeId> {
        0..self.nodes.borrow().len()
    }

    /// The node above.
    pub(super) fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.borrow()[node].parent
    }

    /// The nodes below, in order.
    pub(super) fn children(&self, node: NodeId) -> Vec<NodeId> {
        self.nodes.borrow()[node].children.clone()
    }

    /// The name of an element, lower case; empty for anything else.
    pub(super) fn tag(&self, node: NodeId) -> String {
        match &self.nodes.borrow()[node].kind {
            Kind::Element { name, .. } => name.local.to_string(),
            _ => String::new(),
        }
    }

    /// The characters of a text node.
    pub(super) fn characters(&self, node: NodeId) -> Option<StrTendril> {
        match &self.nodes.borrow()[node].kind {
            Kind::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, node: NodeId, key: &str) -> Option<String> {
        match &self.nodes.borrow()[node].kind {
            Kind::Element { attributes, .. } => attributes
                .iter()
                .find(|attribute| &*attribute.name.local == key)
                .map(|attribute| attribute.value.to_string()),
            _ => None,
        }
    }

    /// All characters below `node`, without looking at what is hidden.
    pub(super) fn text(&self, node: NodeId) -> String {
        let mut out = String::new();
        let mut next = vec![node];
        while let Some(node) = next.pop() {
            if let Some(text) = self.characters(node) {
                out.push_str(&text);
            }
            next.extend(self.children(node).into_iter().rev());
        }
        out
    }
}

impl TreeSink for Dom {
    type Handle = NodeId;
    type Output = Dom;
    type ElemName<'a> = OwnedName<'a>;

    fn finish(self) -> Dom {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        DOCUMENT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> OwnedName<'a> {
        OwnedName(Ref::map(self.nodes.borrow(), |nodes| {
            match &nodes[*target].kind {
                Kind::Element { name, .. } => name,
                _ => unreachable!("only elements are asked for their name"),
            }
        }))
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        let template = flags.template.then(|| self.add(Kind::Nothing));
        self.add(Kind::Element {
            name,
            attributes,
            template,
        })
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.add(Kind::Nothing)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.add(Kind::Nothing)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert(*parent, self.children_len(*parent), child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        prev_element: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        match self.parent(*element) {
            Some(_) => self.append_before_sibling(element, child),
            None => self.append(prev_element, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        match &self.nodes.borrow()[*target].kind {
            Kind::Element {
                template: Some(contents),
                ..
            } => *contents,
            _ => unreachable!("only templates are asked for their contents"),
        }
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, new_node: NodeOrText<NodeId>) {
        let Some(parent) = self.parent(*sibling) else {
            return;
        };
        if let NodeOrText::AppendNode(node) = &new_node {
            self.detach(*node);
        }
        let at = self.nodes.borrow()[parent]
            .children
            .iter()
            .position(|child| child == sibling);
        self.insert(parent, at.unwrap_or(usize::MAX), new_node);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
        if let Kind::Element { attributes, .. } = &mut self.nodes.borrow_mut()[*target].kind {
            for attr in attrs {
                if !attributes.iter().any(|known| known.name == attr.name) {
                    attributes.push(attr);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        let children = std::mem::take(&mut nodes[*node].children);
        for child in &children {
            nodes[*child].parent = Some(*new_parent);
        }
        nodes[*new_parent].children.extend(children);
    }
}

impl Dom {
    fn children_len(&self, node: NodeId) -> usize {
        self.nodes.borrow()[node].children.len()
    }
}

/// The name of an element, borrowed from the tree.
#[derive(Debug)]
pub(super) struct OwnedName<'a>(Ref<'a, QualName>);

impl html5ever::interface::ElemName for OwnedName<'_> {
    fn ns(&self) -> &html5ever::Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &html5ever::LocalName {
        &self.0.local
    }
}
