//! Templates for Azure Pipelines.

use super::{File, HEADER, SIGNING, all_jobs, context, once};
use crate::description::{Component, Description, Tier};
use crate::rows::{Row, Rows, VARIABLES};
use crate::stages::{self, Each, Stage, Step, Take, When};
use crate::yaml::{Entry, Yaml, key, line, map, text, texts};

pub(super) fn files(description: &Description) -> Vec<File> {
    let mut files = vec![
        File { path: "ci/azure/fleet.yml".into(), text: template(description).document() },
        File { path: "ci/azure/aggregate.yml".into(), text: aggregate(description).document() },
    ];
    files.extend(description.component.iter().map(|component| File {
        path: format!("ci/azure/components/{}.yml", component.name).into(),
        text: rows_of(description, component).document(),
    }));
    files
}

/// Parameters of both templates.
const SHARED: [(&str, &str, &str); 4] = [
    ("tier", "''", "quick, standard or full; by the reason of the build without it"),
    ("source", "self", "The repository resource of the component"),
    ("prefix", "''", "What names of stages begin with, where several components are in one pipeline"),
    ("after", "[]", "Stages to wait for"),
];

fn parameter(name: &str, kind: &str, default: Option<&str>) -> Yaml {
    let mut entries = vec![key("name", text(name)), key("type", text(kind))];
    if let Some(default) = default {
        entries.push(key("default", Yaml::Plain(default.to_owned())));
    }
    map(entries)
}

fn shared_parameters() -> impl Iterator<Item = Yaml> {
    SHARED.iter().map(|(name, default, _)| {
        parameter(name, if *default == "[]" { "object" } else { "string" }, Some(default))
    })
}

/// A component's rows, for the template.
fn rows_of(description: &Description, component: &Component) -> Yaml {
    let rows = Rows::of(description, component);
    let mut parameters =
        vec![key("component", text(&component.name)), key("repository", text(&component.repository))];
    for (name, _, _) in &SHARED[1..] {
        parameters.push(key(*name, text(format!("${{{{ parameters.{name} }}}}"))));
    }
    let choice =
        |condition: &str, tier: &str| key(format!("${{{{ {condition} }}}}"), map([key("tier", text(tier))]));
    parameters.push(choice("if ne(parameters.tier, '')", "${{ parameters.tier }}"));
    parameters.push(choice("elseif eq(variables['Build.Reason'], 'PullRequest')", "quick"));
    parameters.push(choice(
        "elseif or(eq(variables['Build.Reason'], 'Schedule'), startsWith(variables['Build.SourceBranch'], 'refs/tags/'))",
        "full",
    ));
    parameters.push(choice("else", "standard"));
    parameters.push(Entry::Comment("The tiers in which there are rows at all.".into()));
    let has = [Each::Build, Each::Test, Each::Pool].map(|each| {
        let tiers = Tier::ALL.into_iter().filter(|tier| !rows.of_tier(each, *tier).is_empty());
        key(each.name(), line(tiers.map(Tier::name)))
    });
    parameters.push(key("has", map(has)));
    for each in [Each::Build, Each::Test, Each::Pool] {
        parameters.push(key(each.name(), Yaml::List(rows.each(each).iter().map(row).collect())));
    }
    map([
        Entry::Comment(format!(
            "{HEADER}\nThe rows of `{}`, for the template of all components.",
            component.name
        )),
        key("parameters", Yaml::List(shared_parameters().collect())),
        Entry::Gap,
        key(
            "stages",
            Yaml::List(vec![map([
                key("template", text("../fleet.yml")),
                key("parameters", map(parameters)),
            ])]),
        ),
    ])
}

fn row(row: &Row) -> Yaml {
    let mut entries = vec![key("id", text(&row.id)), key("job", text(identifier(&row.id)))];
    entries.push(key("tiers", line(Tier::ALL.into_iter().filter(|tier| row.tier <= *tier).map(Tier::name))));
    for (name, value) in row.fields() {
        match name.as_str() {
            "id" | "tier" | "runner" => {}
            _ => {
                entries.push(key(name, text(value.as_str().map_or_else(|| value.to_string(), str::to_owned))))
            }
        }
    }
    entries.push(key("pool", pool(&row.runner.azure)));
    map(entries)
}

