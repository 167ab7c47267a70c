//! The elements of an XML document by their local names: Quartz has several namespaces for the same ones.

/// Why a file is no XML.
pub type NotXml = roxmltree::Error;

#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    /// Without the blanks around it.
    text: String,
    pub(super) children: Vec<Element>,
}

pub(super) fn parse(text: &str) -> Result<Element, NotXml> {
    let document = roxmltree::Document::parse_with_options(text, options())?;
    Ok(element(document.root_element()))
}

/// Old files name a DTD; it is not fetched.
fn options<'a>() -> roxmltree::ParsingOptions<'a> {
    roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() }
}

fn element(node: roxmltree::Node<'_, '_>) -> Element {
    let children = node.children().filter(roxmltree::Node::is_element).map(element).collect();
    let text: String = node.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect();
    Element { name: node.tag_name().name().to_owned(), text: text.trim().to_owned(), children }
}

impl Element {
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str())
    }

    /// All elements of the name, at any depth.
    pub(super) fn descendants(&self, name: &str) -> Vec<&Element> {
        let below = self.children.iter().flat_map(|child| child.descendants(name));
        self.children.iter().filter(|child| child.name == name).chain(below).collect()
    }
}
