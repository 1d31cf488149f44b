use super::*;

/// `"A=1 B=x"` as an environment.
fn launched(variables: &str) -> Result<Launch, LaunchError> {
    let pairs: Vec<(&str, &str)> = variables.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    launch(|name| pairs.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned()))
}

const TORCHRUN: &str = "RANK=11 LOCAL_RANK=3 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8 GROUP_RANK=1 GROUP_WORLD_SIZE=2 \
    MASTER_ADDR=node0 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=job7 TORCHELASTIC_RESTART_COUNT=2";
const SLURM: &str = "SLURM_JOB_ID=123 SLURM_STEP_ID=0 SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NODEID=1 \
    SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=gpu[07-08]";
const OPEN_MPI: &str = "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 \
    OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_MCA_orte_hnp_uri=153.0;tcp://10.96.0.1,10.148.0.1:34911";
const PMI: &str = "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2";
const JOBSET: &str = "JOB_COMPLETION_INDEX=2 RANKSCOPE_WORLD_SIZE=4 HOSTNAME=train-workers-0-2 JOBSET_NAME=train";
const KUBEFLOW: &str = "PET_NODE_RANK=1 PET_NNODES=2 PET_MASTER_ADDR=train-master-0 PET_MASTER_PORT=23456 PET_RDZV_ID=train";

#[test]
fn every_launcher_is_understood() {
    let tcp = |host: &str, run_id: &str, taken| Place::Tcp { host: host.to_owned(), port: derived_port(run_id, taken) };
    let table = [
        (TORCHRUN, Source::Torchrun, (1, 2, 3), "job7", 2, Some(tcp("node0", "job7", Some(29_500)))),
        (SLURM, Source::Slurm, (1, 2, 1), "slurm-123.0", 0, Some(tcp("gpu07", "slurm-123.0", None))),
        (OPEN_MPI, Source::OpenMpi, (1, 2, 1), "153", 0, Some(tcp("10.96.0.1", "153", None))),
        (PMI, Source::Pmi, (1, 2, 1), "mpi", 0, None),
        (JOBSET, Source::Kubernetes, (2, 4, 0), "train", 0, Some(tcp("train-workers-0-0.train", "train", None))),
        (KUBEFLOW, Source::Kubernetes, (1, 2, 0), "train", 0, Some(tcp("train-master-0", "train", Some(23_456)))),
        ("RANKSCOPE_RANK=1 RANKSCOPE_WORLD_SIZE=3", Source::Explicit, (1, 3, 0), "default", 0, None),
        ("RANK=1 WORLD_SIZE=2 MASTER_ADDR=a", Source::Torchrun, (1, 2, 0), "torch", 0, Some(tcp("a", "torch", None))),
    ];
    for (variables, source, (node, num_nodes, local_rank), run_id, restart, place) in table {
        let run_id = run_id.to_owned();
        let expected = Launch { node: NodeId(node), num_nodes, local_rank, place, run_id, restart, source };
        assert_eq!(launched(variables), Ok(expected), "{variables}");
    }
}

#[test]
fn our_own_variables_win_and_the_inner_launcher_comes_before_the_outer() {
    assert_eq!(launched(&format!("{SLURM} {TORCHRUN}")).unwrap().source, Source::Torchrun);
    assert_eq!(launched(&format!("{SLURM} {OPEN_MPI}")).unwrap().source, Source::OpenMpi);
    assert_eq!(launched(&format!("{SLURM} {PMI}")).unwrap().source, Source::Slurm);
    let explicit = launched(&format!("{TORCHRUN} RANKSCOPE_RANK=0 RANKSCOPE_WORLD_SIZE=1")).unwrap();
    assert_eq!((explicit.source, explicit.num_nodes), (Source::Explicit, 1));
    let moved = launched(&format!("{TORCHRUN} RANKSCOPE_RDZV=file:///scratch RANKSCOPE_RUN_ID=mine")).unwrap();
    assert_eq!((moved.node, moved.place), (NodeId(1), Some(Place::Directory("/scratch".into()))));
    assert_eq!(moved.run_id, "mine");
}

#[test]
fn what_is_wrong_is_named() {
    let table = [
        ("", "no known launcher"),
        ("RANK=1", "no known launcher"),
        ("RANKSCOPE_RANK=1", "RANKSCOPE_RANK is set but RANKSCOPE_WORLD_SIZE is not"),
        ("RANKSCOPE_RANK=-1 RANKSCOPE_WORLD_SIZE=2", "RANKSCOPE_RANK=-1 is not a valid number"),
        ("RANKSCOPE_RANK=2 RANKSCOPE_WORLD_SIZE=2", "RANKSCOPE_RANK=2 and RANKSCOPE_WORLD_SIZE=2 contradict"),
        ("RANKSCOPE_RANK=0 RANKSCOPE_WORLD_SIZE=2 RANKSCOPE_RDZV=nowhere", "RANKSCOPE_RDZV: \"nowhere\" names no store"),
        ("RANK=0 WORLD_SIZE=10 LOCAL_WORLD_SIZE=4 MASTER_ADDR=a", "WORLD_SIZE=10 and LOCAL_WORLD_SIZE=4 contradict"),
        ("RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=0 MASTER_ADDR=a", "WORLD_SIZE=2 and LOCAL_WORLD_SIZE=0 contradict"),
        ("RANK=9 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8 GROUP_RANK=0 MASTER_ADDR=a", "GROUP_RANK=0 and RANK=9 contradict"),
        ("RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 MASTER_ADDR=a", "LOCAL_RANK is set but LOCAL_WORLD_SIZE is not"),
        ("RANK=0 WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=70000", "MASTER_PORT=70000 is not a valid number"),
        ("RANK=0 WORLD_SIZE=two MASTER_ADDR=a", "WORLD_SIZE=two is not a valid number"),
        ("SLURM_PROCID=0 SLURM_NTASKS=1", "SLURM_PROCID is set but SLURM_NODEID is not"),
        ("SLURM_PROCID=x", "SLURM_PROCID=x is not a valid number"),
        ("JOB_COMPLETION_INDEX=0", "JOB_COMPLETION_INDEX is set but RANKSCOPE_WORLD_SIZE is not"),
        ("PET_NODE_RANK=0 PET_NNODES=1:4", "PET_NNODES=1:4 is not a valid number"),
        ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_MCA_orte_hnp_uri=x", "OMPI_MCA_orte_hnp_uri=x is not of the form"),
    ];
    for (variables, message) in table {
        let error = launched(variables).unwrap_err().to_string();
        assert!(error.contains(message), "{variables}: {error}");
    }
}

#[test]
fn derived_ports_keep_clear_of_everybody_elses() {
    for id in (0..2_000).map(|i| format!("run-{i}")) {
        let port = derived_port(&id, None);
        assert!((61_000..61_439).contains(&port));
        assert_ne!(derived_port(&id, Some(port)), port);
    }
    assert_eq!(derived_port("slurm-123.0", None), derived_port("slurm-123.0", Some(1)));
}
