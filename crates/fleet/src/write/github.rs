//! Reusable workflows for GitHub Actions.

use super::{File, HEADER, SIGNING, all_jobs, context, once};
use crate::description::Description;
use crate::rows::VARIABLES;
use crate::stages::{self, Each, Stage, Step, Take, When};
use crate::yaml::{Entry, Yaml, key, line, map, number, text, texts, truth};

const CHECKOUT: &str = "actions/checkout@v4";
const CACHE: &str = "actions/cache@v4";
const UPLOAD: &str = "actions/upload-artifact@v4";
const DOWNLOAD: &str = "actions/download-artifact@v4";
const SARIF: &str = "github/codeql-action/upload-sarif@v3";

/// Container options for a GPU.
const DEVICES: &str =
    "--device /dev/kfd --device /dev/dri --security-opt seccomp=unconfined --group-add video";

pub(super) fn files(description: &Description) -> Vec<File> {
    vec![
        File { path: ".github/workflows/fleet.yml".into(), text: component(description).document() },
        File {
            path: ".github/workflows/fleet-aggregate.yml".into(),
            text: aggregate(description).document(),
        },
    ]
}

/// The secrets of `publish`.
fn publishing() -> impl Iterator<Item = &'static str> {
    ["FLEET_STORE_TOKEN", "FLEET_DOWNSTREAM_TOKEN"].into_iter().chain(SIGNING.map(|(name, _)| name))
}

fn input(about: &str, default: Option<&str>) -> Yaml {
    let mut entries = vec![key("description", text(about)), key("type", text("string"))];
    entries.push(match default {
        Some(default) => key("default", text(default)),
        None => key("required", truth(true)),
    });
    map(entries)
}

