//! Text from anywhere into XML and HTML, as text and as nothing else.

/// Escapes for element content and for quoted attribute values, in HTML and in XML; what is not
/// `showable` is replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(showable(c)),
        }
    }
    out
}

/// The character, or what stands for it: characters that XML 1.0 forbids (most control
/// characters) and those that silently reorder a line (bidirectional overrides) become U+FFFD,
/// so that a name can neither break a file nor pretend to be another.
pub(super) fn showable(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\r' => ' ',
        _ if c.is_control() || is_reordering(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {
            '\u{FFFD}'
        }
        _ => c,
    }
}

/// Text for a terminal or a log line: control characters (escape sequences begin with one,
/// line breaks and the one-character C1 forms included) and those that reorder a line become
/// U+FFFD.
pub fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() || is_reordering(c), "\u{FFFD}")
}

/// JSON that a terminal may show as it is: characters that could steer it, which can only
/// stand inside strings, become `\u` escapes. Means the same to every reader.
pub fn plain_json(json: &str) -> String {
    let steers = |c: char| (c.is_control() && c != '\n') || is_reordering(c);
    if !json.contains(steers) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if steers(c) {
            // all of them lie in the basic plane
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Bidirectional embeddings, overrides and isolates.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escape("<script>alert(1)</script>"),
            "&lt;script&gt;alert(1)&lt;/script&gt;"
        );
        assert_eq!(
            escape("\" onload='x' a=\"&"),
            "&quot; onload=&#39;x&#39; a=&quot;&amp;"
        );
    }

    #[test]
    fn a_terminal_shows_names_and_obeys_none() {
        let name = "\u{1b}[2J\u{9b}31m\r\n\u{7}\u{202E}evil";
        let shown = plain(name);
        assert!(shown.ends_with("evil") && !shown.contains(char::is_control));
        let json = serde_json::to_string_pretty(&[name]).unwrap();
        let safe = plain_json(&json);
        assert!(!safe.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202E}')));
        let back: Vec<String> = serde_json::from_str(&safe).unwrap();
        assert_eq!(back, [name]);
    }

    #[test]
    fn forbidden_characters_are_replaced() {
        assert_eq!(
            escape("a\0b\u{1b}[31mc\u{202E}d"),
            "a\u{FFFD}b\u{FFFD}[31mc\u{FFFD}d"
        );
        assert_eq!(escape("ζ ≤ 1/S, 状態"), "ζ ≤ 1/S, 状態");
    }
}
