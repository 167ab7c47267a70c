//! One row of the route table: how an operation is called, what it requires of its caller, what it answers and refuses.

use std::collections::BTreeMap;

use ordo_model::Right;
use ordo_model::strict::{self, Misread, Unreadable};
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::code::Code;
use crate::operation::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// The right that a route requires of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it is for everybody, or it checks signatures of its own.
    Open,
    Right(Right),
    /// The right, or to be an executor that has a run of what is asked for.
    RightOrHolder(Right),
}

/// The errors of an operation that reads the store.
pub(crate) const READS: &[Code] = &[Code::Internal, Code::StoreDamaged, Code::StoreUnavailable];
/// The further errors of an operation that changes something.
pub(crate) const WRITES: &[Code] = &[
    Code::Contended,
    Code::Internal,
    Code::StoreDamaged,
    Code::StoreUnavailable,
    Code::Overloaded,
    Code::ShuttingDown,
];
/// The errors of an operation with a body.
const BODY: &[Code] =
    &[Code::InvalidJson, Code::RequestTimeout, Code::BodyTooLarge, Code::UnsupportedMediaType, Code::InvalidBody];

/// A type with the components that it is made of.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) parts: Vec<(String, RefOr<Schema>)>,
}

impl Shape {
    pub(crate) fn of<T: ToSchema>() -> Shape {
        let mut parts = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut parts);
        Shape { name: T::name().into_owned(), parts }
    }
}

/// The body of a request.
pub struct RouteBody {
    pub required: bool,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Json {
        shape: Shape,
        read: fn(Value) -> Result<(), Misread>,
    },
    /// What a form of a page sends.
    Form(Shape),
    /// A body of any type.
    Raw,
}

impl RouteBody {
    /// Whether the text is what the route takes, where that is JSON.
    pub fn check(&self, text: &[u8]) -> Option<Result<(), Unreadable>> {
        match &self.content {
            Content::Json { read, .. } => {
                Some(strict::value(text).and_then(|value| read(value).map_err(Unreadable::from)))
            }
            Content::Form(_) | Content::Raw => None,
        }
    }

    /// The name of the component that describes it, where it is JSON.
    pub fn schema(&self) -> Option<&str> {
        match &self.content {
            Content::Json { shape, .. } => Some(&shape.name),
            Content::Form(_) | Content::Raw => None,
        }
    }
}

pub(crate) struct RouteResponse {
    pub(crate) description: &'static str,
    pub(crate) media: Vec<Media>,
    /// Names and what they say.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    /// Operations that can be done next: their one parameter, and where its value stands in the answer.
    pub(crate) links: Vec<(Operation, &'static str, &'static str)>,
}

pub(crate) enum Media {
    Json(Shape),
    Page(Shape),
    /// Anything that is an object.
    AnyObject,
    /// An object with a media type of its own.
    ObjectAs(&'static str),
    Text(&'static str),
    Events(&'static str),
}

/// A parameter: one that many routes share by its name, or one of the route's own.
pub(crate) enum Parameter {
    Shared(&'static str),
    Query { name: &'static str, schema: Value, description: &'static str, required: bool },
}

pub struct Route {
    operation: Option<Operation>,
    pub method: Method,
    pub path: &'static str,
    pub need: Need,
    pub tag: &'static str,
    pub summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    pub body: Option<RouteBody>,
    pub(crate) answers: BTreeMap<u16, RouteResponse>,
    codes: Vec<Code>,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method.name(), self.path)
    }
}

impl std::fmt::Debug for RouteBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouteBody").field("schema", &self.schema()).finish_non_exhaustive()
    }
}

impl Route {
    pub(crate) fn new(method: Method, path: &'static str, need: Need, tag: &'static str) -> Route {
        Route {
            operation: None,
            method,
            path,
            need,
            tag,
            summary: "",
            description: "",
            parameters: Vec::new(),
            body: None,
            answers: BTreeMap::new(),
            codes: vec![Code::HostRefused, Code::OriginRefused],
        }
    }

    pub(crate) fn of(self, operation: Operation) -> Route {
        Route { operation: Some(operation), ..self }
    }

    pub fn operation(&self) -> Operation {
        self.operation.expect("a row of the table belongs to its operation")
    }

