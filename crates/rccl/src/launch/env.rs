//! The variables of launchers.

use super::greeting::Key;
use super::{ADDRESS_VARIABLE, Launch, LaunchError, Launcher, SECRET_VARIABLE};

/// The variables of one launcher.
struct Variables {
    launcher: Launcher,
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: Option<&'static str>,
    /// Variables with the job's name; the first that is set is used.
    job: &'static [&'static str],
    /// The variable with a secret of the job's processes, if the launcher sets one.
    secret: Option<&'static str>,
}

const LAUNCHERS: [Variables; 4] = [
    Variables {
        launcher: Launcher::Torchrun,
        rank: "RANK",
        size: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        local_size: Some("LOCAL_WORLD_SIZE"),
        job: &["TORCHELASTIC_RUN_ID"],
        secret: None,
    },
    Variables {
        launcher: Launcher::OpenMpi,
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
        secret: Some("OMPI_MCA_orte_precondition_transports"),
    },
    Variables {
        launcher: Launcher::Pmi,
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        local_size: Some("MPI_LOCALNRANKS"),
        job: &["PMI_JOBID", "HYDRA_JOBID", "SLURM_JOB_ID"],
        secret: None,
    },
    Variables {
        launcher: Launcher::Slurm,
        rank: "SLURM_PROCID",
        size: "SLURM_NTASKS",
        local_rank: "SLURM_LOCALID",
        local_size: None,
        job: &["SLURM_JOB_ID", "SLURM_JOBID"],
        secret: None,
    },
];

/// The ports for jobs that set none: the first one, and how many.
const PORTS: (u16, u16) = (21_000, 8_000);

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

fn number(variable: &'static str, value: String) -> Result<u64, LaunchError> {
    let parsed = value.trim().parse::<u64>().ok().filter(|number| *number <= i32::MAX as u64);
    parsed.ok_or_else(|| LaunchError::Value {
        variable,
        value,
        problem: "which is not a number in range".to_owned(),
    })
}

pub(super) fn read(variable: Lookup<'_>) -> Result<Launch, LaunchError> {
    let found = LAUNCHERS.iter().find(|variables| variable(variables.rank).is_some());
    let Some(names) = found else {
        let looked_for = LAUNCHERS.iter().map(|variables| variables.rank).collect();
        return Err(LaunchError::NoLauncher { looked_for });
    };
    let launcher = names.launcher;
    let missing = |missing: String| LaunchError::Missing { launcher, given: names.rank, missing };
    let needed = |name: &'static str| {
        variable(name).ok_or_else(|| missing(name.to_owned())).and_then(|value| number(name, value))
    };
    let (rank, size) = (needed(names.rank)?, needed(names.size)?);
    let order = |first, first_value, second, second_value, problem| {
        if first_value < second_value {
            return Ok(());
        }
        Err(LaunchError::Contradiction { first, first_value, second, second_value, problem })
    };
    order(names.rank, rank, names.size, size, "ranks count from 0 to the number of ranks less 1")?;
    let local_size = names.local_size.and_then(|name| Some((name, variable(name)?))).map(|(name, value)| {
        let local_size = number(name, value)?;
        order(name, local_size, names.size, size + 1, "a host cannot have more processes than the job")?;
        Ok((name, local_size))
    });
    let local_size = local_size.transpose()?;
    let local_rank = needed(names.local_rank)?;
    order(names.local_rank, local_rank, names.size, size, "a host cannot have more processes than the job")?;
    if let Some((name, local_size)) = local_size {
        order(
            names.local_rank,
            local_rank,
            name,
            local_size,
            "ranks count from 0 to the number of ranks less 1",
        )?;
    }
    let job = names.job.iter().find_map(|name| variable(name)).unwrap_or_default();
    let secrets = [variable(SECRET_VARIABLE), names.secret.and_then(variable)];
    let key = Key::of(&job, secrets.each_ref().map(|secret| secret.as_deref().unwrap_or_default()));
    let is_one_host = size == 1 || local_size.is_some_and(|(_, local_size)| local_size == size);
    let address = address(variable, launcher, own_port(&job, size), is_one_host)?.ok_or_else(|| {
        missing(format!("MASTER_ADDR, which says where rank 0 is; set it, or {ADDRESS_VARIABLE}"))
    })?;
    Ok(Launch {
        launcher,
        rank: rank as usize,
        size: size as usize,
        local_rank: local_rank as usize,
        local_size: local_size.map(|(_, local_size)| local_size as usize),
        address,
        key,
    })
}

