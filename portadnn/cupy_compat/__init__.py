"""The cuDNN modules that CuPy 14 no longer has: ``import portadnn.cupy_compat`` brings them back.

``cupy.cudnn``, ``cupyx.cudnn``, ``cupy.cuda.cudnn`` and ``cupy_backends.cuda.libs.cudnn`` are installed with the names
that CuPy 13 had there, for programs that use them. ``python -m portadnn.cupy_compat program.py`` does so for a program
that is left as it is. Without a GPU :mod:`portadnn.cupy_compat.cudnn` takes NumPy's arrays, and
``python -m portadnn.cupy_compat --numpy program.py`` gives a program a small stand-in for CuPy. docs/from-cupy.md has
more, and an example.

>>> import numpy as np
>>> from portadnn.cupy_compat import cudnn, libcudnn
>>> cudnn.activation_forward(np.float32([[-1, 2]]), libcudnn.CUDNN_ACTIVATION_RELU).tolist()
[[0.0, 2.0]]
"""

import contextlib

from .installing import install, installable

__all__ = ["install"]

if installable():
    with contextlib.suppress(Exception):  # the program's own import of CuPy says why it cannot be
        install()
