//! Text from anywhere into XML and HTML, as text and as nothing else.

/// Escapes for element content and for quoted attribute values, in HTML and in XML.
///
/// Characters that XML 1.0 forbids (most control characters) and those that silently reorder a
/// line (bidirectional overrides) become U+FFFD, so that a name can neither break a file nor
/// pretend to be another.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' => out.push(' '),
            _ if c.is_control() || is_reordering(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {
                out.push('\u{FFFD}');
            }
            _ => out.push(c),
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
    fn forbidden_characters_are_replaced() {
        assert_eq!(
            escape("a\0b\u{1b}[31mc\u{202E}d"),
            "a\u{FFFD}b\u{FFFD}[31mc\u{FFFD}d"
        );
        assert_eq!(escape("ζ ≤ 1/S, 状態"), "ζ ≤ 1/S, 状態");
    }
}
