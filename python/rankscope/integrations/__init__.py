"""Callbacks for frameworks that own the training loop: each starts, steps and stops one `rankscope.torch.StepProfile`, and no more."""