/// Where rank 0 listens.
fn address(
    variable: Lookup<'_>,
    launcher: Launcher,
    own_port: u16,
    is_one_host: bool,
) -> Result<Option<(String, u16)>, LaunchError> {
    if let Some(value) = variable(ADDRESS_VARIABLE) {
        let parts = value.trim().rsplit_once(':');
        let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok().filter(|port| *port != 0)?)));
        return match parts {
            Some((host, port)) if !host.is_empty() => {
                Ok(Some((host.trim_matches(['[', ']']).to_owned(), port)))
            }
            _ => {
                let problem = "which is not a host and port, as in `node1:29500`".to_owned();
                Err(LaunchError::Value { variable: ADDRESS_VARIABLE, value, problem })
            }
        };
    }
    let port = match variable("MASTER_PORT") {
        Some(value) => {
            let given = number("MASTER_PORT", value.clone())?;
            let has_store = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
            let port = u16::try_from(given + u64::from(has_store)).ok().filter(|_| given != 0);
            port.ok_or_else(|| LaunchError::Value {
                variable: "MASTER_PORT",
                value,
                problem: "which is not a port".to_owned(),
            })?
        }
        None => own_port,
    };
    let of_slurm = || {
        let first = variable("SLURM_STEP_NODELIST").and_then(|list| first_host(&list));
        first.or_else(|| variable("SLURM_LAUNCH_NODE_IPADDR"))
    };
    let host = variable("MASTER_ADDR")
        .or_else(|| is_one_host.then(|| "127.0.0.1".to_owned()))
        .or_else(|| (launcher == Launcher::Slurm).then(of_slurm).flatten());
    Ok(host.map(|host| (host.trim().to_owned(), port)))
}

/// The first host of a list as Slurm writes it: `node[003-005,9],other`.
fn first_host(list: &str) -> Option<String> {
    let list = list.trim();
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    let Some(inside) = rest.strip_prefix('[') else { return (!name.is_empty()).then(|| name.to_owned()) };
    let (numbers, behind) = inside.split_once(']')?;
    let first = numbers.split([',', '-']).next().filter(|first| !first.is_empty())?;
    let behind = behind.split(',').next().unwrap_or_default();
    Some(format!("{name}{first}{behind}"))
}

