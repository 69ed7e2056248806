//! What is said to a request that gets no answer.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use ide3al::error::Error;

/// A status and a sentence that says what is wrong and how to mend it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Refusal {
            status,
            message: message.into(),
        }
    }

    /// Input that makes no sense.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }

    /// The same as a line of an answer that has begun.
    pub(super) fn line(&self) -> serde_json::Value {
        serde_json::json!({ "error": self.message })
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::bad(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.line().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        // whoever was refused does not keep a place among the connections
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }
}