fn pool(name: &str) -> Yaml {
    match name.strip_prefix("vmImage:") {
        Some(image) => texts([("vmImage", image)]),
        None => texts([("name", name)]),
    }
}

/// A name of a job or stage: letters, digits, underscores.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The template of all components.
fn template(description: &Description) -> Yaml {
    let mut parameters =
        vec![parameter("component", "string", None), parameter("repository", "string", None)];
    parameters.extend(shared_parameters());
    parameters.extend(["has", "builds", "tests", "pools"].map(|name| parameter(name, "object", None)));
    let comments: Vec<String> = SHARED.iter().map(|(name, _, about)| format!("{name}: {about}.")).collect();
    map([
        Entry::Comment(format!(
            "{HEADER}\nThe pipeline of a component; docs/use/fleet.md has the stub that leads to it.\n{}",
            comments.join("\n")
        )),
        key("parameters", Yaml::List(parameters)),
        Entry::Gap,
        key("stages", Yaml::List(stages::ALL.iter().map(|stage| one_stage(description, stage)).collect())),
    ])
}

fn has(each: Each) -> String {
    format!("if containsValue(parameters.has.{}, parameters.tier)", each.name())
}

fn one_stage(description: &Description, stage: &Stage) -> Yaml {
    let mut entries = vec![
        key("stage", text(format!("${{{{ parameters.prefix }}}}{}", stage.name))),
        key("displayName", text(stage.name)),
    ];
    if stage.needs.is_empty() {
        entries.push(key("dependsOn", text("${{ parameters.after }}")));
    } else {
        let needs = stage.needs.iter().map(|name| {
            let name = format!("${{{{ parameters.prefix }}}}{name}");
            let each = stages::stage(&name[name.rfind('}').map_or(0, |at| at + 1)..])
                .map_or(Each::Once, |stage| stage.each);
            match each {
                Each::Once | Each::Build => text(name),
                // A stage without jobs is left out.
                each => map([key(format!("${{{{ {} }}}}", has(each)), Yaml::List(vec![text(name)]))]),
            }
        });
        entries.push(key("dependsOn", Yaml::List(needs.collect())));
    }
    let mut conditions = Vec::new();
    if stage.needs == ["preamble"] {
        // Later stages are skipped along with these.
        conditions.push(
            "eq(dependencies.${{ parameters.prefix }}preamble.outputs['preamble.preamble.changed'], 'true')",
        );
    }
    if stage.releases {
        conditions.push("or(eq(variables['Build.Reason'], 'Schedule'), startsWith(variables['Build.SourceBranch'], 'refs/tags/'))");
    }
    if !conditions.is_empty() {
        entries.push(key("condition", text(format!("and(succeeded(), {})", conditions.join(", ")))));
    }
    let jobs = match stage.each {
        Each::Once => Yaml::List(vec![job(description, stage)]),
        each => Yaml::List(vec![map([key(
            format!("${{{{ each row in parameters.{} }}}}", each.name()),
            Yaml::List(vec![map([key(
                "${{ if containsValue(row.tiers, parameters.tier) }}",
                Yaml::List(vec![job(description, stage)]),
            )])]),
        )])]),
    };
    entries.push(key("jobs", jobs));
    match stage.each {
        Each::Test | Each::Pool => {
            map([key(format!("${{{{ {} }}}}", has(stage.each)), Yaml::List(vec![map(entries)]))])
        }
        _ => map(entries),
    }
}

