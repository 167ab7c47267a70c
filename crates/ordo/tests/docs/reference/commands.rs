//! Every command, as its own help has it.

use std::fmt::Write as _;

use crate::common::World;

const HEAD: &str = "# Commands

What `ordo COMMAND --help` prints, for every command. Exit codes: 0 done, 1 refused or failed, 2 misused, 3 no server.

";

pub(super) fn page(world: &World) -> String {
    let mut text = HEAD.to_owned();
    add(world, &[], &mut text);
    text
}

fn add(world: &World, path: &[String], text: &mut String) {
    let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = world.ordo(&args).done().out;
    let name = std::iter::once("ordo").chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let _ = write!(text, "## {name}\n\n```text\n{}\n```\n\n", help.trim());
    for command in commands(&help) {
        let below: Vec<String> = path.iter().cloned().chain([command]).collect();
        add(world, &below, text);
    }
}

/// The names below `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}
