//! Writing to the terminal without panicking on a closed pipe.

use std::io::Write;

use ide3al_report::escape::{plain, plain_json};

/// Prints to stdout; a closed pipe comes back as an error that `main` treats as success.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints JSON; names in it cannot steer a terminal.
pub(crate) fn print_json(text: &str) -> anyhow::Result<()> {
    print(&plain_json(text))
}

/// Whether an error is only the reader of our output having gone away.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error with its causes, each said once (some messages quote their cause already), on one
/// line and without characters that could steer the terminal.
pub(crate) fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if words.is_empty() {
            words = cause;
        } else if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    plain(&with_flags(&words))
}

/// Remedies that the library names as "(parameter 'out')" or "(parameter 'vary' = xi)", named as
/// they are typed here: "(--out)", "(--vary xi)".
pub(crate) fn with_flags(message: &str) -> String {
    const MARK: &str = "(parameter '";
    let mut parts = message.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('\'') {
            Some((name, rest)) => {
                let flag = name.replace('_', "-");
                let rest = rest.strip_prefix(" =").unwrap_or(rest);
                out += &format!("(--{flag}{rest}");
            }
            None => out = out + MARK + part,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::with_flags;

    #[test]
    fn parameters_of_the_library_become_flags() {
        let of = |name: &str| format!("choose another folder (parameter '{name}'), or stop");
        assert_eq!(
            with_flags(&of("out")),
            "choose another folder (--out), or stop"
        );
        assert_eq!(
            with_flags("(parameter 'tie_break' = none) and (parameter 'resume')"),
            "(--tie-break none) and (--resume)"
        );
        assert_eq!(
            with_flags("unknown parameter 'stats'"),
            "unknown parameter 'stats'"
        );
    }
}
