//! The job matrix: operating system × ROCm × target, with shards of tests and pools of GPUs.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::description::{Component, Description, Os, Rocm, Runner, Target, Tier};
use crate::stages::Each;

/// One job of a stage that has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Its name, unique in its stage.
    pub id: String,
    /// The lowest tier that has it.
    pub tier: Tier,
    /// The target.
    pub target: String,
    /// The release of ROCm.
    pub rocm: String,
    /// The operating system.
    pub os: String,
    /// The package manager.
    pub package_manager: String,
    /// The container image.
    pub image: String,
    /// How each system finds a machine.
    pub runner: Runner,
    /// The row of `compile` whose output it takes.
    pub build: String,
    /// The part of the tests, such as `1/2`.
    pub shard: String,
    /// The device of its tests, as a URI.
    pub device: String,
    /// How many GPUs it gets; 0 for virtual ones.
    pub gpus: u32,
    /// Its time limit, in minutes.
    pub minutes: u32,
}

/// A row's environment variables for steps, and their fields.
pub const VARIABLES: [(&str, &str); 10] = [
    ("FLEET_ROW", "id"),
    ("FLEET_TARGET", "target"),
    ("FLEET_ROCM", "rocm"),
    ("FLEET_OS", "os"),
    ("FLEET_IMAGE", "image"),
    ("FLEET_PACKAGE_MANAGER", "package-manager"),
    ("FLEET_BUILD_ROW", "build"),
    ("FLEET_SHARD", "shard"),
    ("FLEET_DEVICE", "device"),
    ("FLEET_GPUS", "gpus"),
];

impl Row {
    /// Its fields, as in JSON, in alphabetical order.
    #[must_use]
    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(mut fields @ Value::Object(_)) => {
                // With serde_json's `preserve_order`, which another crate may turn on, they are in our order.
                fields.sort_all_objects();
                fields.as_object().cloned().unwrap_or_default()
            }
            // Only strings and numbers: this cannot fail.
            _ => Map::new(),
        }
    }

    /// Its variables and their values.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let fields = self.fields();
        let text = |field: &str| match fields.get(field) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        VARIABLES.iter().map(|(variable, field)| (*variable, text(field))).collect()
    }
}

/// The rows of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Of `compile`.
    pub builds: Vec<Row>,
    /// Of `test`, on virtual GPUs.
    pub tests: Vec<Row>,
    /// Of `gpu`, on pools.
    pub pools: Vec<Row>,
}

impl Rows {
    /// The rows of a component, of all tiers.
    #[must_use]
    pub fn of(description: &Description, component: &Component) -> Self {
        let chosen =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|other| other == name);
        let systems: Vec<&Os> = description.os.iter().filter(|os| chosen(&component.os, &os.name)).collect();
        let targets: Vec<&Target> =
            description.target.iter().filter(|target| chosen(&component.targets, &target.name)).collect();
        let minutes = component.timeout.unwrap_or(description.fleet.timeout);
        let mut rows = Self { builds: Vec::new(), tests: Vec::new(), pools: Vec::new() };
        for (index, os) in systems.iter().enumerate() {
            for rocm in &description.rocm {
                for target in &targets {
                    let build = build_row(os, rocm, target, minutes);
                    if target.vgpu {
                        rows.tests.extend((1..=component.shards).map(|shard| Row {
                            id: match component.shards {
                                1 => build.id.clone(),
                                _ => format!("{}-part-{shard}", build.id),
                            },
                            shard: format!("{shard}/{}", component.shards),
                            device: format!("vgpu:{}", target.name),
                            ..build.clone()
                        }));
                    }
                    // Real GPUs are scarce: one operating system is enough there.
                    if target.gpu && index == 0 {
                        rows.pools.extend(pool_rows(description, &build));
                    }
                    rows.builds.push(build);
                }
            }
        }
        rows
    }

    /// The rows of a kind of stage; empty for one that runs once.
    #[must_use]
    pub fn each(&self, each: Each) -> &[Row] {
        match each {
            Each::Once => &[],
            Each::Build => &self.builds,
            Each::Test => &self.tests,
            Each::Pool => &self.pools,
        }
    }

    /// The rows of a tier, including those of lower tiers.
    #[must_use]
    pub fn of_tier(&self, each: Each, tier: Tier) -> Vec<&Row> {
        self.each(each).iter().filter(|row| row.tier <= tier).collect()
    }
}

