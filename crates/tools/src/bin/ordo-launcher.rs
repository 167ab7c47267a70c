//! The launcher alone: the tests of the tools have no `ordo` to execute again.

fn main() -> std::process::ExitCode {
    ordo_tools::launcher::main_if_asked().unwrap_or_else(|| {
        eprintln!("ordo-launcher is started by the tools, not by people");
        std::process::ExitCode::from(2)
    })
}
