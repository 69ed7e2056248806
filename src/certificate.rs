//! How good an answer is, as a table: the same lines whatever was solved.

use ide3al::solve::Certificate;
use ide3al_report::Table;
use ide3al_report::table::number;

/// `said`: the formulation and its parameters, then what the objective is and what the bound
/// proves.
pub(crate) fn table(certificate: &Certificate, solver: &str, said: [String; 4]) -> Table {
    let [formulation, parameters, objective, proven] = said;
    let mut table = Table::new(&[]).right(1);
    table.row(["formulation".into(), formulation, parameters]);
    table.row([
        "objective".into(),
        number(certificate.objective, 7),
        objective,
    ]);
    table.row(["bound".into(), number(certificate.bound, 7), proven]);
    let status = certificate.status.name().replace('_', " ");
    table.row([
        "gap".into(),
        format!("{:.1e}", certificate.gap),
        format!("{status}, {solver} solver"),
    ]);
    table.row([
        "time".into(),
        format!("{} s", number(certificate.seconds, 3)),
        format!("{} iterations", certificate.iterations),
    ]);
    table
}