    /// Every code that it refuses with, once each.
    pub fn codes(&self) -> Vec<Code> {
        let guarded = [Code::Unauthorized, Code::Forbidden, Code::RateLimited, Code::SecretsUnavailable];
        let guarded = guarded.into_iter().filter(|_| self.need != Need::Open);
        let mut all = Vec::new();
        for code in self.codes.iter().copied().chain(guarded) {
            if !all.contains(&code) {
                all.push(code);
            }
        }
        all
    }

    pub(crate) fn summary(mut self, summary: &'static str) -> Route {
        self.summary = summary;
        self
    }

    pub(crate) fn saying(mut self, description: &'static str) -> Route {
        self.description = description;
        self
    }

    pub(crate) fn shared(mut self, name: &'static str) -> Route {
        self.parameters.push(Parameter::Shared(name));
        self
    }

    pub(crate) fn query(mut self, name: &'static str, schema: Value, description: &'static str) -> Route {
        self.parameters.push(Parameter::Query { name, schema, description, required: false });
        self
    }

    pub(crate) fn query_required(mut self, name: &'static str, schema: Value, description: &'static str) -> Route {
        self.parameters.push(Parameter::Query { name, schema, description, required: true });
        self
    }

    /// `limit` and `cursor`, and a page of these.
    pub(crate) fn paged<T: ToSchema>(self, description: &'static str) -> Route {
        let route = self.shared("Limit").shared("Cursor").refuses(&[Code::InvalidQuery, Code::InvalidCursor]);
        route.answers_page::<T>(description)
    }

    /// A list that is answered as a page.
    pub(crate) fn answers_page<T: ToSchema>(self, description: &'static str) -> Route {
        self.answers_as(200, description, vec![Media::Page(Shape::of::<T>())])
    }

    pub(crate) fn body<T: ToSchema + DeserializeOwned>(self) -> Route {
        self.takes::<T>(true)
    }

    /// A body that may be left out.
    pub(crate) fn body_or_none<T: ToSchema + DeserializeOwned>(self) -> Route {
        self.takes::<T>(false)
    }

    fn takes<T: ToSchema + DeserializeOwned>(mut self, required: bool) -> Route {
        let read = |value| strict::from_value::<T>(value).map(drop);
        self.body = Some(RouteBody { required, content: Content::Json { shape: Shape::of::<T>(), read } });
        self.refuses(BODY)
    }

    pub(crate) fn form<T: ToSchema>(mut self) -> Route {
        self.body = Some(RouteBody { required: true, content: Content::Form(Shape::of::<T>()) });
        self.refuses(BODY)
    }

    pub(crate) fn raw_body(mut self) -> Route {
        self.body = Some(RouteBody { required: false, content: Content::Raw });
        self
    }

    pub(crate) fn answers<T: ToSchema>(self, status: u16, description: &'static str) -> Route {
        self.answers_as(status, description, vec![Media::Json(Shape::of::<T>())])
    }

    pub(crate) fn answers_as(mut self, status: u16, description: &'static str, media: Vec<Media>) -> Route {
        self.answers.insert(status, RouteResponse { description, media, headers: Vec::new(), links: Vec::new() });
        self
    }

    /// The answer with this status may be of another media type too.
    pub(crate) fn also(mut self, status: u16, media: Media) -> Route {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer.media.push(media);
        }
        self
    }

    /// A header of the answer with this status.
    pub(crate) fn header(mut self, status: u16, name: &'static str, description: &'static str) -> Route {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer.headers.push((name, description));
        }
        self
    }

    /// What can be done next with what the answer with this status holds.
    pub(crate) fn leads_to(
        mut self,
        status: u16,
        operations: &[Operation],
        parameter: &'static str,
        value: &'static str,
    ) -> Route {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer.links.extend(operations.iter().map(|operation| (*operation, parameter, value)));
        }
        self
    }

    pub(crate) fn refuses(mut self, codes: &[Code]) -> Route {
        self.codes.extend_from_slice(codes);
        self
    }

    /// The statuses of its successes.
    pub fn statuses(&self) -> impl Iterator<Item = u16> {
        self.answers.keys().copied()
    }
}

/// The name of the component for a page of these.
pub(crate) fn page_name(item: &str) -> String {
    format!("{item}Page")
}