/// The workflow that stubs call.
fn component(description: &Description) -> Yaml {
    let inputs = map([
        key("component", input("Its name in ci/fleet.toml", None)),
        key("tier", input("quick, standard or full; by the event without it", Some(""))),
        key(
            "fleet-ref",
            input("The branch or tag of the repository with the templates", Some(&description.fleet.r#ref)),
        ),
        key("repository", input("The component's repository, if it is not the one that calls", Some(""))),
        key("ref", input("The branch, tag or commit of it", Some(""))),
    ]);
    let environment = context(0)
        .chain([
            ("FLEET_COMPONENT", "${{ inputs.component }}"),
            ("FLEET_TIER", "${{ inputs.tier }}"),
            ("FLEET_TOKEN", "${{ github.token }}"),
        ])
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(all_jobs(description).map(|(name, value)| (name.to_owned(), value)))
        .chain(once(description).map(|(name, value)| (name.to_owned(), value)));
    let mut jobs: Vec<Entry> = Vec::new();
    for stage in stages::ALL {
        if !jobs.is_empty() {
            jobs.push(Entry::Gap);
        }
        jobs.push(Entry::Comment(stage.about.to_owned()));
        jobs.push(key(stage.name, job(description, stage)));
    }
    map([
        Entry::Comment(format!(
            "{HEADER}\nThe pipeline of a component; docs/use/fleet.md has the stub that calls it."
        )),
        key("name", text("fleet")),
        key(
            "on",
            map([key(
                "workflow_call",
                map([
                    key("inputs", inputs),
                    key(
                        "secrets",
                        map(publishing().map(|name| key(name, map([key("required", truth(false))])))),
                    ),
                ]),
            )]),
        ),
        key("permissions", texts([("contents", "read")])),
        key("env", texts(environment)),
        key("defaults", map([key("run", texts([("shell", "bash"), ("working-directory", "repo")]))])),
        Entry::Gap,
        key("jobs", map(jobs)),
    ])
}

fn job(description: &Description, stage: &Stage) -> Yaml {
    let many = stage.each != Each::Once;
    let mut entries = Vec::new();
    let mut environment = vec![("FLEET_STAGE", stage.name.to_owned())];
    let title = if many { format!("{} ${{{{ matrix.id }}}}", stage.name) } else { stage.name.to_owned() };
    entries.push(key("name", text(title)));
    if stage.name != "preamble" {
        let mut needs = vec!["preamble"];
        needs.extend(stage.needs.iter().filter(|name| **name != "preamble"));
        entries.push(key("needs", line(needs)));
        entries.push(key("if", text(condition(stage))));
    }
    if many {
        entries.push(key("runs-on", text("${{ matrix.runner.github }}")));
        let mut container = vec![key("image", text("${{ matrix.image }}"))];
        if stage.each == Each::Pool {
            container.push(key("options", text(DEVICES)));
        }
        entries.push(key("container", map(container)));
        entries.push(key("timeout-minutes", text("${{ matrix.minutes }}")));
        let rows = format!("${{{{ fromJSON(needs.preamble.outputs.{}) }}}}", stage.each.name());
        entries.push(key(
            "strategy",
            map([key("fail-fast", truth(false)), key("matrix", map([key("include", text(rows))]))]),
        ));
        environment.extend(VARIABLES.map(|(name, field)| (name, format!("${{{{ matrix.{field} }}}}"))));
    } else {
        let os = &description.os[0];
        entries.push(key("runs-on", line(os.runner.github.clone())));
        entries.push(key("container", map([key("image", text(&os.image))])));
        entries.push(key("timeout-minutes", number(description.fleet.timeout)));
    }
    match stage.name {
        "hipify" => entries.push(key(
            "permissions",
            texts([("contents", "read"), ("security-events", "write"), ("pull-requests", "write")]),
        )),
        "publish" => {
            environment.extend(publishing().map(|name| (name, format!("${{{{ secrets.{name} }}}}"))))
        }
        "dependencies" => {
            environment.push(("FLEET_STORE_TOKEN", "${{ secrets.FLEET_STORE_TOKEN }}".to_owned()));
        }
        "preamble" => {
            let outputs = ["changed", "tier", "builds", "tests", "pools"]
                .map(|name| (name, format!("${{{{ steps.preamble.outputs.{name} }}}}")));
            entries.push(key("outputs", texts(outputs)));
        }
        _ => {}
    }
    entries.push(key("env", texts(environment)));
    entries.push(key("steps", Yaml::List(steps(description, stage))));
    map(entries)
}

fn condition(stage: &Stage) -> String {
    let mut all =
        vec!["!failure() && !cancelled()".to_owned(), "needs.preamble.outputs.changed == 'true'".to_owned()];
    if stage.each != Each::Once {
        all.push(format!("needs.preamble.outputs.{} != '[]'", stage.each.name()));
    }
    if stage.releases {
        all.push("(github.event_name == 'schedule' || startsWith(github.ref, 'refs/tags/'))".to_owned());
    }
    format!("${{{{ {} }}}}", all.join(" && "))
}

fn steps(description: &Description, stage: &Stage) -> Vec<Yaml> {
    let artifact = stage.artifact((stage.each != Each::Once).then_some("${{ matrix.id }}"));
    let mut steps = vec![
        map([
            key("uses", text(CHECKOUT)),
            key(
                "with",
                map([
                    key("repository", text("${{ inputs.repository || github.repository }}")),
                    key("ref", text("${{ inputs.ref }}")),
                    key("path", text("repo")),
                    key("fetch-depth", number(0)),
                ]),
            ),
        ]),
        map([
            key("uses", text(CHECKOUT)),
            key(
                "with",
                map([
                    key("repository", text(&description.fleet.repository)),
                    key("ref", text("${{ inputs.fleet-ref }}")),
                    key("path", text("fleet")),
                ]),
            ),
        ]),
        // In a container, the workspace's path differs from the expressions'.
        map([
            key("name", text("Paths")),
            key(
                "run",
                text(
                    "{\n  echo \"FLEET_HOME=$GITHUB_WORKSPACE/fleet\"\n  echo \"FLEET_REPO=$GITHUB_WORKSPACE/repo\"\n  \
                     echo \"FLEET_IN=$GITHUB_WORKSPACE/in\"\n  echo \"FLEET_OUT=$GITHUB_WORKSPACE/out\"\n  \
                     echo \"FLEET_CACHE=$GITHUB_WORKSPACE/cache\"\n} >> \"$GITHUB_ENV\"\n",
                ),
            ),
        ]),
    ];
    if stage.cache {
        let once = if stage.each == Each::Once { "once" } else { "${{ matrix.build }}" };
        let name = format!("fleet-{}-{once}-", stage.name);
        steps.push(map([
            key("uses", text(CACHE)),
            key(
                "with",
                map([
                    key("path", text("cache")),
                    key(
                        "key",
                        text(format!(
                            "{name}${{{{ hashFiles('fleet/Cargo.lock') }}}}-${{{{ github.run_id }}}}"
                        )),
                    ),
                    key(
                        "restore-keys",
                        text(format!("{name}${{{{ hashFiles('fleet/Cargo.lock') }}}}-\n{name}\n")),
                    ),
                ]),
            ),
        ]));
    }
    steps.extend(stage.takes.iter().map(|take| {
        let pattern = match take {
            Take::Of(name) => (*name).to_owned(),
            Take::Build => "compile-${{ matrix.build }}".to_owned(),
            Take::All(name) => format!("{name}-*"),
        };
        map([
            key("uses", text(DOWNLOAD)),
            // With a pattern, each is in a folder of its name, even if there is only one.
            key("with", texts([("pattern", pattern), ("path", "in".to_owned())])),
        ])
    }));
    for step in stage.steps {
        steps.push(shell(step));
        if stage.name == "hipify" && step.name == "hipify" {
            steps.push(map([
                key("uses", text(SARIF)),
                // Code scanning may be off, and forks' tokens may be read-only, so only the stage itself
                // decides.
                key("continue-on-error", truth(true)),
                key("if", text("${{ !cancelled() && hashFiles('out/hipify.sarif') != '' }}")),
                key(
                    "with",
                    texts([
                        ("sarif_file", "out/hipify.sarif"),
                        ("checkout_path", "${{ github.workspace }}/repo"),
                        ("category", "hipify"),
                    ]),
                ),
            ]));
        }
    }
    if stage.leaves {
        steps.push(map([
            key("uses", text(UPLOAD)),
            key("if", text("${{ !cancelled() }}")),
            key(
                "with",
                map([
                    key("name", text(artifact)),
                    key("path", text("out")),
                    key("if-no-files-found", text("error")),
                    key("overwrite", truth(true)),
                ]),
            ),
        ]));
    }
    steps
}

fn shell(step: &Step) -> Yaml {
    let mut entries = vec![key("name", text(step.title))];
    if step.name == "preamble" {
        entries.push(key("id", text("preamble")));
    }
    match step.when {
        When::Passed => {}
        When::Failed => entries.push(key("if", text("${{ failure() }}"))),
        When::Always => entries.push(key("if", text("${{ !cancelled() }}"))),
    }
    entries.push(key("run", text(step.command())));
    map(entries)
}

/// The workflow that builds all components, each after its dependencies.
fn aggregate(description: &Description) -> Yaml {
    let jobs = description.in_order().into_iter().map(|component| {
        let mut entries = Vec::new();
        if !component.depends.is_empty() {
            entries.push(key("needs", line(component.depends.clone())));
        }
        entries.push(key("uses", text("./.github/workflows/fleet.yml")));
        entries.push(key(
            "permissions",
            texts([("contents", "read"), ("security-events", "write"), ("pull-requests", "write")]),
        ));
        entries.push(key(
            "with",
            map([
                key("component", text(&component.name)),
                key("tier", text("${{ inputs.tier || 'full' }}")),
                key("fleet-ref", text("${{ github.sha }}")),
                key("repository", text(&component.repository)),
                key("ref", text(&component.branch)),
            ]),
        ));
        entries.push(key("secrets", text("inherit")));
        key(component.name.replace('.', "_"), map(entries))
    });
    map([
        Entry::Comment(format!("{HEADER}\nBuilds all components, each behind those that it depends on.")),
        key("name", text("fleet aggregate")),
        key(
            "on",
            map([
                key("schedule", Yaml::List(vec![map([key("cron", text(&description.fleet.nightly))])])),
                key(
                    "workflow_dispatch",
                    map([key(
                        "inputs",
                        map([key(
                            "tier",
                            map([
                                key("description", text("How much of the matrix")),
                                key("type", text("choice")),
                                key("options", line(["quick", "standard", "full"])),
                                key("default", text("standard")),
                            ]),
                        )]),
                    )]),
                ),
            ]),
        ),
        key(
            "concurrency",
            map([key("group", text("fleet-aggregate")), key("cancel-in-progress", truth(true))]),
        ),
        key("permissions", texts([("contents", "read")])),
        Entry::Gap,
        key("jobs", map(jobs)),
    ])
}
