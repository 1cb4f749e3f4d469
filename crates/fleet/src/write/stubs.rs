//! The few lines in a component's own repository.

use super::azure::{resource_kind, schedules};
use super::{File, prefixed};
use crate::description::{Component, Description};
use crate::yaml::{Entry, Yaml, key, line, map, text, texts};

pub(super) fn files(description: &Description) -> Vec<File> {
    let mut files = Vec::new();
    for component in &description.component {
        for (system, place, document) in [
            ("github", ".github/workflows/ci.yml", github(description, component)),
            ("azure", "azure-pipelines.yml", azure(description, component)),
            ("gitlab", ".gitlab-ci.yml", gitlab(description, component)),
        ] {
            let Yaml::Map(mut entries) = document else { continue };
            entries.insert(
                0,
                Entry::Comment(format!(
                    "Copy to {place} of {}.\nWritten by `cargo xtask ci generate` of {}; all else is there.",
                    component.repository, description.fleet.repository
                )),
            );
            let path = format!("ci/stubs/{}/{system}.yml", component.name).into();
            files.push(File { path, text: Yaml::Map(entries).document() });
        }
    }
    files
}

fn github(description: &Description, component: &Component) -> Yaml {
    let fleet = &description.fleet;
    let uses = format!("{}/.github/workflows/fleet.yml@{}", fleet.repository, fleet.r#ref);
    map([
        Entry::Gap,
        key("name", text("ci")),
        key(
            "on",
            map([
                key("pull_request", map([])),
                key("push", map([key("branches", line([&component.branch])), key("tags", line(["v*"]))])),
                key("schedule", Yaml::List(vec![map([key("cron", text(&fleet.nightly))])])),
                Entry::Comment("A component that this one depends on has a new archive.".into()),
                key("repository_dispatch", map([key("types", line(["fleet-upstream"]))])),
                key("workflow_dispatch", map([])),
            ]),
        ),
        key(
            "concurrency",
            map([
                key("group", text("ci-${{ github.ref }}")),
                key("cancel-in-progress", text("${{ github.event_name == 'pull_request' }}")),
            ]),
        ),
        key(
            "permissions",
            texts([("contents", "read"), ("security-events", "write"), ("pull-requests", "write")]),
        ),
        key(
            "jobs",
            map([key(
                "fleet",
                map([
                    key("uses", text(uses)),
                    key("with", texts([("component", component.name.as_str())])),
                    key("secrets", text("inherit")),
                ]),
            )]),
        ),
    ])
}

fn azure(description: &Description, component: &Component) -> Yaml {
    let fleet = &description.fleet;
    let (kind, endpoint) = resource_kind(description);
    let mut repository = vec![
        key("repository", text("fleet")),
        key("type", text(kind)),
        key("name", text(&fleet.repository)),
        key("ref", text(format!("refs/heads/{}", fleet.r#ref))),
    ];
    repository.extend(endpoint.map(|endpoint| key("endpoint", text(endpoint))));
    let mut resources = vec![key("repositories", Yaml::List(vec![map(repository)]))];
    if !component.depends.is_empty() {
        resources.push(Entry::Comment(
            "A new build of a component that this one depends on starts one here.".into(),
        ));
        let pipelines = component.depends.iter().map(|name| {
            map([
                key("pipeline", text(name.replace(['-', '.'], "_"))),
                key("source", text(name)),
                key(
                    "trigger",
                    map([key(
                        "branches",
                        map([key(
                            "include",
                            line([&description
                                .component
                                .iter()
                                .find(|other| other.name == *name)
                                .map_or("main", |other| other.branch.as_str())
                                .to_owned()]),
                        )]),
                    )]),
                ),
            ])
        });
        resources.push(key("pipelines", Yaml::List(pipelines.collect())));
    }
    let paths = component.paths.iter().map(|path| prefixed(component, path)).collect::<Vec<_>>();
    let mut trigger = vec![
        key("batch", text("true")),
        key("branches", map([key("include", line([&component.branch]))])),
        key("tags", map([key("include", line(["v*"]))])),
    ];
    let mut pr = vec![
        key("autoCancel", text("true")),
        key("branches", map([key("include", line([&component.branch]))])),
    ];
    if !paths.is_empty() {
        trigger.push(key("paths", map([key("include", line(paths.clone()))])));
        pr.push(key("paths", map([key("include", line(paths))])));
    }
    map([
        Entry::Gap,
        key("trigger", map(trigger)),
        key("pr", map(pr)),
        key("schedules", schedules(description, &component.branch)),
        key("resources", map(resources)),
        key(
            "stages",
            Yaml::List(vec![map([key(
                "template",
                text(format!("ci/azure/components/{}.yml@fleet", component.name)),
            )])]),
        ),
    ])
}

fn gitlab(description: &Description, component: &Component) -> Yaml {
    map([
        Entry::Gap,
        key(
            "include",
            Yaml::List(vec![map([
                key("project", text(&description.fleet.repository)),
                key("ref", text(&description.fleet.r#ref)),
                key("file", text(format!("/ci/gitlab/components/{}.yml", component.name))),
            ])]),
        ),
    ])
}