fn job(description: &Description, stage: &Stage) -> Yaml {
    let many = stage.each != Each::Once;
    let mut entries = Vec::new();
    let mut variables: Vec<(String, String)> =
        context(1).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    variables.extend(all_jobs(description).map(|(name, value)| (name.to_owned(), value)));
    variables.push(("FLEET_STAGE".into(), stage.name.into()));
    variables.push(("FLEET_COMPONENT".into(), "${{ parameters.component }}".into()));
    variables.push(("FLEET_TIER".into(), "${{ parameters.tier }}".into()));
    for (name, path) in
        [("HOME", "fleet"), ("REPO", "repo"), ("IN", "in"), ("OUT", "out"), ("CACHE", "cache")]
    {
        variables.push((format!("FLEET_{name}"), format!("$(Pipeline.Workspace)/{path}")));
    }
    if many {
        entries.push(key("job", text("${{ row.job }}")));
        entries.push(key("displayName", text(format!("{} ${{{{ row.id }}}}", stage.name))));
        entries.push(key("timeoutInMinutes", text("${{ row.minutes }}")));
        entries.push(key("pool", text("${{ row.pool }}")));
        let mut container = vec![key("image", text("${{ row.image }}"))];
        if stage.each == Each::Pool {
            container.push(key(
                "options",
                text("--device /dev/kfd --device /dev/dri --security-opt seccomp=unconfined"),
            ));
        }
        entries.push(key("container", map(container)));
        variables.extend(VARIABLES.map(|(name, field)| {
            let field = if field.contains('-') { format!("['{field}']") } else { format!(".{field}") };
            (name.to_owned(), format!("${{{{ row{field} }}}}"))
        }));
    } else {
        let os = &description.os[0];
        entries.push(key("job", text(stage.name)));
        entries.push(key("timeoutInMinutes", text(description.fleet.timeout.to_string())));
        entries.push(key("pool", pool(&os.runner.azure)));
        entries.push(key("container", map([key("image", text(&os.image))])));
        variables.extend(once(description).map(|(name, value)| (name.to_owned(), value)));
    }
    entries.push(key("variables", texts(variables)));
    entries.push(key("steps", Yaml::List(steps(stage))));
    map(entries)
}

fn steps(stage: &Stage) -> Vec<Yaml> {
    let many = stage.each != Each::Once;
    let mut steps = vec![
        map([
            key("checkout", text("${{ parameters.source }}")),
            key("path", text("repo")),
            key("fetchDepth", text("0")),
        ]),
        map([key("checkout", text("fleet")), key("path", text("fleet")), key("fetchDepth", text("1"))]),
    ];
    if stage.cache {
        let row = if many { "${{ row.build }}" } else { "once" };
        steps.push(map([
            key("task", text("Cache@2")),
            key("displayName", text("Caches of compilers")),
            key(
                "inputs",
                texts([
                    (
                        "key",
                        format!(
                            "fleet | {} | {row} | $(Pipeline.Workspace)/fleet/Cargo.lock | $(Build.BuildId)",
                            stage.name
                        ),
                    ),
                    (
                        "restoreKeys",
                        format!("fleet | {} | {row} | $(Pipeline.Workspace)/fleet/Cargo.lock", stage.name),
                    ),
                    ("path", "$(Pipeline.Workspace)/cache".to_owned()),
                ]),
            ),
        ]));
    }
    if !stage.takes.is_empty() {
        let patterns: Vec<_> = stage
            .takes
            .iter()
            .map(|take| match take {
                Take::Of(name) => format!("${{{{ parameters.prefix }}}}{name}/**\n"),
                Take::Build => "${{ parameters.prefix }}compile-${{ row.build }}/**\n".to_owned(),
                Take::All(name) => format!("${{{{ parameters.prefix }}}}{name}-*/**\n"),
            })
            .collect();
        steps.push(map([
            key("task", text("DownloadPipelineArtifact@2")),
            key("displayName", text("What other jobs left")),
            key(
                "inputs",
                texts([
                    ("buildType", "current".to_owned()),
                    ("itemPattern", patterns.concat()),
                    ("targetPath", "$(Pipeline.Workspace)/in".to_owned()),
                ]),
            ),
        ]));
    }
    for step in stage.steps {
        steps.push(shell(step));
    }
    if matches!(stage.each, Each::Test | Each::Pool) {
        steps.push(map([
            key("task", text("PublishTestResults@2")),
            key("condition", text("succeededOrFailed()")),
            key("displayName", text("Results of tests")),
            key(
                "inputs",
                texts([
                    ("testResultsFormat", "JUnit"),
                    ("testResultsFiles", "junit.xml"),
                    ("searchFolder", "$(Pipeline.Workspace)/out"),
                    ("testRunTitle", "${{ row.id }}"),
                ]),
            ),
        ]));
    }
    if stage.leaves {
        let row = if many { "-${{ row.id }}" } else { "" };
        steps.push(map([
            key("publish", text("$(Pipeline.Workspace)/out")),
            key("artifact", text(format!("${{{{ parameters.prefix }}}}{}{row}", stage.name))),
            key("displayName", text("What this job leaves")),
            key("condition", text("succeededOrFailed()")),
        ]));
    }
    if stage.name == "hipify" {
        // The extension that shows SARIF reads an artifact of this name.
        steps.push(map([
            key("publish", text("$(Pipeline.Workspace)/out/hipify.sarif")),
            key("artifact", text("${{ parameters.prefix }}CodeAnalysisLogs")),
            key("displayName", text("Findings, for the tab of scans")),
            key("condition", text("succeededOrFailed()")),
        ]));
    }
    steps
}

