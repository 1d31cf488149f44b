#!/usr/bin/env bash
# A torchrun job over several machines, started by hand or by any tool that runs one command on each machine.
#
#   on the first machine:   export NNODES=2 MASTER_ADDR=10.0.0.1 RUN_DIR=/shared/runs/first
#                           NODE_RANK=0 deploy/torchrun.sh train.py --epochs 3
#   on the second machine:  the same with NODE_RANK=1
#
# On one machine nothing needs to be set. `rankscope run` starts torchrun as it is written below, keeps the profiles that the
# ranks export, measures the clocks of the machines beside the job, and ends with torchrun's exit code. What the job needs of
# rankscope is one binary in PATH on every machine.
set -euo pipefail

# How many machines, which of them this is (from 0), and the first one's address as all others reach it.
: "${NNODES:=1}"
: "${NODE_RANK:=0}"
: "${MASTER_ADDR:=127.0.0.1}"
: "${MASTER_PORT:=29500}"

# Processes on this machine: its GPUs, or one. torchrun itself understands `gpu` and a number.
: "${NPROC_PER_NODE:=gpu}"

# The run's directory. Several machines must name the same one, on a file system that all of them see; it is made if it is not
# there. In it the first machine leaves the key by which the clock agents know each other, for your user alone. Machines that
# share no disk need the same RANKSCOPE_KEY instead (`openssl rand -hex 32` makes one).
if [ "$NNODES" -gt 1 ]; then
    : "${RUN_DIR:?name a directory on a shared file system, the same on all machines}"
fi
: "${RUN_DIR:=$PWD/runs/torchrun-$(date +%Y%m%d-%H%M%S)}"

if [ "$#" -eq 0 ]; then
    echo "usage: [NNODES=… NODE_RANK=… MASTER_ADDR=…] $0 SCRIPT [ARGUMENTS]" >&2
    exit 2
fi

# The clocks are measured over UDP between the machines, on ports that the agents agree on; a firewall between them has to let
# UDP through. Without it the job runs all the same, and the ranks are put on one clock by their collectives alone.
exec rankscope run --out "$RUN_DIR" -- \
    torchrun \
    --nnodes "$NNODES" \
    --node-rank "$NODE_RANK" \
    --nproc-per-node "$NPROC_PER_NODE" \
    --master-addr "$MASTER_ADDR" \
    --master-port "$MASTER_PORT" \
    "$@"
