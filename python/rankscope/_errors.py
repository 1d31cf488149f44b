"""What goes wrong, by whose fault it is. Texts are those that the command prints."""


class Error(Exception):
    """Something failed. All exceptions of this package are of this class."""


class UsageError(Error, ValueError):
    """What was asked for makes no sense, and would not the next time either. The command ends with 2."""


class InputError(Error):
    """A file, or the files together, are not what they must be; the text names the file and what to do. The command ends with 1."""


class InputChanged(InputError):
    """An input changed while it was read. The command ends with 4."""


class InternalError(Error):
    """A defect of rankscope. The process goes on."""


class RecordingError(Error, RuntimeError):
    """A recording could not be started, stopped, looked at or written."""