/// The port of a job that sets none.
fn own_port(job: &str, size: u64) -> u16 {
    let hash = blake3::Hasher::new().update(job.as_bytes()).update(&size.to_le_bytes()).finalize();
    let number = hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    PORTS.0 + (number % u64::from(PORTS.1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Launch, LaunchError> {
        let find = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        Launch::from_variables(find)
    }

    #[test]
    fn torchrun_names_rank_0s_address_and_its_store_has_the_port() {
        let mut variables = vec![
            ("RANK", "5"),
            ("WORLD_SIZE", "16"),
            ("LOCAL_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "4"),
            ("MASTER_ADDR", "node1"),
            ("MASTER_PORT", "29500"),
        ];
        let launch = of(&variables).unwrap();
        assert_eq!(launch.launcher(), Launcher::Torchrun);
        assert_eq!(
            (launch.rank(), launch.size(), launch.local_rank(), launch.local_size()),
            (5, 16, 1, Some(4))
        );
        assert_eq!(launch.address(), ("node1", 29_500));
        variables.push(("TORCHELASTIC_USE_AGENT_STORE", "True"));
        assert_eq!(of(&variables).unwrap().address(), ("node1", 29_501));
        variables.push((ADDRESS_VARIABLE, "[fe80::1]:7000"));
        assert_eq!(of(&variables).unwrap().address(), ("fe80::1", 7000));
    }

    #[test]
    fn open_mpi_on_one_host_needs_no_address() {
        let variables = |local_size, job| {
            vec![
                ("OMPI_COMM_WORLD_RANK", "3"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
                ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size),
                ("PMIX_NAMESPACE", job),
            ]
        };
        let launch = of(&variables("4", "job-1")).unwrap();
        assert_eq!(launch.launcher(), Launcher::OpenMpi);
        assert_eq!((launch.rank(), launch.local_rank(), launch.address().0), (3, 1, "127.0.0.1"));
        assert_ne!(of(&variables("4", "job-2")).unwrap().address(), launch.address());
        let error = of(&variables("2", "job-1")).unwrap_err();
        assert!(matches!(error, LaunchError::Missing { launcher: Launcher::OpenMpi, .. }), "{error}");
        assert!(error.to_string().contains("MASTER_ADDR"), "{error}");
        let mut both = variables("2", "job-1");
        both.push(("MASTER_ADDR", "10.0.0.1"));
        assert_eq!(of(&both).unwrap().address().0, "10.0.0.1");
    }

    #[test]
    fn the_key_depends_on_the_job_and_on_what_only_its_processes_know() {
        let of_job = |name, more: Option<(&'static str, &'static str)>| {
            let mut variables = vec![
                ("OMPI_COMM_WORLD_RANK", "3"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
                ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
                ("PMIX_NAMESPACE", name),
            ];
            variables.extend(more);
            of(&variables).unwrap()
        };
        let plain = of_job("job-1", None);
        assert_eq!(plain.key, of_job("job-1", None).key);
        let own = of_job("job-1", Some((SECRET_VARIABLE, "long and random")));
        let launchers = of_job("job-1", Some(("OMPI_MCA_orte_precondition_transports", "long and random")));
        for other in [&own, &launchers, &of_job("job-2", None)] {
            assert_ne!(plain.key, other.key);
        }
        assert_ne!(own.key, launchers.key);
        assert_eq!(own.address(), plain.address(), "a port tells nothing of the secret");
        assert!(!format!("{own:?}").contains("long and random"));
    }

    #[test]
    fn mpich_and_slurm_are_known() {
        let launch =
            of(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "2")]);
        assert_eq!(launch.unwrap().launcher(), Launcher::Pmi);
        let mut slurm = vec![
            ("SLURM_PROCID", "6"),
            ("SLURM_NTASKS", "8"),
            ("SLURM_LOCALID", "2"),
            ("SLURM_LAUNCH_NODE_IPADDR", "10.1.2.3"),
            ("SLURM_JOB_ID", "77"),
        ];
        let launch = of(&slurm).unwrap();
        assert_eq!((launch.launcher(), launch.address().0), (Launcher::Slurm, "10.1.2.3"));
        assert_eq!((launch.rank(), launch.local_rank(), launch.local_size()), (6, 2, None));
        slurm.push(("SLURM_STEP_NODELIST", "gpu[003-004],other"));
        assert_eq!(of(&slurm).unwrap().address().0, "gpu003");
    }

    #[test]
    fn first_hosts_of_slurms_lists() {
        for (list, host) in [
            ("a", Some("a")),
            ("a,b", Some("a")),
            ("n[7,9]", Some("n7")),
            ("n[08-12]-ib,x", Some("n08-ib")),
            ("n[", None),
            ("n[]", None),
            ("", None),
        ] {
            assert_eq!(first_host(list).as_deref(), host, "{list}");
        }
    }

    #[test]
    fn what_is_missing_or_contradicts_itself_is_named() {
        let text = |variables: &[(&str, &str)]| of(variables).unwrap_err().to_string();
        let none = text(&[("WORLD_SIZE", "2"), ("RANK", " ")]);
        assert!(none.contains("OMPI_COMM_WORLD_RANK") && none.contains("SLURM_PROCID"), "{none}");
        assert_eq!(text(&[("RANK", "0")]), "torchrun has set RANK but not WORLD_SIZE");
        assert_eq!(
            text(&[("RANK", "x"), ("WORLD_SIZE", "2")]),
            "RANK is `x`, which is not a number in range"
        );
        let beyond = text(&[("RANK", "2"), ("WORLD_SIZE", "2")]);
        assert!(beyond.starts_with("RANK is 2 and WORLD_SIZE is 2: "), "{beyond}");
        let local = [
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "1"),
            ("MASTER_ADDR", "a"),
        ];
        assert!(text(&local).starts_with("LOCAL_RANK is 1 and LOCAL_WORLD_SIZE is 1: "));
        let port = [
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "65536"),
        ];
        assert_eq!(text(&port), "MASTER_PORT is `65536`, which is not a port");
        let mut address = port.to_vec();
        address.push((ADDRESS_VARIABLE, "node"));
        assert!(text(&address).contains("host and port"));
    }
}
