//! Who may ask: the page that this server gave out, and nobody else.
//!
//! A page of another origin can send requests to 127.0.0.1, and a name that its owner points at
//! 127.0.0.1 makes it the same origin to a browser. The first lacks the token and has a foreign
//! `Origin`, the second has a foreign `Host`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::refusal::Refusal;

/// Scripts, styles and answers from here only; nothing inline, no frames, no forms.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Checks a request, and dresses every answer.
pub(super) async fn gate(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match check(&shared.token, request.uri().path(), request.headers()) {
        Ok(()) => match shared.work.enter() {
            Some(_inside) => next.run(request).await,
            None => Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests at once; wait a moment and try again",
            )
            .into_response(),
        },
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// For paths behind the token that do not exist.
pub(super) async fn nothing_here() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing here")
}

fn check(token: &str, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let forbidden = |message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, message));
    let host = single(headers, &header::HOST);
    // the port is not compared: it is the one that was connected to, here or in front of here
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    if !matches!(name, Some("127.0.0.1" | "localhost")) {
        return forbidden("this server answers to 127.0.0.1 and localhost only");
    }
    if headers.contains_key(header::ORIGIN) {
        let origin = single(headers, &header::ORIGIN).and_then(|o| o.strip_prefix("http://"));
        if origin != host {
            return forbidden("this server answers its own page only");
        }
    }
    let sent = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let site = sent("sec-fetch-site");
    // a file or a link of another page may lead a window to the page itself, and nowhere else
    let led_here = sent("sec-fetch-mode") == Some(b"navigate")
        && sent("sec-fetch-dest") == Some(b"document")
        && path.trim_matches('/').len() == token.len();
    if !led_here && !matches!(site, None | Some(b"same-origin" | b"none")) {
        return forbidden("this server answers its own page only");
    }
    let given = path.trim_start_matches('/').split('/').next().unwrap_or("");
    if !same(given.as_bytes(), token.as_bytes()) {
        return forbidden(
            "the token is missing or wrong: use the address that the program printed",
        );
    }
    Ok(())
}

/// The value of a header that must come once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

/// Equality in a time that does not depend on where two texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        check("secret", path, &map).is_ok()
    }

    #[test]
    fn only_its_own_page_with_the_token_is_answered() {
        let host = ("host", "127.0.0.1:80");
        assert!(asked("/secret/", &[host]));
        assert!(asked("/secret/api/solve", &[("host", "localhost:80")]));
        assert!(asked(
            "/secret/",
            &[host, ("origin", "http://127.0.0.1:80")]
        ));
        assert!(asked("/secret/", &[host, ("sec-fetch-site", "none")]));
        let led = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(asked("/secret/", &led) && !asked("/secret/api/solve", &led));
        assert!(!asked("/secret/", &led[..3]) && !asked("/wronga/", &led));
        for path in ["/", "/secre/", "/secrets/", "/x/secret/", "//", ""] {
            assert!(!asked(path, &[host]), "{path}");
        }
        for wrong in [
            vec![],
            vec![("host", "evil.example:80")],
            vec![("host", "127.0.0.1.evil.example")],
            vec![host, host],
            vec![host, ("origin", "http://evil.example")],
            vec![host, ("origin", "http://127.0.0.1:81")],
            vec![host, ("origin", "https://127.0.0.1:80")],
            vec![host, ("origin", "null")],
            vec![host, ("sec-fetch-site", "cross-site")],
            vec![host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!asked("/secret/", &wrong), "{wrong:?}");
        }
    }
}
