//! The Dockerfiles: one to build and test without a GPU, one to test on a GPU what was built.

use crate::Table;
use crate::table::key_file;

const MADE: &str = "# Made by `cargo xtask images` from ci/images/images.toml.\n";

/// The step that installs packages, and leaves no lists behind.
fn install(packages: &[String]) -> String {
    let packages: String = packages.iter().map(|package| format!("        {package} \\\n")).collect();
    format!(
        "RUN apt-get update \\\n    && apt-get install --yes --no-install-recommends \\\n{packages}    \
         && rm -rf /var/lib/apt/lists/*\n"
    )
}

/// The image in which the workspace is built.
pub(crate) fn build(table: &Table, rust: &str) -> String {
    let (image, codename) = &table.build_image;
    let install = install(&table.build_packages);
    format!(
        "{MADE}# Builds the workspace, and runs everything that needs no GPU: docker build --file ci/images/build/Dockerfile .\n\
         FROM {image}:{rust}-{codename}\n\
         ENV DEBIAN_FRONTEND=noninteractive CARGO_INCREMENTAL=0\n\
         SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\n\
         {install}\
         RUN rustup component add clippy rustfmt\n\
         RUN useradd --create-home --uid 1000 {user}\n\
         USER {user}\n\
         WORKDIR /home/{user}/project\n\
         # The device compiler and the tools of the tests, so that containers begin with them.\n\
         COPY --chown={user} . .\n\
         RUN cargo xtask setup --yes \\\n    && cargo fetch --locked\n\
         CMD [\".ci/run\"]\n",
        user = table.user
    )
}

/// The image in which tests run on a GPU.
pub(crate) fn test(table: &Table) -> String {
    let (image, version) = &table.test_image;
    let mut out = format!(
        "{MADE}# Runs on a GPU what the build image has built. Keys come from `cargo xtask images --fetch-keys`:\n\
         #   docker build --file ci/images/test/Dockerfile --build-context keys=target/images/keys .\n\
         #   docker run --device /dev/kfd --device /dev/dri --group-add video --group-add render …\n\
         FROM {image}:{version}\n\
         ENV DEBIAN_FRONTEND=noninteractive\n\
         SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\n"
    );
    for key in table.keys_on("test") {
        out += &format!("COPY --from=keys {}.asc {}\n", key.name, key_file(&key.name));
    }
    // Before there are certificates, sources that need them cannot be read.
    out += &install(&["ca-certificates".to_owned()]);
    for source in table.sources_on("test") {
        let lines = |text: &str| {
            text.lines().map(|line| format!("'{line}'")).collect::<Vec<_>>().join(" \\\n        ")
        };
        let stanza = lines(&source.stanza(&table.test_codename));
        out += &format!(
            "RUN printf '%s\\n' \\\n        {stanza} \\\n    > /etc/apt/sources.list.d/{}.sources\n",
            source.name
        );
        if let Some(preferences) = source.preferences() {
            let preferences = lines(&preferences);
            out += &format!(
                "RUN printf '%s\\n' \\\n        {preferences} \\\n    > /etc/apt/preferences.d/{}\n",
                source.name
            );
        }
    }
    out += &install(&table.test_packages);
    // The groups exist with the machine's numbers only there; `--group-add` names them.
    out += &format!(
        "RUN groupadd --force render \\\n    && useradd --create-home --groups video,render {user}\n\
         USER {user}\n\
         WORKDIR /home/{user}\n\
         CMD [\"rocminfo\"]\n",
        user = table.user
    );
    out
}

/// The commands of a Dockerfile's `RUN` steps, each on one line.
pub fn run_steps(text: &str) -> Vec<String> {
    let (mut steps, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("RUN ") else { continue };
        let mut step = first.to_owned();
        while let Some(start) = step.strip_suffix('\\') {
            step = format!("{}{}", start, lines.next().unwrap_or_default().trim_start());
        }
        steps.push(step);
    }
    steps
}
