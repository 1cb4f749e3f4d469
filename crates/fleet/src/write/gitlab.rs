//! Files to include for GitLab CI.

use super::{File, HEADER, all_jobs, context, once, prefixed};
use crate::description::{Component, Description, Tier};
use crate::rows::Rows;
use crate::stages::{self, Each, Stage, Take, When};
use crate::yaml::{Entry, Yaml, key, line, map, text, texts, truth};

/// Folders inside the project's, because artifacts must be there.
const FOLDER: &str = "$CI_PROJECT_DIR/.fleet";

pub(super) fn files(description: &Description) -> Vec<File> {
    let mut files = vec![
        File { path: "ci/gitlab/fleet.yml".into(), text: template(description).document() },
        File { path: "ci/gitlab/aggregate.yml".into(), text: aggregate(description).document() },
    ];
    files.extend(description.component.iter().map(|component| File {
        path: format!("ci/gitlab/components/{}.yml", component.name).into(),
        text: jobs(description, component).document(),
    }));
    files
}

/// The file that all components include.
fn template(description: &Description) -> Yaml {
    let mut variables: Vec<(String, String)> = context(2)
        .filter(|(name, _)| *name != "FLEET_EVENT")
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    variables.extend(all_jobs(description).map(|(name, value)| (name.to_owned(), value)));
    variables.extend(once(description).map(|(name, value)| (name.to_owned(), value)));
    for (name, folder) in [("HOME", "home"), ("IN", "artifacts"), ("CACHE", "cache")] {
        variables.push((format!("FLEET_{name}"), format!("{FOLDER}/{folder}")));
    }
    variables.push(("FLEET_REPO".into(), "$CI_PROJECT_DIR".into()));
    variables.push(("FLEET_HOME_REF".into(), description.fleet.r#ref.clone()));
    let address =
        format!("https://gitlab-ci-token:$CI_JOB_TOKEN@$CI_SERVER_HOST/{}.git", description.fleet.repository);
    variables.push(("FLEET_HOME_URL".into(), address));
    variables.push(("GIT_DEPTH".into(), "0".into()));

    let rule = |condition: &str, tier: &str, event: &str| {
        map([
            key("if", text(condition)),
            key("variables", texts([("FLEET_TIER", tier), ("FLEET_EVENT", event)])),
        ])
    };
    let rules = vec![
        map([key("if", text("$FLEET_TIER")), key("variables", texts([("FLEET_EVENT", "manual")]))]),
        rule("$CI_PIPELINE_SOURCE == \"merge_request_event\"", "quick", "pull-request"),
        rule("$CI_COMMIT_TAG", "full", "tag"),
        rule("$CI_PIPELINE_SOURCE == \"schedule\"", "full", "nightly"),
        rule("$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "standard", "push"),
    ];
    let mut entries = vec![
        Entry::Comment(format!(
            "{HEADER}\nWhat the jobs of all components have in common; docs/use/fleet.md has the stub that leads to it."
        )),
        key("stages", line(stages::ALL.iter().map(|stage| stage.name))),
        Entry::Gap,
        key(
            "workflow",
            map([
                key("auto_cancel", texts([("on_new_commit", "interruptible")])),
                key("rules", Yaml::List(rules)),
            ]),
        ),
        Entry::Gap,
        key("variables", texts(variables)),
    ];
    for stage in stages::ALL {
        entries.push(Entry::Gap);
        entries.push(Entry::Comment(stage.about.to_owned()));
        entries.push(key(format!(".fleet-{}", stage.name), stage_template(description, stage)));
    }
    map(entries)
}

fn stage_template(description: &Description, stage: &Stage) -> Yaml {
    let os = &description.os[0];
    let mut entries = vec![key("stage", text(stage.name)), key("interruptible", truth(!stage.releases))];
    if stage.each == Each::Once {
        entries.push(key("image", text(&os.image)));
        entries.push(key("tags", line(os.runner.gitlab.clone())));
        entries.push(key("timeout", text(format!("{} minutes", description.fleet.timeout))));
        let out = format!("{FOLDER}/artifacts/{}", stage.name);
        entries.push(key("variables", texts([("FLEET_STAGE", stage.name.to_owned()), ("FLEET_OUT", out)])));
    }
    if stage.each != Each::Once {
        entries.push(key("variables", texts([("FLEET_STAGE", stage.name)])));
    }
    if stage.cache {
        let name = if stage.each == Each::Once { "once" } else { "$FLEET_BUILD_ROW" };
        entries.push(key(
            "cache",
            map([
                key("key", text(format!("fleet-{}-{name}", stage.name))),
                key("paths", line([".fleet/cache"])),
            ]),
        ));
    }
    entries.push(key(
        "before_script",
        Yaml::List(vec![
            text("rm -rf \"$FLEET_HOME\""),
            text("git clone --quiet --depth 1 --branch \"$FLEET_HOME_REF\" \"$FLEET_HOME_URL\" \"$FLEET_HOME\""),
        ]),
    ));
    let steps = |after: bool| {
        let chosen = stage.steps.iter().filter(move |step| (step.when != When::Passed) == after);
        let lines = chosen.map(|step| match step.when {
            When::Failed => text(format!("[ \"$CI_JOB_STATUS\" = success ] || {}", step.command())),
            _ => text(step.command()),
        });
        lines.collect::<Vec<_>>()
    };
    entries.push(key("script", Yaml::List(steps(false))));
    let after = steps(true);
    if !after.is_empty() {
        entries.push(key("after_script", Yaml::List(after)));
    }
    if stage.leaves {
        let mut artifacts = vec![
            key("when", text("always")),
            key("expire_in", text("2 weeks")),
            key(
                "paths",
                line([match stage.each {
                    Each::Once => format!(".fleet/artifacts/{}", stage.name),
                    _ => format!(".fleet/artifacts/{}-$FLEET_ROW", stage.name),
                }]),
            ),
        ];
        match stage.name {
            "hipify" => artifacts
                .push(key("reports", texts([("codequality", ".fleet/artifacts/hipify/codequality.json")]))),
            "test" | "gpu" => artifacts.push(key(
                "reports",
                texts([("junit", format!(".fleet/artifacts/{}-$FLEET_ROW/junit.xml", stage.name))]),
            )),
            _ => {}
        }
        entries.push(key("artifacts", map(artifacts)));
    }
    map(entries)
}

/// The jobs of a component.
fn jobs(description: &Description, component: &Component) -> Yaml {
    let rows = Rows::of(description, component);
    let mut entries = vec![
        Entry::Comment(format!("{HEADER}\nThe jobs of `{}`.", component.name)),
        key("include", Yaml::List(vec![map([key("local", text("/ci/gitlab/fleet.yml"))])])),
        Entry::Gap,
        key("variables", texts([("FLEET_COMPONENT", component.name.as_str())])),
    ];
    for stage in stages::ALL {
        entries.push(Entry::Gap);
        if stage.each == Each::Once {
            let mut job = vec![key("extends", text(format!(".fleet-{}", stage.name)))];
            if !matches!(stage.name, "package" | "publish") {
                job.push(key("needs", line(stage.needs.iter().copied())));
            }
            job.push(key("rules", rules(component, Tier::Quick, stage.releases)));
            entries.push(key(stage.name, map(job)));
            continue;
        }
        for row in rows.each(stage.each) {
            let mut variables: Vec<(String, String)> =
                row.variables().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            variables
                .push(("FLEET_OUT".into(), format!("{FOLDER}/artifacts/{}", stage.artifact(Some(&row.id)))));
            let mut needs: Vec<Yaml> = Vec::new();
            for take in stage.takes {
                needs.push(text(match take {
                    Take::Of(name) | Take::All(name) => (*name).to_owned(),
                    Take::Build => format!("compile {}", row.build),
                }));
            }
            if stage.each == Each::Pool {
                // Do not occupy real GPUs with code that failed on virtual ones.
                let tests = rows.tests.iter().filter(|test| test.build == row.build);
                needs.extend(tests.map(|test| text(format!("test {}", test.id))));
            }
            entries.push(key(
                format!("{} {}", stage.name, row.id),
                map([
                    key("extends", text(format!(".fleet-{}", stage.name))),
                    key("image", text(&row.image)),
                    key("tags", line(row.runner.gitlab.clone())),
                    key("timeout", text(format!("{} minutes", row.minutes))),
                    key("needs", Yaml::List(needs)),
                    key("rules", rules(component, row.tier, stage.releases)),
                    key("variables", texts(variables)),
                ]),
            ));
        }
    }
    map(entries)
}

/// The pipelines that contain a job.
fn rules(component: &Component, tier: Tier, releases: bool) -> Yaml {
    if releases {
        return Yaml::List(vec![map([key("if", text("$FLEET_EVENT =~ /^(nightly|tag)$/"))])]);
    }
    let tiers: Vec<_> = Tier::ALL.into_iter().filter(|other| tier <= *other).map(Tier::name).collect();
    let condition = format!("$FLEET_TIER =~ /^({})$/", tiers.join("|"));
    if component.paths.is_empty() {
        return Yaml::List(vec![map([key("if", text(condition))])]);
    }
    let paths = component.paths.iter().map(|path| prefixed(component, path));
    Yaml::List(vec![
        map([
            key("if", text(format!("{condition} && $FLEET_EVENT == \"pull-request\""))),
            key("changes", map([key("paths", line(paths))])),
        ]),
        map([key("if", text(format!("{condition} && $FLEET_EVENT != \"pull-request\"")))]),
    ])
}

/// The pipeline that runs all components' pipelines, each after its dependencies.
fn aggregate(description: &Description) -> Yaml {
    let mut entries = vec![
        Entry::Comment(format!(
            "{HEADER}\nRuns the pipelines of all components, each behind those that it depends on."
        )),
        key("stages", line(["components"])),
        key("variables", texts([("FLEET_AGGREGATE_TIER", "full")])),
    ];
    for component in description.in_order() {
        entries.push(Entry::Gap);
        entries.push(key(
            &component.name,
            map([
                key("stage", text("components")),
                key("needs", line(component.depends.clone())),
                key("variables", texts([("FLEET_TIER", "$FLEET_AGGREGATE_TIER")])),
                key(
                    "trigger",
                    texts([
                        ("project", component.repository.as_str()),
                        ("branch", component.branch.as_str()),
                        ("strategy", "depend"),
                    ]),
                ),
            ]),
        ));
    }
    map(entries)
}
