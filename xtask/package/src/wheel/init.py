"""HIP programs on the AMD GPU of this machine or, without one, on a virtual AMD GPU inside the process.

The command ``ferrocm run PROGRAM`` runs a program on the libraries of this package. Python programs that start others do the
same with ``subprocess.run(["./saxpy"], env=ferrocm.environment("vgpu:gfx1100"))``. A process reads its library path when it
starts, so what Python itself loads comes from there only if Python is started so: ``ferrocm run python3 script.py``.
"""

import os
import sys
from pathlib import Path
from typing import Dict, Mapping, NoReturn, Optional

__all__ = ["__version__", "environment", "libraries", "main", "program"]
__version__ = "@VERSION@"

_FOLDER = Path(__file__).resolve().parent
_VARIABLE = "LD_LIBRARY_PATH"


def program() -> Path:
    """The program ``ferrocm``."""
    return _FOLDER / "bin" / "ferrocm"


def libraries() -> Path:
    """The folder of ``libamdhip64.so.7``; rocBLAS and RCCL are in ``rocblas`` and ``rccl`` in it."""
    return _FOLDER / "lib" / "ferrocm"


def environment(device: Optional[str] = None, environ: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """The variables for a program that is to run on these libraries.

    ``device`` is a device URI, such as ``vgpu:gfx90a``. ``environ`` is what the variables are added to, those of this process
    unless another mapping is given.
    """
    result = dict(os.environ if environ is None else environ)
    folders = [str(libraries()), *(str(libraries() / name) for name in ("rocblas", "rccl"))]
    folders += [part for part in result.get(_VARIABLE, "").split(os.pathsep) if part]
    result[_VARIABLE] = os.pathsep.join(folders)
    if device is not None:
        result["FERROCM_DEVICE"] = device
    return result


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    try:
        os.execv(program(), ["ferrocm", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"error: cannot start {program()}: {error.strerror}")
