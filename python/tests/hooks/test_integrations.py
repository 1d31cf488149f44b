"""Callbacks in the real frameworks: a few steps of training leave a trace of those that were to be profiled."""

import gzip
import json

import pytest


def steps(folder):
    (path,) = folder.glob("rank00000.pt.trace.json.gz")
    names = {event.get("name", "") for event in json.load(gzip.open(path))["traceEvents"]}
    return sorted(name for name in names if name.startswith("ProfilerStep"))


def options(torch):
    profiler = torch.profiler
    return {
        "schedule": profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        "activities": [profiler.ProfilerActivity.CPU],
    }


def test_lightning_trains_under_the_callback(torch, tmp_path):
    try:
        import lightning.pytorch as pl
    except ImportError:
        pl = pytest.importorskip("pytorch_lightning", reason="neither lightning nor pytorch_lightning is installed")
    from rankscope.integrations.lightning import RankscopeCallback

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, number):
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = pl.Trainer(
        max_steps=6,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        callbacks=[RankscopeCallback(tmp_path / "traces", **options(torch))],
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=2))
    assert steps(tmp_path / "traces") == ["ProfilerStep#2", "ProfilerStep#3"]


def test_the_trainer_of_transformers_trains_under_the_callback(torch, tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    from rankscope.integrations.transformers import RankscopeCallback

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            return {"loss": self.layer(x).sum()}

    trainer = transformers.Trainer(
        model=Model(),
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), max_steps=5, per_device_train_batch_size=2, report_to=[], use_cpu=True, save_strategy="no"
        ),
        train_dataset=[{"x": torch.ones(4)} for _ in range(16)],
        callbacks=[RankscopeCallback(tmp_path / "traces", **options(torch))],
    )
    trainer.train()
    assert steps(tmp_path / "traces") == ["ProfilerStep#2", "ProfilerStep#3"]


def test_a_worker_of_ray_leaves_a_trace_of_its_rank(torch, tmp_path, monkeypatch):
    train = pytest.importorskip("ray.train", reason="ray with its train extra is not installed", exc_type=ImportError)
    from rankscope.integrations import ray

    class Context:
        def get_world_rank(self):
            return 5

        def get_world_size(self):
            return 8

    # A cluster is not started for this: what a worker is told is.
    monkeypatch.setattr(train, "get_context", Context)
    with ray.profile(tmp_path, **options(torch)) as profile:
        for _ in range(5):
            torch.ones(4).sum()
            profile.step()
    (path,) = tmp_path.glob("rank*.json.gz")
    assert path.name == "rank00005.pt.trace.json.gz"
    assert json.load(gzip.open(path))["rankscope"]["world_size"] == 8
