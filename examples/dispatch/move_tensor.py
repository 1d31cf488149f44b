#!/usr/bin/env python3
"""Moves a numpy tensor by metadata and back, and compares. Needs numpy, and `rankscope` in PATH (or its path in RANKSCOPE)."""

import json
import os
import subprocess
import tempfile

import numpy as np

RANKSCOPE = os.path.abspath(path) if os.path.exists(path := os.environ.get("RANKSCOPE", "rankscope")) else path


def call(**case):
    """Asks one function by its name; arrays of integers may be lists or names of .npy files."""
    command = [RANKSCOPE, "dispatch", "metadata", "-", "--format", "json"]
    answer = subprocess.run(command, input=json.dumps(case), text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    lengths = np.array([[10, 5], [8, 12]])
    np.save("lengths.npy", lengths)
    metadata = call(kind="compute_metadata", seq_len="lengths.npy", dispatch=[[1, 0], [0, 1]])

    tokens = lengths.sum(axis=1)
    x = np.zeros((2, tokens.max(), 128), dtype=np.float32)
    for rank, held in enumerate(tokens):
        x[rank, :held] = np.random.default_rng(rank).random((held, 128))
    np.save("x.npy", x)
    call(kind="orchestrate_simulate", metadata=metadata["fwd"], input="x.npy", write_to="there.npy")
    call(kind="orchestrate_simulate", metadata=metadata["rev"], input="there.npy", write_to="back.npy", output_tokens=x.shape[1])

    print("at the ranks that compute:", np.load("there.npy").shape)
    print("back where it came from:", np.array_equal(np.load("back.npy"), x))