fn build_row(os: &Os, rocm: &Rocm, target: &Target, minutes: u32) -> Row {
    let id = format!("{}-rocm{}-{}", target.name, rocm.release, os.name);
    Row {
        tier: os.tier.max(rocm.tier).max(target.tier),
        target: target.name.clone(),
        rocm: rocm.release.clone(),
        os: os.name.clone(),
        package_manager: os.package_manager.name().to_owned(),
        image: os.image.clone(),
        runner: os.runner.clone(),
        build: id.clone(),
        id,
        shard: "1/1".to_owned(),
        device: String::new(),
        gpus: 0,
        minutes,
    }
}

fn pool_rows(description: &Description, build: &Row) -> Vec<Row> {
    let pools = description.pool.iter().filter(|pool| pool.enabled && pool.target == build.target);
    let rows = pools.flat_map(|pool| {
        pool.gpus.iter().map(|&gpus| Row {
            id: format!("{}-{gpus}-gpu-rocm{}", pool.name, build.rocm),
            tier: build.tier.max(pool.tier),
            runner: pool.runner.clone(),
            device: "amdgpu".to_owned(),
            gpus,
            ..build.clone()
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::tests::{EXAMPLE, with};

    fn ids(rows: &[&Row]) -> Vec<String> {
        rows.iter().map(|row| row.id.clone()).collect()
    }

    fn rows(description: &Description, name: &str) -> Rows {
        Rows::of(description, description.component(name).expect("a component"))
    }

    #[test]
    fn a_tier_has_the_rows_of_those_below() {
        let description = Description::parse(EXAMPLE).expect("the example");
        let rows = rows(&description, "reduce");
        assert_eq!(ids(&rows.of_tier(Each::Build, Tier::Quick)), ["gfx942-rocm7.2-debian-13"]);
        assert_eq!(rows.of_tier(Each::Build, Tier::Standard).len(), 3);
        // Two systems, two releases, three targets.
        assert_eq!(rows.of_tier(Each::Build, Tier::Full).len(), 12);
        assert_eq!(rows.of_tier(Each::Once, Tier::Full).len(), 0);
    }

    #[test]
    fn switches_of_targets_and_pools_hold() {
        let description = Description::parse(EXAMPLE).expect("the example");
        let rows = rows(&description, "reduce");
        // gfx1201 has no tests on virtual GPUs, gfx1100 none on its pool.
        let tests = rows.of_tier(Each::Test, Tier::Standard);
        assert_eq!(
            ids(&tests),
            [
                "gfx942-rocm7.2-debian-13-part-1",
                "gfx942-rocm7.2-debian-13-part-2",
                "gfx1100-rocm7.2-debian-13-part-1",
                "gfx1100-rocm7.2-debian-13-part-2"
            ]
        );
        let pools = rows.of_tier(Each::Pool, Tier::Standard);
        assert_eq!(ids(&pools), ["mi300x-1-gpu-rocm7.2", "mi300x-8-gpu-rocm7.2"]);
        assert_eq!(pools[1].build, "gfx942-rocm7.2-debian-13");
        let off = with("gpus = [1, 8]", "gpus = [1, 8]\nenabled = false").expect("the example");
        assert!(self::rows(&off, "reduce").pools.is_empty());
    }

    #[test]
    fn steps_read_a_row_from_variables() {
        let description = Description::parse(EXAMPLE).expect("the example");
        let rows = rows(&description, "engine");
        let variables = rows.tests[0].variables();
        for pair in [
            ("FLEET_TARGET", "gfx942"),
            ("FLEET_DEVICE", "vgpu:gfx942"),
            ("FLEET_SHARD", "1/1"),
            ("FLEET_GPUS", "0"),
            ("FLEET_PACKAGE_MANAGER", "apt"),
        ] {
            assert!(variables.contains(&(pair.0, pair.1.to_owned())), "{pair:?}: {variables:?}");
        }
        assert_eq!(rows.tests[0].minutes, 90);
        let fields = rows.tests[0].fields();
        assert!(VARIABLES.iter().all(|(_, field)| fields.contains_key(*field)), "{fields:?}");
    }
}
