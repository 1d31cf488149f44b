"""Callbacks for frameworks that own the training loop: each starts, steps and stops one `rankscope.torch.StepProfile`, and no more."""

# Each is a module to import by its name, as each needs its framework.
__all__: list[str] = []
