//! Properties that hold for any input, for tests and fuzz targets.

use rccl::{Launch, LaunchError};

/// The variables that launchers, users and administrators set.
pub(crate) const NAMES: [&str; 30] = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_MCA_ess_base_jobid",
    "OMPI_MCA_orte_precondition_transports",
    "PMIX_NAMESPACE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "PMI_JOBID",
    "HYDRA_JOBID",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "SLURM_STEP_NODELIST",
    "SLURM_LAUNCH_NODE_IPADDR",
    "FERROCM_RCCL_ADDRESS",
    "FERROCM_RCCL_SECRET",
];

/// Each line sets a variable: the number of its name in the list above (or the name), a `=`, and its value.
/// The variables are either an error that names one of them, or they say where rank 0 is and which rank this
/// is, without contradiction.
pub(crate) fn variables(text: &str) {
    let line = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let listed = name.parse().ok().and_then(|index: usize| NAMES.get(index).copied());
        Some((listed.unwrap_or(name).to_owned(), value.to_owned()))
    };
    let set: std::collections::HashMap<_, _> = text.lines().filter_map(line).collect();
    match Launch::from_variables(|name| set.get(name).cloned()) {
        Ok(launch) => {
            assert!(launch.rank() < launch.size() && launch.local_rank() < launch.size(), "{launch:?}");
            let local_size = launch.local_size().unwrap_or(launch.size());
            assert!(launch.local_rank() < local_size && local_size <= launch.size(), "{launch:?}");
            let (host, port) = launch.address();
            assert!(!host.is_empty() && port != 0, "{launch:?}");
            if let Some(secret) = set.get("FERROCM_RCCL_SECRET").filter(|secret| secret.len() > 40) {
                assert!(!format!("{launch:?}").contains(secret.as_str()), "{launch:?}");
            }
        }
        Err(LaunchError::NoLauncher { .. }) => {}
        Err(error) => {
            let text = error.to_string();
            assert!(NAMES.iter().any(|name| text.contains(name)), "{text}");
        }
    }
}
