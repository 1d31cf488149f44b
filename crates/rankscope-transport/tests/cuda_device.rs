//! What happens on the hardware: on a machine with GPUs the exchanges of a layer over them, elsewhere an error that says what
//! was looked for.
#![cfg(feature = "cuda")]

use std::time::Duration;

use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_testkit::{Need, skip};
use rankscope_time::Rank;
use rankscope_transport::cuda::{self, CudaError};
use rankscope_transport::execute::Trial;

#[test]
fn a_layer_on_the_cards_of_this_machine_is_the_simulators() {
    for world_size in [1, 2, 8, 16] {
        let job = match cuda::job(world_size, Duration::from_secs(60)) {
            Err(error @ (CudaError::NoLibrary { .. } | CudaError::NoDevice)) => {
                let text = error.to_string();
                assert!(text.contains("libcuda.so") || text.contains("libnvrtc.so") || text.contains("nvidia-smi"), "{text}");
                return skip(Need::Cuda, text);
            }
            job => job.unwrap(),
        };
        let mut batch = Batch::new(world_size).unwrap();
        let rank = |number: u32| Rank(number % world_size);
        for document in 0..world_size {
            let shard = |part| Shard {
                linear: rank(document + part / 2),
                attention: rank(document * 3 + part),
                tokens: 17 + 40 * part,
            };
            batch.push(&(0..5).map(shard).collect::<Vec<_>>()).unwrap();
        }
        let rows = Rows { hidden_q: 260, hidden_kv: 64, lse: 2, element_bytes: 2 };
        for element in [ElementType::Bf16, ElementType::F16] {
            Trial::new(&batch, &rows, element, 20, 3)
                .unwrap()
                .run_threads(cuda::job(world_size, Duration::from_secs(60)).unwrap())
                .unwrap();
        }
        drop(job);
    }
}

#[test]
fn nccl_is_asked_for_by_name() {
    match cuda::nccl_job(1) {
        Err(error @ CudaError::NoLibrary { .. }) => assert!(error.to_string().contains("libnccl.so"), "{error}"),
        Err(error @ (CudaError::NoDevice | CudaError::TooManyRanks { .. })) => skip(Need::Cuda, error),
        job => drop(job.unwrap()),
    }
}