fn shell(step: &Step) -> Yaml {
    let mut entries = vec![key("bash", text(step.command()))];
    if step.name == "preamble" {
        entries.push(key("name", text("preamble")));
    }
    entries.push(key("displayName", text(step.title)));
    match step.when {
        When::Passed => {}
        When::Failed => entries.push(key("condition", text("failed()"))),
        When::Always => entries.push(key("condition", text("succeededOrFailed()"))),
    }
    entries.push(key("workingDirectory", text("$(Pipeline.Workspace)/repo")));
    let mut environment = vec![("FLEET_TOKEN", "$(System.AccessToken)".to_owned())];
    if matches!(step.name, "publish" | "dependencies") {
        environment.push(("FLEET_STORE_TOKEN", "$(FleetStoreToken)".to_owned()));
    }
    if step.name == "publish" {
        environment.extend(SIGNING.map(|(name, azure)| (name, format!("$({azure})"))));
    }
    if matches!(step.name, "comment" | "publish" | "dependencies") {
        entries.push(key("env", texts(environment)));
    }
    map(entries)
}

/// The pipeline that builds all components, each after its dependencies.
fn aggregate(description: &Description) -> Yaml {
    let (kind, endpoint) = resource_kind(description);
    let repository = |alias: &str, name: &str, branch: &str| {
        let mut entries = vec![
            key("repository", text(alias)),
            key("type", text(kind)),
            key("name", text(name)),
            key("ref", text(format!("refs/heads/{branch}"))),
        ];
        entries.extend(endpoint.map(|endpoint| key("endpoint", text(endpoint))));
        map(entries)
    };
    let mut repositories = vec![repository("fleet", &description.fleet.repository, &description.fleet.r#ref)];
    let mut stages = Vec::new();
    for component in description.in_order() {
        let alias = identifier(&component.name);
        repositories.push(repository(&alias, &component.repository, &component.branch));
        let after: Vec<_> =
            component.depends.iter().map(|name| format!("{}_publish", identifier(name))).collect();
        stages.push(map([
            key("template", text(format!("components/{}.yml", component.name))),
            key(
                "parameters",
                map([
                    key("tier", text("full")),
                    key("source", text(&alias)),
                    key("prefix", text(format!("{alias}_"))),
                    key("after", line(after)),
                ]),
            ),
        ]));
    }
    map([
        Entry::Comment(format!("{HEADER}\nBuilds all components, each behind those that it depends on.")),
        key("trigger", text("none")),
        key("pr", text("none")),
        key("schedules", schedules(description, &description.fleet.r#ref)),
        key("resources", map([key("repositories", Yaml::List(repositories))])),
        Entry::Gap,
        key("stages", Yaml::List(stages)),
    ])
}

/// The type of repository resources, and their service connection.
pub(super) fn resource_kind(description: &Description) -> (&'static str, Option<&str>) {
    match &description.fleet.azure_endpoint {
        Some(endpoint) => ("github", Some(endpoint)),
        None => ("git", None),
    }
}

/// Nightly builds of a branch.
pub(super) fn schedules(description: &Description, branch: &str) -> Yaml {
    Yaml::List(vec![map([
        key("cron", text(&description.fleet.nightly)),
        key("displayName", text("nightly")),
        key("branches", map([key("include", line([branch]))])),
        key("always", text("true")),
    ])])
}
