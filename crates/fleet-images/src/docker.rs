//! The Dockerfiles: one to build and test without a GPU, one to test the results on a GPU.

use crate::Table;
use crate::table::key_file;

/// The id of the user that runs jobs: 1000 is another user in Ubuntu's image.
const USER: u32 = 1001;

const MADE: &str = "# Made by `cargo xtask ci images` from ci/images/images.toml.\n";

/// The step that installs packages and removes the package lists.
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
         RUN rustup component add clippy rustfmt \\\n    && useradd --create-home --uid {USER} {user} \\\n    \
         && install --directory --owner={user} /home/{user}/project\n\
         USER {USER}\n\
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
        "{MADE}# Runs on a GPU what the build image has built. Keys come from `cargo xtask ci images --fetch-keys`:\n\
         #   docker build --file ci/images/test/Dockerfile target/images\n\
         #   docker run --device /dev/kfd --device /dev/dri --group-add video --group-add render …\n\
         FROM {image}:{version}\n\
         ENV DEBIAN_FRONTEND=noninteractive\n\
         SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\n"
    );
    for key in table.keys_on("test") {
        out += &format!("COPY keys/{}.asc {}\n", key.name, key_file(&key.name));
    }
    // Sources over HTTPS need certificates, so these come first.
    out += &install(&["ca-certificates".to_owned()]);
    // One step: a file for each source, and for its preferences.
    let mut files = Vec::new();
    for source in table.sources_on("test") {
        let stanza = source.stanza(&table.test_codename);
        files.push((format!("sources.list.d/{}.sources", source.name), stanza));
        files.extend(source.preferences().map(|text| (format!("preferences.d/{}", source.name), text)));
    }
    let written = files.iter().map(|(path, text)| {
        let lines: String = text.lines().map(|line| format!("        '{line}' \\\n")).collect();
        format!("printf '%s\\n' \\\n{lines}        > /etc/apt/{path}")
    });
    out += &format!("RUN {}\n", written.collect::<Vec<_>>().join(" \\\n    && "));
    out += install(&table.test_packages).trim_end();
    // The groups' ids are known only on the machine; `--group-add` names them.
    out += &format!(
        " \\\n    && groupadd --force render \\\n    \
         && useradd --create-home --uid {USER} --groups video,render {user}\n\
         USER {USER}\n\
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
