use super::*;

fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().filter_map(|pair| pair.split_once('=')).collect()
}

fn recognised(command: &str, environment: &str) -> JobCommand {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let environment = pairs(environment);
    let variable = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let file = |name: &str| (name == "hosts.txt").then(|| "# two\nn1 slots=4\nn2 slots=4\n".to_owned());
    let version = |_: &str| Some("mpirun (Open MPI) 4.1.4".to_owned());
    recognise(&words, &World { variable: &variable, file: &file, version: &version }).unwrap()
}

fn here(node: u32, num_nodes: u32, place: Option<(&str, u16)>) -> Agents {
    let place = place.map(|(host, port)| Place::Tcp { host: host.to_owned(), port });
    Agents::Here { node: NodeId(node), num_nodes, local_rank: 0, place }
}

#[test]
fn every_launcher_is_known_by_its_name() {
    let table = [
        ("./train", Launcher::None, None, "./train"),
        ("python train.py", Launcher::None, None, "train.py"),
        ("python -m train.main", Launcher::None, None, "python"),
        ("torchrun --nproc_per_node 4 train.py --lr 1", Launcher::Torchrun, Some(4), "train.py"),
        ("/opt/bin/torchrun --nproc-per-node=8 --nnodes=1 -m pkg.train", Launcher::Torchrun, Some(8), "pkg.train"),
        ("torchrun --nproc-per-node gpu train.py", Launcher::Torchrun, None, "train.py"),
        ("python3.11 -u -m torch.distributed.run --nproc_per_node=2 t.py", Launcher::Torchrun, Some(2), "t.py"),
        ("python tool.py -m torch.distributed.run", Launcher::None, None, "tool.py"),
        ("srun -N2 -n 16 --label ./train", Launcher::Srun, Some(16), "./train"),
        ("srun --nodes 2 --ntasks-per-node 4 --gres gpu:4 python t.py", Launcher::Srun, Some(8), "python"),
        ("mpirun -np 4 -x A=b --mca btl tcp,self ./solve -n 3", Launcher::Mpirun, Some(4), "./solve"),
        ("mpiexec.hydra -n 6 -genv X 1 ./solve", Launcher::Mpirun, Some(6), "./solve"),
    ];
    for (command, launcher, ranks, program) in table {
        let found = recognised(command, "");
        let word = command.split_whitespace().nth(found.program);
        assert_eq!((found.launcher, found.ranks, word), (launcher, ranks, Some(program)), "{command}");
    }
}

#[test]
fn the_node_of_an_agent_comes_from_flags_and_environment() {
    let port = |job: &str, taken| super::super::derived_port(job, taken);
    let two = "torchrun --nnodes 2 --nproc_per_node 8";
    let table = [
        ("python t.py".to_owned(), "", here(0, 1, None)),
        ("torchrun --standalone --nnodes 4 t.py".to_owned(), "", here(0, 1, None)),
        (
            format!("{two} --node_rank=1 --master_addr n0 --master_port 29500 t.py"),
            "",
            here(1, 2, Some(("n0", port("torch-29500", Some(29_500))))),
        ),
        (
            format!("{two} --rdzv_backend c10d --rdzv_id j7 --rdzv_endpoint n0:29400 t.py"),
            "PET_NODE_RANK=0",
            here(0, 2, Some(("n0", port("j7", Some(29_400))))),
        ),
        (
            format!("{two} --rdzv-id j7 --rdzv-endpoint n0 t.py"),
            "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_NODEID=1 SLURM_STEP_NUM_NODES=2 SLURM_JOB_ID=9",
            here(1, 2, Some(("n0", port("j7", None)))),
        ),
        (
            "python t.py".to_owned(),
            "RANKSCOPE_RANK=2 RANKSCOPE_WORLD_SIZE=3 RANKSCOPE_RDZV=tcp://n0:7000",
            here(2, 3, Some(("n0", 7_000))),
        ),
    ];
    for (command, environment, agents) in table {
        assert_eq!(recognised(&command, environment).agents, agents, "{command} {environment}");
    }
}

#[test]
fn one_launcher_for_all_nodes_is_started_twice() {
    let prefix = |command: &str, environment: &str| match recognised(command, environment).agents {
        Agents::Everywhere { prefix, num_nodes, place } => (prefix.join(" "), num_nodes, place.map(|place| place.to_string())),
        other => panic!("{command}: {other:?}"),
    };
    let (words, nodes, place) = prefix("srun -N 2 -w n[1-2] ./t", "SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=4");
    assert!(words.starts_with("srun --overlap ") && words.ends_with("--nodes=2 --ntasks=2 --nodelist=n[1-2]"), "{words}");
    assert_eq!((nodes, place), (Some(2), None));
    let (words, nodes, place) = prefix("mpirun --allow-run-as-root -np 8 --host n1:4,n2:4 ./t", "");
    assert!(words.starts_with("mpirun --allow-run-as-root --map-by ppr:1:node "), "{words}");
    assert!(words.contains(" --mca orte_tmpdir_base /tmp/rankscope-agents-"), "the job's mpirun has the usual folder: {words}");
    assert!(words.ends_with("--host n1:4,n2:4"), "{words}");
    assert_eq!(nodes, Some(2));
    assert!(place.is_some_and(|place| place.starts_with("tcp://n1:61")));
    let (words, nodes, _) = prefix("mpirun.mpich -n 8 -f hosts.txt ./t", "");
    assert_eq!((words.as_str(), nodes), ("mpirun.mpich -ppn 1 -n 2 -f hosts.txt", Some(2)));
    let (words, nodes, place) = prefix("mpiexec -n 8 ./t", "SLURM_NNODES=3 SLURM_JOB_NODELIST=gpu[07-09] SLURM_JOB_ID=5");
    assert!(!words.contains("host"), "{words}");
    assert_eq!(nodes, Some(3));
    assert!(place.is_some_and(|place| place.starts_with("tcp://gpu07:")));
}

#[test]
fn on_one_host_mpirun_needs_no_second() {
    for command in ["mpirun -np 4 ./t", "mpirun -np 4 --host localhost:4 ./t", "mpirun -np 2 -H localhost,127.0.0.1 ./t"] {
        assert_eq!(recognised(command, "").agents, Agents::ALONE, "{command}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let table = [
        ("srun -N2 ./t", "", "salloc or sbatch"),
        ("torchrun --nnodes 1:4 t.py", "", "MIN:MAX"),
        ("torchrun --nnodes 2 --rdzv_endpoint n0:1 t.py", "", "--node-rank"),
        ("torchrun --nnodes 2 --node-rank 0 t.py", "", "--rdzv-endpoint"),
        ("torchrun --nnodes 2 --node-rank 2 --master-addr a t.py", "", "must be less"),
        ("mpirun --hostfile gone.txt ./t", "", "gone.txt"),
        ("./t", "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", "RANKSCOPE_RDZV"),
    ];
    for (command, environment, part) in table {
        match recognised(command, environment).agents {
            Agents::Impossible(why) => assert!(why.contains(part), "{command}: {why}"),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[test]
fn no_words_make_trouble() {
    for command in ["", "-", "torchrun", "torchrun --nnodes", "srun -N", "mpirun --host", "mpirun -H ,", "python -m", "srun --"]
    {
        let found = recognised(command, "SLURM_JOB_ID=1");
        assert!(found.program <= command.split_whitespace().count(), "{command}");
    }
}
